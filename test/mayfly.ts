import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod";
import { DEFAULT_POLICY } from "../src/auth/policy.ts";
import type { Principal } from "../src/auth/principal.ts";
import { readSweepConfig } from "../src/config.ts";
import type { Configuration } from "../src/deployment.ts";
import { createProviders } from "../src/providers.ts";
import { createApp } from "../src/http/app.ts";
import { machineJson } from "../src/http/machines/json.ts";
import type { RequestContext } from "../src/lifecycle/context.ts";
import type { LogEvent } from "../src/log.ts";
import { openStore } from "../src/store/store.ts";
import { hostOf, openInvocation, openSweep, runSweep } from "../src/invocation.ts";
import type { Runtime } from "../src/runtime.ts";
import { judgeAnswer } from "./answers.ts";
import { UNBRAKED } from "./brakes.ts";
import { guardProfiles, guardRequest, guardSettings, hear, hearAnswer } from "./canaries.ts";
import { createDrivenSimulator } from "./driven-simulator.ts";
import { countedDb, countedFetch, fromOutside, hearLine, hearReport, metered, noteMeter } from "./outside.ts";
import { watched } from "./plans.ts";
import { through } from "./trips.ts";

export const NOW = Date.UTC(2026, 10, 30, 12);
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const BODY = { server_type: "cx23", region: "fsn1" };
/** The setting under which a tick's time may lie far ahead of the clock. */
export const LOCAL = { HCLOUD_ENDPOINT: "http://127.0.0.1:1/v1" };
export const OURS = { "mayfly-managed": "true", "mayfly-installation": env.INSTALLATION };

/** An answer as tests look at it. */
export interface Answer {
  status: number;
  headers: Headers;
  /** Whatever JSON came, else null. */
  body: unknown;
  text: string;
}

/**
 * The real app, store, driver and sweep over real D1 and the simulator, on one clock that only `advance` moves. `settings`
 * override the environment; `hosts` answer for what is no provider, each by its name and port.
 */
