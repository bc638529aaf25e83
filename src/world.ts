import { sha256Hex } from "./auth/hash.ts";
import type { Config, SweepConfig } from "./config.ts";
import type { Provider } from "./driver/capabilities.ts";
import type { Deps } from "./lifecycle/lifecycle.ts";
import type { Log } from "./log.ts";
import type { Meter } from "./reaper/budget.ts";
import type { SweepDeps } from "./reaper/phase.ts";
import { logLines, type SweepOrder, type SweepReport } from "./reaper/report.ts";
import { sweep } from "./reaper/sweep.ts";
import { openStore } from "./store/store.ts";

/** What is real outside this code, passed in by the composition root and by tests. */
export interface World {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  /** `count` unpredictable bytes. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
  readonly openProvider: (config: SweepConfig, meter: Meter) => Provider;
  /** Lets that many milliseconds pass. */
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** What one request works with. */
export interface Scope extends Deps {
  readonly world: World;
  readonly config: Config;
  readonly meter: Meter;
}

/** A fingerprint of the provider credential, worked out once. */
function fingerprint({ hcloudToken }: SweepConfig): () => Promise<string> {
  let known: Promise<string> | undefined;
  return () => (known ??= sha256Hex(hcloudToken).then((hash) => hash.slice(0, 16)));
}

/** Opens what a request works with, counting what goes out. */
export function openScope(world: World, config: Config, db: D1Database): Scope {
  const meter = { fetches: 0, statements: 0 };
  const store = openStore(db, (count) => (meter.statements += count));
  return {
    world,
    config,
    meter,
    store,
    ...world.openProvider(config, meter),
    now: world.now,
    rules: config,
    credential: fingerprint(config),
  };
}

/** Runs one sweep and tells the log of it, whoever started it; null when another is running. A dry run is told to its caller alone. */
export async function runSweep(world: World, deps: SweepDeps, order: SweepOrder): Promise<SweepReport | null> {
  const report = await sweep(deps, order);
  if (report !== null && !order.dryRun) for (const line of logLines(report)) world.log(line);
  return report;
}

/** Opens what a sweep works with; `now` is the time that its rules go by. */
export function openSweep(world: World, config: SweepConfig, db: D1Database, now: number): SweepDeps {
  const meter = { fetches: 0, statements: 0 };
  return {
    openStore: (mode) => openStore(db, (count) => (meter.statements += count), mode),
    ...world.openProvider(config, meter),
    rules: config,
    credential: fingerprint(config),
    provider: config.provider,
    now: () => now,
    wallNow: world.now,
    newUid: world.newUid,
    meter,
    plan: config.plan,
  };
}
