/**
 * The composition root: what is real, and the Worker's two ways in. `fetch` serves HTTP; `scheduled` runs one sweep, whose
 * `now` is the tick's own time so that a tick can be played at any time.
 */
import { readSweepConfig } from "./config.ts";
import { createProviders } from "./providers.ts";
import { createApp } from "./http/app.ts";
import { consoleLog } from "./log.ts";
import { openSweep, runSweep, type World } from "./world.ts";

const openProvider = createProviders();

const world: World = {
  now: () => Date.now(),
  newUid: () => crypto.randomUUID(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  log: consoleLog,
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  openProvider: (config, meter) =>
    openProvider(config, {
      now: world.now,
      // Looked up at each call, so that a test can put a simulator in its place.
      fetch: (input, init) => {
        meter.fetches += 1;
        return globalThis.fetch(input, init);
      },
    }),
};

const app = createApp(world);

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled({ scheduledTime }, env) {
    const deps = openSweep(world, readSweepConfig(env), env.DB, scheduledTime);
    const report = await runSweep(world, deps, { startedBy: "cron", dryRun: false });
    if (report === null) world.log({ event: "sweep", id: null, outcome: "skipped" });
  },
} satisfies ExportedHandler<Env>;
