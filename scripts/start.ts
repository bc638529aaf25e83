// `npm start`: all of mayfly on this machine, with a tick every ten seconds, until Ctrl-C.
import { randomBytes } from "node:crypto";
import { checkShortHashes } from "../src/auth/issuers.ts";
import { readConfig, SETTINGS, UNSUPPORTED_SETTINGS, type Config } from "../src/config.ts";
import { createDeployments, PART_SETTINGS, type Deployment } from "../src/deployment.ts";
import { Misconfigured } from "../src/machine/misconfigured.ts";
import { loadConfiguration, tooLong } from "./configuration.ts";
import { installationOf } from "./installation-word.ts";
import { cloudFileIn } from "./kept-cloud.ts";
import { tellLeftBehind } from "./left-behind.ts";
import { readLogLine, type SweepLine } from "./log-lines.ts";
import { startStack, type Stack } from "./stack.ts";
import { readVars, type Vars } from "./vars.ts";

const TICK_EVERY_MS = 10_000;
const { env } = process;

/** What this file decides by itself, whatever wrangler.toml says. */
const OWN = new Set(["ADMIN_TOKEN", "HCLOUD_TOKEN", "HCLOUD_ENDPOINT"]);
/** Settings of the Worker that may be given by their names; those that it does not support are refused there, and not here. */
const GIVEN = [...SETTINGS, ...PART_SETTINGS, ...UNSUPPORTED_SETTINGS].filter((name) => !OWN.has(name));

interface Checked {
  readonly config: Config;
  readonly deployment: Deployment;
}

/** As for the Worker, an empty one counts as not set. */
const given = (name: string): string | undefined => env[name] || undefined;
/** The secrets of hooks, whose names only the configuration knows. */
const HOOK_SECRETS = Object.keys(env).filter((name) => name.startsWith("HOOK_"));

