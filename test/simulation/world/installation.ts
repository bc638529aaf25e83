/** One mayfly, its real code, in one history: each request and each tick is an invocation that a mishap may meet. */
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { readSweepConfig } from "../../../src/config.ts";
import { createApp } from "../../../src/http/app.ts";
import { createProviders } from "../../../src/providers.ts";
import type { SweepReport } from "../../../src/reaper/report.ts";
import { hostOf, openInvocation as openReal, openSweep, runSweep } from "../../../src/invocation.ts";
import type { Runtime } from "../../../src/runtime.ts";
import { GITHUB, GITLAB } from "../../auth/issuer.ts";
import { CONFIGURATION, issuerAt } from "./callers.ts";
import type { Books } from "../judge/books.ts";
import type { Secrets } from "../judge/secrets.ts";
import { asD1, type Database } from "./database.ts";
import { openInvocation, type Circumstances, type Invocation } from "./invocation.ts";
import type { Clock, Provider } from "./provider.ts";

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What somebody asks of one mayfly. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Installation {
  /** Undefined when the Worker died over it. */
  send(circumstances: Circumstances, call: Call): Promise<Answer | undefined>;
  /** What cron starts, so many milliseconds later or earlier than it is; null while another sweep runs. */
  tick(circumstances: Circumstances, off?: number): Promise<SweepReport | null | undefined>;
  /** Changes settings, as another deployment does. */
  configure(changed: Settings): void;
}

/** By name; an empty one is not set. */
export type Settings = Readonly<Record<string, string>>;

/** Longer than any call may take. */
const TIME_OUT_MS = 30_000;

export interface Surroundings {
  readonly installation: string;
  readonly bindings: Env;
  readonly clock: Clock;
  readonly provider: Pick<Provider, "call">;
  readonly database: Database;
  readonly books: Books;
  readonly secrets: Secrets;
}

/** What one invocation reaches of the outside: everything through `invocation`. */
function runtimeOf(
  { installation, clock, provider, secrets, books }: Surroundings,
  isolate: Isolate,
  invocation: Invocation,
): Runtime {
  const reads = new Set<number>();
  const timeOut = async (signal: AbortSignal | null | undefined): Promise<never> => {
    clock.now += TIME_OUT_MS;
    // Timers are fake: it is now that they have run out.
    vi.advanceTimersByTime(TIME_OUT_MS);
    throw signal?.reason ?? new Error("a call without a time-out");
  };
  return {
    now: () => clock.now,
    newUid: () => `00000000-0000-4000-8000-${String(++isolate.uids.count).padStart(12, "0")}`,
    randomBytes: (count) => {
      const bytes = new Uint8Array(count);
      new DataView(bytes.buffer).setUint32(0, ++isolate.uids.count);
      return bytes;
    },
    log: (event) => {
      books.logs.push(event);
      secrets.logged(event);
    },
    sleep: async (milliseconds) => {
      clock.now += milliseconds;
    },
    fetch: (input, init) => {
      const request = new Request(input, init);
      return invocation.cross(
        "provider",
        async () => {
          const issuer = issuerOf(request);
          return issuer === undefined
            ? provider.call(request, installation, reads)
            : (await issuerAt(issuer)).fetch(request);
        },
        () => timeOut(init.signal),
      );
    },
  };
}

const ISSUERS = [GITHUB, GITLAB] as const;
const issuerOf = ({ url }: Request) => ISSUERS.find((one) => url.startsWith(one));

/** What outlives an invocation, and not a death. */
interface Isolate {
  readonly openProvider: ReturnType<typeof createProviders>;
  readonly uids: { count: number };
}

const refused = async (): Promise<never> => {
  throw new Error("D1_ERROR: the simulation refuses");
};

/** `uids` is shared by all installations of a history, as chance is. */
export function openInstallation(surroundings: Surroundings, uids: { count: number }): Installation {
  let isolate: Isolate = { openProvider: createProviders(), uids };
  const { database, secrets } = surroundings;
  let { bindings } = surroundings;

  async function live<T>(
    circumstances: Circumstances,
    act: (runtime: Runtime, bindings: Env, invocation: Invocation) => Promise<T>,
  ): Promise<T | undefined> {
    const invocation = openInvocation(circumstances);
    const DB = asD1(
      {
        rows: (statement) => {
          secrets.stated([statement]);
          return invocation.cross("d1", () => database.rows(statement), refused);
        },
        batch: (statements) => {
          secrets.stated(statements);
          return invocation.cross("d1", () => database.batch(statements), refused);
        },
      },
      env.DB,
    );
    const runtime = runtimeOf(surroundings, isolate, invocation);
    const result = await invocation.run(() => act(runtime, { ...bindings, DB }, invocation));
    if (result === undefined) isolate = { openProvider: createProviders(), uids };
    return result;
  }

  return {
    send: (circumstances, { method, path, body, token, headers }) =>
      live(circumstances, async (runtime, own, invocation) => {
        const later: Promise<unknown>[] = [];
        const context = {
          waitUntil: (promise: Promise<unknown>) => {
            later.push(promise);
            invocation.keep(promise);
          },
          passThroughOnException: () => {},
          props: {},
        };
        const init = {
          method,
          headers: { Authorization: `Bearer ${token}`, ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        };
        const response = await createApp(hostOf(runtime, isolate.openProvider, CONFIGURATION)).request(
          path,
          init,
          own,
          context,
        );
        // A failure that waits there has been answered; here it counts that all of it is over.
        await Promise.allSettled(later);
        return { status: response.status, text: await response.text() };
      }),
    tick: (circumstances, off = 0) =>
      live(circumstances, (runtime, own) => {
        const real = openReal(runtime, isolate.openProvider, own.DB);
        const extra = hostOf(runtime, isolate.openProvider, CONFIGURATION).extraPhases(own, real);
        const context = openSweep(real, readSweepConfig(own), runtime.now() + off, extra);
        return runSweep(runtime, context, { startedBy: "cron", dryRun: false });
      }),
    configure: (changed) => {
      bindings = Object.assign({}, bindings, changed);
      isolate = { openProvider: createProviders(), uids };
    },
  };
}
