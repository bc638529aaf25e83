// The whole of mayfly on one machine: the Worker in workerd, D1 in a folder, and unless told otherwise the simulator on a
// socket of its own. `npm start`, the end-to-end tests and the benchmark all stand on this.
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { createSimulator, type ApiRequest, type Simulator } from "../test/simulator/simulator.ts";
import { TEXT_IMPORTS } from "./configuration.ts";
import { serveCloud } from "./kept-cloud.ts";
import { readLogLine } from "./log-lines.ts";
import type { Vars } from "./vars.ts";

export interface StackOptions {
  /** 0 takes a free one; so does leaving it out. */
  port?: number;
  simPort?: number;
  /** Where D1 keeps its files, as `wrangler --persist-to` would; in memory when absent. */
  stateDir?: string;
  /** The file in which the simulated cloud is kept; in memory when absent. */
  cloudFile?: string;
  /** All settings of the Worker by their names; wrangler.toml's are not added. With `HCLOUD_ENDPOINT` among them there is no simulator. */
  settings: Vars;
  /** Told of everything that the Worker logs, line by line. */
  onLog?: (message: string, level: string) => void;
  /** Shown what the Worker asks of the simulator. */
  onRequest?: (request: ApiRequest) => void;
  /** What runs in place of the sources as they stand: the Worker first, then what it imports. */
  modules?: readonly Module[];
  /** How often anybody may call in a minute, 0 for no brakes at all; as wrangler.toml says when absent. */
  callsAMinute?: number;
  /** Where V8's inspector listens; nowhere when absent. */
  inspectorPort?: number;
}

/** A module as the Worker's runtime is given it. */
export interface Module {
  readonly path: string;
  readonly contents: string;
}

export interface Stack {
  url: string;
  /** Null where a real endpoint is driven. */
  simulator: { url: string; controls: Simulator } | null;
  db: Awaited<ReturnType<Miniflare["getD1Database"]>>;
  /** Runs the cron handler at that time, after whatever tick is running, and answers the sweep's report. */
  tick(at_ms: number): Promise<unknown>;
  /** What runs: with it another can be started without building it anew. */
  modules: readonly Module[];
  /** Waits for a tick that is running, if it is not stuck, and ends everything. */
  stop(): Promise<void>;
}

/** Longer than a tick takes as a rule; one whose Worker has died would never end. */
const LONGEST_TICK_MS = 10_000;

const path = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url));

/** Brings everything up, migrated; rejects in plain words when a port is taken. */
export async function startStack(options: StackOptions): Promise<Stack> {
  // wrangler wants to see that the secrets which wrangler.toml declares are there, and then tells that it saw them.
  const { ADMIN_TOKEN, HCLOUD_TOKEN, INSTALLATION } = options.settings;
  Object.assign(process.env, { WRANGLER_LOG: "error", ADMIN_TOKEN, HCLOUD_TOKEN, INSTALLATION });
  const ticks = createTicks();
  const simulated = options.settings["HCLOUD_ENDPOINT"] === undefined;
  const controls = createSimulator({
    first_id: freshId(),
    // In the same words as a sweep that an admin asks for.
    onTick: async (at) => ({ sweep: await ticks.run(at) }),
    ...(options.onRequest && { onRequest: options.onRequest }),
  });
  const server = simulated ? await serveCloud(controls, options.simPort ?? 0, options.cloudFile) : null;
  try {
    const settings = server === null ? options.settings : { ...options.settings, HCLOUD_ENDPOINT: `${server.url}/v1` };
    const configured = unstable_getMiniflareWorkerOptions(path("wrangler.toml"));
    const modules = options.modules ?? [{ path: "index.js", contents: await bundleOf(configured) }];
    const mf = new Miniflare(miniflareOptions({ ...options, modules }, configured, settings, ticks.onLog));
    const url = (await readyOn(mf, options.port ?? 0)).origin;
    const db = await mf.getD1Database("DB");
    await migrate(db);
    const worker = await mf.getWorker();
    ticks.start((at_ms) => worker.scheduled({ cron: "* * * * *", scheduledTime: new Date(at_ms) }));
    return {
      url,
      simulator: server && { url: server.url, controls },
      db,
      tick: ticks.run,
      modules,
      async stop() {
        await Promise.race([ticks.idle(), wait(LONGEST_TICK_MS, undefined, { ref: false })]);
        await mf.dispose();
        await server?.close();
      },
    };
  } catch (error) {
    await server?.close();
    throw error;
  }
}