function port(name: string, fallback: number): number {
  const text = given(name) ?? String(fallback);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${name} must be a port from 0 to 65535, is: ${text}`);
}

/** The real API is driven only by two deliberate words, and never with the rows of the simulated one. */
function realToken(): string | null {
  const token = given("HCLOUD_TOKEN") ?? "";
  if (env["REAL_HETZNER"] === "yes") {
    if (token === "") throw new Error("REAL_HETZNER=yes needs HCLOUD_TOKEN");
    return token;
  }
  if (token !== "")
    console.log("HCLOUD_TOKEN is set and ignored: the simulator is used. REAL_HETZNER=yes drives the real API.");
  return null;
}

/** All that the Worker is given: the environment goes before wrangler.toml, and what is decided here before both. */
function settingsOf(vars: Vars, token: string | null, installation: string): Vars {
  return {
    INSTALLATION: installation,
    ...Object.fromEntries(Object.entries(vars).filter(([name]) => !OWN.has(name))),
    ...Object.fromEntries(
      [...GIVEN, ...HOOK_SECRETS].flatMap((name) => (given(name) === undefined ? [] : [[name, given(name) ?? ""]])),
    ),
    ADMIN_TOKEN: given("ADMIN_TOKEN") ?? `admin-${randomBytes(24).toString("base64url")}`,
    HCLOUD_TOKEN: token ?? "simulated",
    ...(token === null
      ? {}
      : { HCLOUD_ENDPOINT: given("HCLOUD_ENDPOINT") ?? vars["HCLOUD_ENDPOINT"] ?? "https://api.hetzner.cloud/v1" }),
  };
}

/** Deployed, a setting that cannot be used is answered by each request; here it can be said at once, and where it stands. */
async function check(settings: Vars, vars: Vars): Promise<Checked> {
  const file = await loadConfiguration();
  try {
    const environment = { HCLOUD_ENDPOINT: "http://127.0.0.1/v1", ...settings };
    const config = readConfig(environment);
    const deployment = createDeployments(file)(environment, config);
    await checkShortHashes(deployment.issuers);
    return { config, deployment };
  } catch (error) {
    const isInFile =
      error instanceof Misconfigured && settings[error.key] !== undefined && settings[error.key] === vars[error.key];
    throw isInFile ? new Error(`${error.message} ([vars] in wrangler.toml)`, { cause: error }) : error;
  }
}

async function start(): Promise<void> {
  const token = realToken();
  const stateDir = given("STATE_DIR") ?? (token === null ? ".wrangler/state" : ".wrangler/state-real");
  const vars = await readVars();
  // A simulated project has no other checkout's machines in it.
  const settings = settingsOf(vars, token, token === null ? "local" : await installationOf(stateDir));
  const checked = await check(settings, vars);
  const ports = { port: port("PORT", 8787), simPort: port("SIM_PORT", 8788) };
  console.log(`starting ${token === null ? "the simulator, " : ""}the Worker and its database …`);
  const options = { ...ports, stateDir, cloudFile: cloudFileIn(stateDir), settings, onLog: show };
  const stack = await startStack(options);
  const cron = env["CRON"] === "off" ? null : setInterval(() => tick(stack), TICK_EVERY_MS);
  stopOnSignal(async () => {
    if (cron) clearInterval(cron);
    await stack.stop();
    if (token !== null)
      await sayWhatStays(() => startStack({ ...options, port: 0, modules: stack.modules }), checked.config);
  });
  for (const note of tooLong(checked.deployment, checked.config)) console.log(note);
  for (const { name, secret } of checked.deployment.hooks.values())
    if (settings[secret] === undefined) console.log(`note: hooks.${name} is answered 503 until ${secret} is set`);
  greet(stack, checked, stateDir, cron !== null);
}

function greet({ url, simulator }: Stack, { config, deployment }: Checked, stateDir: string, ticks: boolean): void {
  const auth = `-H 'Authorization: Bearer ${config.adminToken}'`;
  const where = simulator ? `simulator on ${simulator.url}/v1, kept in ${stateDir}` : REAL;
  const provider = config.provider === "memory" ? "memory: a cloud inside the Worker" : where;
  const body = `{"server_type":"cx23","region":"fsn1","ttl":"10m"}`;
  const policies = deployment.policies.map(({ name }) => name);
  console.log(`mayfly ready on ${url}

  provider     ${provider}
  database     ${stateDir}
  installation ${config.installations[0]}
  admin token  ${config.adminToken}
  policies     ${policies.join(", ") || "none: the admin and minted tokens may do everything to what is theirs"}
  sweeps       ${ticks ? "every 10 s" : `off (CRON=off): POST ${simulator ? "/_sim/tick at the simulator plays" : "/v1/sweeps runs"} one`}

Try it${policies.includes("default") ? " (your policy `default` holds for the admin, too: what it forbids is 403, with the reason)" : ""}:

  curl -X PUT ${url}/v1/machines/first ${auth} -d '${body}'
  curl ${url}/v1/machines ${auth}
  curl -X DELETE ${url}/v1/machines/first ${auth}

${simulator ? "Ctrl-C stops everything." : NOT_ALL}`);
}

const REAL = "the real Hetzner Cloud: machines cost money";
const NOT_ALL = `Ctrl-C stops mayfly, and no machine: what is at Hetzner then stays there and costs money, past its end too, until mayfly
is started again or somebody deletes it there. Which those are is said when it stops.`;

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
  const left = phases.flatMap(({ phase, why_remaining: why }) =>
    why === null ? [] : [`${phase} goes on later: ${why}`],
  );
  console.log([`sweep ${id}: ${outcome}, ${figures}`, ...left, ...failures].join("; "));
}

function tick(stack: Stack): void {
  stack.tick(Date.now()).catch((error: unknown) => console.error("the tick failed:", error));
}

function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // Miniflare's own end the process at once, before anything is said or kept.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      stop().then(() => process.exit(0), fail);
    });
  }
}

/** A terminal's Ctrl-C reaches the Worker's own process too, and so it is brought up once more, to be asked. */
async function sayWhatStays(reopen: () => Promise<Stack>, { adminToken, currency }: Config): Promise<void> {
  const stack = await reopen();
  console.log(await tellLeftBehind({ url: stack.url, adminToken, currency }));
  await stack.stop();
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

start().catch(fail);
