import type { HetznerOptions } from "../../../src/driver/hetzner/account.ts";
import { createHetznerDriver } from "../../../src/driver/hetzner/hetzner.ts";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { NOW } from "../contract/cloud.ts";

/** A value that must turn up in one header of every request, and nowhere else. */
export const TOKEN = "canary-driver-token";
const ENDPOINT = "https://hetzner.test/v1";

/** One request as it left the driver. */
export interface Sent {
  readonly method: string;
  /** Below the endpoint, without the query. */
  readonly path: string;
  readonly url: URL;
  readonly headers: Headers;
  /** The body, read; undefined where there was none. */
  readonly body: unknown;
  readonly init: RequestInit;
}

type Answer = (sent: Sent) => Response | Promise<Response>;
type Options = Partial<Omit<HetznerOptions, "fetch">>;

/** A request as a test looks at it. */
export const read = (input: string, init: RequestInit): Sent => {
  const url = new URL(input);
  const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
  const headers = new Headers(init.headers);
  return { method: init.method ?? "GET", path: url.pathname.replace(/^\/v1/, ""), url, headers, body, init };
};

function openDriver(answer: (sent: Sent, input: string) => Response | Promise<Response>, options: Options) {
  const sent: Sent[] = [];
  const driver = createHetznerDriver({
    token: TOKEN,
    endpoint: ENDPOINT,
    now: () => NOW,
    ...options,
    fetch: async (input, init) => {
      const request = read(input, init);
      sent.push(request);
      return answer(request, input);
    },
  });
  return { driver, sent };
}

/** A driver to a simulated project, on a clock that only `advance` moves. */
export function openSimulated(options: Options = {}) {
  let now = NOW;
  const sim = createDrivenSimulator({ now: () => now });
  const opened = openDriver(({ init }, input) => sim.fetch(new Request(input, init)), { now: () => now, ...options });
  return {
    ...opened,
    sim,
    now: () => now,
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
    /** Requests of one method and path, as the simulator saw them. */
    count: (method: string, path = "/servers") =>
      sim.requests().filter((request) => request.method === method && request.path === `/v1${path}`).length,
  };
}

/** A driver to an API that says what `answer` says. The currency is known, so that it does not ask. */
export const openCanned = (answer: Answer, options: Options = {}) =>
  openDriver(answer, { account: { currency: "EUR" }, ...options });

/** An error in Hetzner's envelope. */
export const refusal = (status: number, code: string, details: unknown = null, headers: HeadersInit = {}): Response =>
  Response.json({ error: { code, message: `says ${code}`, details } }, { status, headers });

/** The least that a server is, and whatever a test adds. */
export const serverJson = (over: Record<string, unknown> = {}) => ({
  id: 42,
  name: "ci-1",
  status: "running",
  created: "2026-11-30T11:00:00+00:00",
  labels: {},
  public_net: { ipv4: { ip: "192.0.2.1" }, ipv6: { ip: "2001:db8:1:2::/64" } },
  private_net: [],
  server_type: { name: "cx23", architecture: "x86", prices: [] },
  location: { name: "fsn1" },
  protection: { delete: false, rebuild: false },
  ...over,
});

export const pageOf = (servers: readonly unknown[], next_page: unknown = null): Response =>
  Response.json({ servers, meta: { pagination: { next_page } } });

/** A driver that finds just this server. */
export const openWith = (over: Record<string, unknown>, options: Options = {}) =>
  openCanned(() => Response.json({ server: serverJson(over) }), options).driver;