export function createMayfly(
  settings: Record<string, string> = {},
  configuration: Configuration = {},
  hosts: Record<string, (request: Request) => Promise<Response>> = {},
) {
  let now = NOW;
  let uids = 0;
  let address: string | null = null;
  const simulator = createDrivenSimulator({ now: () => now });
  const logs: LogEvent[] = [];
  const openProvider = createProviders();
  const runtime: Runtime = {
    now: () => now,
    newUid: () => `00000000-0000-4000-8000-${String(++uids).padStart(12, "0")}`,
    randomBytes: (count) => new Uint8Array(count).fill(++uids),
    log: (event) => {
      hear("the log", JSON.stringify(event));
      hearLine(event);
      logs.push(event);
    },
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
    fetch: countedFetch((input, init) => {
      const request = new Request(input, init);
      return hosts[new URL(input).host]?.(request) ?? simulator.fetch(request);
    }),
  };
  guardProfiles(configuration);
  guardSettings(settings);
  const host = hostOf(runtime, openProvider, configuration);
  const app = createApp(metered(host));
  const bindings: Env = Object.assign({}, env, { ...UNBRAKED, ...UNLIMITED, ...settings });
  /** As the Worker has them; what a test asks the database itself is its own affair. */
  const watching = (): Env => ({ ...bindings, DB: countedDb(watched(bindings.DB)) });

  const plan = () => (Reflect.get(bindings, "PLAN") === "paid" ? "paid" : "free");

  /** Sends a request as a caller would; text goes out as it is, anything else as JSON. `token` null = none. */
  async function send(
    method: string,
    path: string,
    body?: unknown,
    token: string | null = env.ADMIN_TOKEN,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    guardRequest(body, token);
    const headers = new Headers(token === null ? more : { Authorization: `Bearer ${token}`, ...more });
    if (address !== null) headers.set("CF-Connecting-IP", address);
    const payload = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    const isDry = JSON.stringify(body)?.includes("dry_run") ?? false;
    const response = await fromOutside({ what: `${method} ${path}`, plan: plan(), isDry }, async () => {
      const context = createExecutionContext();
      const answer = await app.request(path, { method, headers, ...payload }, watching(), context);
      await waitOnExecutionContext(context);
      return answer;
    });
    const text = await response.text();
    hearAnswer(`${method} ${path}`, response.headers, text);
    judgeAnswer(method, path, { status: response.status, headers: response.headers, text });
    const isJson = response.headers.get("Content-Type")?.includes("json") ?? false;
    const parsed: unknown = isJson ? JSON.parse(text) : null;
    return { status: response.status, headers: response.headers, text, body: parsed };
  }

  return {
    app,
    bindings,
    /** Changes settings while it runs. */
    configure: (changed: Record<string, unknown>) => {
      guardSettings(changed);
      Object.assign(bindings, changed);
    },
    runtime,
    simulator,
    logs,
    send,
    /** Where requests come from, from here on; before, Cloudflare says nothing. */
    callFrom: (from: string) => {
      address = from;
    },
    now: () => now,
    /** Moves the one clock. */
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
    store: openStore(watched(env.DB), () => {}),
    /** The secret of a token minted for `tok.<owner>`. */
    tokenOf: async (owner: string, more: { policy?: string; note?: string } = {}): Promise<string> =>
      mintedIn(await send("POST", "/v1/tokens", { owner, ...more })).secret,
    /** What use cases work with, for whoever calls them without HTTP. */
    context: (): RequestContext => host.openRequest(watching(), "without-http"),
    /** One sweep, as cron starts it, at `at`; null while another one runs. */
    tick: (at = now, dryRun = false) =>
      fromOutside({ what: "a tick", plan: plan(), isDry: dryRun }, async () => {
        const invocation = openInvocation(runtime, openProvider, watching().DB);
        noteMeter(invocation.meter);
        const context = openSweep(invocation, readSweepConfig(bindings), at, host.extraPhases(watching(), invocation));
        const report = await runSweep(runtime, context, { startedBy: "cron", dryRun });
        hearReport(report);
        hear("a sweep's report", JSON.stringify(report));
        return report;
      }),
  };
}

export type Mayfly = ReturnType<typeof createMayfly>;

/** A caller with a token of that owner, who may do everything to what is its own. */
export const principalOf = (owner: string): Principal => ({
  kind: "token",
  owner,
  account: owner,
  policy: DEFAULT_POLICY,
  evidence: { by: "token", id: "tok_test", note: "" },
  seesAll: false,
});

/** The machine in an answer, in the API's own shape. */
export const machineIn = ({ body }: Answer) => z.object({ machine: machineJson }).parse(body).machine;
/** The token in the answer that mints it. */
export const mintedIn = ({ body }: Answer) =>
  z.object({ token: z.object({ id: z.string(), secret: z.string() }) }).parse(body).token;
/** The machines of a list answer. */
export const machinesIn = ({ body }: Answer) => z.object({ machines: z.array(machineJson) }).parse(body).machines;

/** More machines than any test has that is not about their number. */
const UNLIMITED = { MAX_MACHINES: "99999", MAX_EUR_PER_MONTH: "off" };

/** What the provider really holds. */
export const servers = (mayfly: Mayfly) => mayfly.simulator.state().servers;

/** Lets minutes pass, each with the tick that cron starts. */
export async function minutes(mayfly: Mayfly, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    mayfly.advance(MINUTE);
    await mayfly.tick();
  }
}

/** D1 that answers everything but what matches, and what it says to that. */
export function refusing(db: D1Database, pattern: RegExp, words = "refused"): D1Database {
  return through(db, async (trip, send) => {
    if (trip.some((text) => pattern.test(text))) throw new Error(`D1_ERROR: ${words}`);
    return send();
  });
}
