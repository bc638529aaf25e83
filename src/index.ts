/**
 * The composition root: what is real, and the Worker's two ways in. `fetch` serves HTTP; `scheduled` runs one sweep, whose
 * `now` is the tick's own time so that a tick can be played at any time.
 */
import { readSweepConfig } from "./config.ts";
import { createDriverRegistry } from "./drivers.ts";
import { createApp } from "./http/app.ts";
import type { World } from "./http/scope.ts";
import { consoleLog } from "./log.ts";
import { reportJson, type SweepReport } from "./reaper/report.ts";
import { sweep } from "./reaper/sweep.ts";
import { openStore } from "./store/store.ts";

/** Well within the lock's 90 s. */
const SWEEP_DEADLINE_MS = 75_000;

const openDriver = createDriverRegistry();

const world: World = {
  now: () => Date.now(),
  newUid: () => crypto.randomUUID(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  log: consoleLog,
  openDriver: (config, meter, signal) =>
    openDriver(config, {
      now: world.now,
      // Looked up at each call, so that a test can put a simulator in its place.
      fetch: (input, init) => {
        meter.fetches += 1;
        return globalThis.fetch(input, init);
      },
      ...(signal ? { signal } : {}),
    }),
};

const app = createApp(world);

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(controller, env) {
    const report = await runSweep(controller.scheduledTime, env);
    world.log({ event: "sweep", id: report?.id ?? null, ...(report ? reportJson(report) : { outcome: "skipped" }) });
  },
} satisfies ExportedHandler<Env>;

function runSweep(scheduledTime: number, env: Env): Promise<SweepReport | null> {
  const config = readSweepConfig(env);
  const meter = { fetches: 0, statements: 0 };
  const signal = AbortSignal.timeout(SWEEP_DEADLINE_MS);
  return sweep(
    {
      store: openStore(env.DB, (count) => (meter.statements += count)),
      driver: world.openDriver(config, meter, signal),
      now: () => scheduledTime,
      wallNow: world.now,
      newUid: world.newUid,
      rules: config,
      meter,
      plan: config.plan,
      signal,
    },
    { startedBy: "cron", dryRun: false },
  );
}
