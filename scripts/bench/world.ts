// A Worker with a database of its own, over the provider that all share: what a measurement is taken of.
import * as z from "zod";
import { startStack, type Module, type Stack } from "../stack.ts";
import type { Bench } from "./figure.ts";

export const ADMIN_TOKEN = "admin-token-of-the-benchmark-0123456789";
export const HCLOUD_TOKEN = "simulated";
export const INSTALLATION = "local";
/** The owner whose machines are counted and timed: a caller with a minted token. */
export const OWNER = "tok.alice";

const report = z.looseObject({ outcome: z.string() });
const minted = z.object({ token: z.object({ secret: z.string() }) });

export interface WorldOptions {
  /** The Worker first, then what it imports; mayfly as it would be deployed when absent. */
  readonly modules?: readonly Module[];
  readonly settings?: Readonly<Record<string, string>>;
  readonly stateDir?: string;
  readonly inspectorPort?: number;
  /** Without them when absent: Miniflare counts calls in a Durable Object, a trip that Cloudflare does not make. */
  readonly withBrakes?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface World extends Stack {
  /** A call whose status must be as expected, else it throws: what failed is not measured. */
  call(method: string, path: string, expected: number, body?: unknown, token?: string | null): Promise<Answer>;
  /** As of any stack; one that was skipped or failed throws. */
  tick(at_ms: number): Promise<unknown>;
  /** A token of {@link OWNER}. */
  mint(): Promise<string>;
}

/** Brings one up, migrated and empty unless `stateDir` has a database already. */
export async function startWorld(
  bench: Pick<Bench, "mayfly" | "provider">,
  options: WorldOptions = {},
): Promise<World> {
  const { modules = [{ path: "index.js", contents: bench.mayfly }], settings = {}, withBrakes = false } = options;
  const stack = await startStack({
    modules,
    callsAMinute: withBrakes ? 1_000_000_000 : 0,
    settings: {
      PROVIDER: "hetzner",
      HCLOUD_TOKEN,
      ADMIN_TOKEN,
      INSTALLATION,
      HCLOUD_ENDPOINT: `${bench.provider.url}/v1`,
      // Limits that are counted as any other, and never met.
      MAX_MACHINES: "99999",
      MAX_EUR_PER_MONTH: "999999.99",
      ...settings,
    },
    ...(options.stateDir !== undefined && { stateDir: options.stateDir }),
    ...(options.inspectorPort !== undefined && { inspectorPort: options.inspectorPort }),
  });
  const call: World["call"] = async (method, path, expected, body, token = ADMIN_TOKEN) => {
    const response = await fetch(stack.url + path, {
      method,
      ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== expected) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return { status: response.status, text };
  };
  return {
    ...stack,
    call,
    tick: async (at_ms) => {
      const { outcome } = report.parse(await stack.tick(at_ms));
      // `partial`: something due is left to the next tick, as a plan has it.
      if (outcome === "failed") throw new Error(`a tick ended with: ${outcome}`);
    },
    mint: async () => {
      const { text } = await call("POST", "/v1/tokens", 201, { owner: OWNER.replace("tok.", "") });
      return minted.parse(JSON.parse(text)).token.secret;
    },
  };
}
