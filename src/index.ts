/**
 * The composition root: what is real, and the Worker's two ways in. `fetch` serves HTTP; `scheduled` runs one sweep, whose
 * `now` is the tick's own time so that a tick can be played at any time.
 */
import configuration from "../mayfly.config.ts";
import { readSweepConfig } from "./config.ts";
import { oncePerEnvironment } from "./environment.ts";
import { createApp } from "./http/app.ts";
import { hostOf, openInvocation, openSweep, runSweep } from "./invocation.ts";
import { consoleLog } from "./log.ts";
import { createProviders } from "./providers.ts";
import type { Runtime } from "./runtime.ts";

const runtime: Runtime = {
  now: () => Date.now(),
  newUid: () => crypto.randomUUID(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  // Looked up at each call, so that a test can put a simulator in its place.
  fetch: (input, init) => globalThis.fetch(input, init),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  log: consoleLog,
};
const sweepConfigOf = oncePerEnvironment(readSweepConfig);
const openProvider = createProviders();
const host = hostOf(runtime, openProvider, configuration);
const app = createApp(host);

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled({ scheduledTime }, env) {
    const invocation = openInvocation(runtime, openProvider, env.DB);
    const context = openSweep(invocation, sweepConfigOf(env), scheduledTime, host.extraPhases(env, invocation));
    const report = await runSweep(runtime, context, { startedBy: "cron", dryRun: false });
    if (report === null) runtime.log({ event: "sweep", id: null, outcome: "skipped" });
  },
} satisfies ExportedHandler<Env>;
