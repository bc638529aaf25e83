import { spawn } from "node:child_process";
import { isIP, isIPv4 } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { flagIn, lengthIn, newName, orderIn, placeIn, portIn } from "./inputs.ts";
import { writeKeyPair } from "./key-pair.ts";
import { call, oneMachine, type Calling, type Machine } from "./mayfly.ts";
import { RENEWING, type Renewing } from "./renew.ts";
import { Failure, type Runner } from "./runner.ts";
import { speaksSsh } from "./wait-for-ssh.ts";

const whoami = z.object({
  whoami: z.object({ address: z.nullable(z.string()), policy: z.object({ only_profiles: z.boolean() }) }),
});

const TRIES = 5;
const RUNS_WITHIN_MS = 5 * 60_000;
const SSH_WITHIN_MS = 5 * 60_000;

/** Gets a machine for this step, and keeps it alive while the job runs. What is kept before the first call is enough to end it. */
export async function main(runner: Runner, script: string): Promise<void> {
  const place = placeIn(runner);
  const ttlMs = lengthIn(runner, "ttl");
  const renews = flagIn(runner, "renew");
  const waitFor = runner.input("wait_for");
  if (waitFor !== "ssh" && waitFor !== "running") throw new Failure("`wait_for` must be ssh or running");
  const port = portIn(runner, "ssh_port");
  const order = orderIn(runner);
  const name = newName(runner.env["GITHUB_JOB"] ?? "");
  runner.keep("name", name);
  runner.keep("url", place.url);
  runner.keep("audience", place.audience);
  runner.output("name", name);
  const calling: Calling = { ...place, tries: TRIES, sleep: async (ms) => sleep(ms) };

  const caller = whoami.parse((await call(runner, calling, "GET", "/v1/whoami")).body).whoami;
  // Such a policy's profile brings keys and firewall, and nothing else may be said.
  const isBound = caller.policy.only_profiles;
  const range = isBound ? null : rangeFor(runner, caller.address);
  const key = isBound ? null : writeKeyPair(runner.env["RUNNER_TEMP"] ?? ".", name);
  const rule = { direction: "in", protocol: "tcp", port: String(port), source_ips: [range] };
  const more = key === null ? {} : { ssh_keys: [key.publicKey], firewalls: [{ rules: [rule] }] };

  const path = `/v1/machines/${name}`;
  const created = await call(runner, calling, "PUT", `${path}?wait=30`, { ...order, ...more });
  runner.keep("made", "true");
  if (renews) startRenewing(runner, script, { ...place, name, ttlMs });
  const machine = await untilItRuns(runner, calling, path, oneMachine.parse(created.body).machine);
  runner.tell(`${name} is a ${machine.server_type} in ${machine.region} at ${machine.public_ipv4}`);
  runner.output("id", machine.id);
  runner.output("ip", machine.public_ipv4);
  runner.output("ssh_key_path", key?.path ?? "");
  if (waitFor === "ssh") await untilItAnswers(machine.public_ipv4, port);
}

/** Who is let in: whom the workflow names, else this runner alone, as mayfly sees it. */
function rangeFor(runner: Runner, address: string | null): string {
  const said = runner.input("cidr");
  if (said !== "") return said;
  if (address !== null && isIPv4(address)) return `${address}/32`;
  const seen =
    address === null || isIP(address) === 0 ? "is unknown" : `is ${address}, and the machine is reached by IPv4`;
  throw new Failure(`This runner's address ${seen}. Say who may reach the machine: \`cidr: 203.0.113.0/24\`.`);
}

async function untilItRuns(runner: Runner, calling: Calling, path: string, first: Machine): Promise<Machine> {
  const until = Date.now() + RUNS_WITHIN_MS;
  let machine = first;
  while (machine.status === "creating" || (machine.status === "running" && machine.public_ipv4 === "")) {
    if (Date.now() > until) throw new Failure(`${machine.name} does not run after ${RUNS_WITHIN_MS / 60_000} minutes.`);
    machine = oneMachine.parse((await call(runner, calling, "GET", `${path}?wait=30`)).body).machine;
    if (machine.status === "running" && machine.public_ipv4 === "") await sleep(3000);
  }
  if (machine.status !== "running") throw new Failure(`${machine.name} is ${machine.status}.`);
  return machine;
}

async function untilItAnswers(ip: string, port: number): Promise<void> {
  const until = Date.now() + SSH_WITHIN_MS;
  while (!(await speaksSsh(ip, port))) {
    if (Date.now() > until)
      throw new Failure(`${ip} runs, and does not answer SSH after ${SSH_WITHIN_MS / 60_000} minutes.`);
    await sleep(2000);
  }
}

/** A process beside the job: it ends when the step's last part ends it, or with the runner. */
function startRenewing(runner: Runner, script: string, renewing: Omit<Renewing, "runnerPid">): void {
  const told: Renewing = { ...renewing, runnerPid: process.ppid };
  const child = spawn(process.execPath, [script], {
    detached: true,
    stdio: "ignore",
    env: { ...runner.env, [RENEWING]: JSON.stringify(told) },
  });
  child.on("error", (error) => runner.warn(`The lease is not renewed: ${error.message}`));
  child.unref();
  if (child.pid !== undefined) runner.keep("renewing", String(child.pid));
}
