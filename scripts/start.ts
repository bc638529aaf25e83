// `npm start`: all of mayfly on this machine, with a tick every ten seconds, until Ctrl-C.
import { randomBytes } from "node:crypto";
import { checkShortHashes } from "../src/auth/issuers.ts";
import { readConfig, SETTINGS, UNSUPPORTED_SETTINGS } from "../src/config.ts";
import { createDeployments, PART_SETTINGS } from "../src/deployment.ts";
import { loadConfiguration } from "./configuration.ts";
import { readLogLine, type SweepLine } from "./log-lines.ts";
import { startStack, type Stack } from "./stack.ts";

const TICK_EVERY_MS = 10_000;
const { env } = process;

/** What this file decides by itself. */
const OWN = new Set(["ADMIN_TOKEN", "HCLOUD_TOKEN", "HCLOUD_ENDPOINT"]);
/** Settings of the Worker that may be given by their names; those that it does not support are refused there, and not here. */
const GIVEN = [...SETTINGS, ...PART_SETTINGS, ...UNSUPPORTED_SETTINGS].filter((name) => !OWN.has(name));

/** As for the Worker, an empty one counts as not set. */
const given = (name: string): string | undefined => env[name] || undefined;

function port(name: string, fallback: number): number {
  const text = given(name) ?? String(fallback);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${name} must be a port from 0 to 65535, is: ${text}`);
}

/** The real API is driven only by two deliberate words, and never with the rows of the simulated one. */
function realHetzner(): { token: string; endpoint: string } | null {
  const token = given("HCLOUD_TOKEN") ?? "";
  if (env["REAL_HETZNER"] === "yes") {
    if (token === "") throw new Error("REAL_HETZNER=yes needs HCLOUD_TOKEN");
    return { token, endpoint: given("HCLOUD_ENDPOINT") ?? "https://api.hetzner.cloud/v1" };
  }
  if (token !== "")
    console.log("HCLOUD_TOKEN is set and ignored: the simulator is used. REAL_HETZNER=yes drives the real API.");
  return null;
}

async function start(): Promise<void> {
  const real = realHetzner();
  const stateDir = given("STATE_DIR") ?? (real ? ".wrangler/state-real" : ".wrangler/state");
  const settings = {
    INSTALLATION: "local",
    ...Object.fromEntries(GIVEN.flatMap((name) => (given(name) === undefined ? [] : [[name, given(name)]]))),
    ADMIN_TOKEN: given("ADMIN_TOKEN") ?? `admin-${randomBytes(24).toString("base64url")}`,
    HCLOUD_TOKEN: real?.token ?? "simulated",
    ...(real ? { HCLOUD_ENDPOINT: real.endpoint } : {}),
  };
  // Deployed, a setting that cannot be used is answered by each request; here it can be said at once.
  const environment = { HCLOUD_ENDPOINT: "http://127.0.0.1/v1", ...settings };
  const config = readConfig(environment);
  const { issuers } = createDeployments(await loadConfiguration())(environment, config);
  await checkShortHashes(issuers);
  const ports = { port: port("PORT", 8787), simPort: port("SIM_PORT", 8788) };
  console.log("starting the simulator, the Worker and its database …");
  const stack = await startStack({ ...ports, stateDir, settings, onLog: show });
  const cron = env["CRON"] === "off" ? null : setInterval(() => tick(stack), TICK_EVERY_MS);
  stopOnSignal(stack, cron);
  greet(stack, config.adminToken, stateDir, cron !== null);
}

function greet({ url, simulator }: Stack, adminToken: string, stateDir: string, ticks: boolean): void {
  const auth = `-H 'Authorization: Bearer ${adminToken}'`;
  const where = simulator ? `simulator on ${simulator.url}/v1` : "the real Hetzner Cloud: machines cost money";
  const provider = env["PROVIDER"] === "memory" ? "memory: a cloud inside the Worker" : where;
  const body = `{"server_type":"cx23","region":"fsn1","ttl":"10m"}`;
  console.log(`mayfly ready on ${url}

  provider     ${provider}
  database     ${stateDir}
  admin token  ${adminToken}
  sweeps       ${ticks ? "every 10 s" : "off (CRON=off): POST /_sim/tick at the simulator plays one"}

Try it:

  curl -X PUT ${url}/v1/machines/first ${auth} -d '${body}'
  curl ${url}/v1/machines ${auth}
  curl -X DELETE ${url}/v1/machines/first ${auth}

Ctrl-C stops everything.`);
}

/** Sweeps that did something, and whatever went wrong; the rest is in the answers. */
function show(message: string, level: string): void {
  const line = readLogLine(message);
  if (line?.event === "sweep") showSweep(line);
  else if (line?.event === "error" || line?.event === "alert" || (line === null && level !== "info" && level !== "log"))
    console.error(message);
}

function showSweep({ id, outcome, phases }: SweepLine): void {
  if (id === null) return;
  const figures = (["destroyed", "errors", "alerts", "remaining"] as const)
    .map((what) => `${phases.reduce((sum, phase) => sum + phase[what].length, 0)} ${what}`)
    .join(", ");
  const failures = phases.flatMap(({ phase, failure }) => (failure === null ? [] : [`${phase} failed: ${failure}`]));
  console.log([`sweep ${id}: ${outcome}, ${figures}`, ...failures].join("; "));
}

function tick(stack: Stack): void {
  stack.tick(Date.now()).catch((error: unknown) => console.error("the tick failed:", error));
}

function stopOnSignal(stack: Stack, cron: NodeJS.Timeout | null): void {
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      if (cron) clearInterval(cron);
      stack.stop().then(() => process.exit(0), fail);
    });
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

start().catch(fail);