/** What is told of a port that is taken would name an option that nobody has here. */
async function readyOn(mf: Miniflare, port: number): Promise<URL> {
  try {
    return await mf.ready;
  } catch (error) {
    if (!(error instanceof Error && error.message.includes("Address already in use"))) throw error;
    const who = "a process of an earlier start, if that one was killed, holds it still";
    throw new Error(`the Worker cannot listen on 127.0.0.1:${port}: the port is taken (PORT names another; ${who})`, {
      cause: error,
    });
  }
}

/** The database may remember machines of an earlier simulator, whose ids must not be given to others. */
const freshId = (): number => Math.floor(Date.now() / 1000) - 1_700_000_000;

type Configured = ReturnType<typeof unstable_getMiniflareWorkerOptions>;

function miniflareOptions(
  options: StackOptions & Pick<Stack, "modules">,
  { workerOptions }: Configured,
  settings: Vars,
  onLog: (line: string) => void,
) {
  const { modules } = options;
  const { modulesRules: _refusedByTheConverter, ...worker } = workerOptions;
  const { callsAMinute } = options;
  return {
    ...convertV4MiniflareOptions({
      ...worker,
      name: "mayfly",
      modules: modules.map(({ path: name, contents }) => ({ type: "ESModule" as const, path: name, contents })),
      bindings: settings,
      ...(callsAMinute !== undefined && {
        ratelimits: brakesOf(Object.keys(worker["ratelimits"] ?? {}), callsAMinute),
      }),
    }),
    host: "127.0.0.1",
    port: options.port ?? 0,
    cf: false as const,
    log: new Log(LogLevel.WARN),
    handleStructuredLogs: ({ level, message }: { level: string; message: string }) => {
      onLog(message);
      options.onLog?.(message, level);
    },
    ...(options.stateDir === undefined ? {} : { resourcePersistencePath: `${options.stateDir}/v3` }),
    ...(options.inspectorPort === undefined ? {} : { inspectorPort: options.inspectorPort }),
  };
}

const brakesOf = (names: readonly string[], limit: number) =>
  Object.fromEntries(
    limit === 0 ? [] : names.map((name) => [name, { namespace_id: name, simple: { limit, period: 60 as const } }]),
  );

async function bundleOf({ main, define }: Configured): Promise<string> {
  if (main === undefined) throw new Error("wrangler.toml names no main");
  const bundle = await build({
    entryPoints: [main],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    define,
    sourcemap: "inline",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    external: ["cloudflare:*"],
    loader: TEXT_IMPORTS,
  });
  return bundle.outputFiles[0]?.text ?? "";
}

/** Applies what is missing, in the table that `wrangler d1 migrations apply` reads and writes. */
async function migrate(db: Stack["db"]): Promise<void> {
  await db
    .prepare(
      `CREATE TABLE IF NOT EXISTS d1_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
       applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`,
    )
    .run();
  const { results } = await db.prepare("SELECT name FROM d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  for (const { name, queries } of await readD1Migrations(path("migrations"))) {
    if (applied.has(name)) continue;
    const record = db.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name);
    await db.batch([...queries.map((query) => db.prepare(query)), record]);
  }
}

/** One tick at a time; the report of each is what the Worker logs at its end. */
function createTicks() {
  let tail: Promise<unknown> = Promise.resolve();
  let fire: ((at_ms: number) => Promise<{ outcome: string }>) | undefined;
  let report: PromiseWithResolvers<unknown> | undefined;

  async function once(at_ms: number): Promise<unknown> {
    if (fire === undefined) throw new Error("the Worker is not up yet");
    report = Promise.withResolvers();
    const { outcome } = await fire(at_ms);
    if (outcome !== "ok") throw new Error(`the cron handler ended with: ${outcome}`);
    const told = await report.promise;
    report = undefined;
    return told;
  }
  return {
    start: (scheduled: NonNullable<typeof fire>) => {
      fire = scheduled;
    },
    run: (at_ms: number): Promise<unknown> => {
      const next = tail.then(() => once(at_ms));
      tail = next.catch(() => undefined);
      return next;
    },
    idle: () => tail,
    onLog: (line: string) => {
      // Only a tick waits for a line; under load there are thousands.
      if (report === undefined) return;
      const event = readLogLine(line);
      if (event?.event !== "sweep") return;
      const { event: _event, ...told } = event;
      report.resolve(told);
    },
  };
}
