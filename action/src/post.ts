import { setTimeout as sleep } from "node:timers/promises";
import { call, oneMachine, type Calling, type Machine } from "./mayfly.ts";
import type { Runner } from "./runner.ts";

const TRIES = 6;
/** As long as a create that was under way may still land. */
const TOMBSTONE = "10m";

/** Ends the step's machine when its job is over, however it ended. It never fails the job: what it cannot end, the lease does. */
export async function post(runner: Runner): Promise<void> {
  const [name, url, audience] = [runner.state("name"), runner.state("url"), runner.state("audience")];
  if (name === "") return;
  stopRenewing(runner.state("renewing"));
  const calling: Calling = { url, audience, tries: TRIES, sleep: async (ms) => sleep(ms) };
  // Where its create was never answered, it may be under way still.
  const query = runner.state("made") === "true" ? "" : `?tombstone=${TOMBSTONE}`;
  try {
    const { status, body } = await call(runner, calling, "DELETE", `/v1/machines/${name}${query}`);
    if (status === 204) return runner.tell(`${name}: there is no machine.`);
    const { machine } = oneMachine.parse(body);
    runner.tell(`${name} is ${machine.status}.`);
    runner.summarise(summaryOf(machine));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    runner.warn(`${name} could not be ended now, and ends with its lease. ${why}`);
  }
}

function stopRenewing(pid: string): void {
  if (!/^[1-9]\d*$/.test(pid)) return;
  try {
    process.kill(Number(pid));
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function summaryOf({
  name,
  server_type: type,
  region,
  created_at: from,
  destroyed_at: to,
  cost_eur: cost,
}: Machine): string {
  const livedMs = from === null ? 0 : (to === null ? Date.now() : Date.parse(to)) - Date.parse(from);
  const minutes = Math.max(0, Math.ceil(livedMs / 60_000));
  const hours = Math.max(1, Math.ceil(livedMs / 3_600_000));
  const price = cost === null ? "unknown" : `${cost.toFixed(4)} €`;
  return [
    "| mayfly | type | region | lived | started hours | cost |",
    "|---|---|---|---|---|---|",
    `| ${name} | ${type} | ${region} | ${minutes} min | ${hours} | ${price} |`,
    "",
  ].join("\n");
}
