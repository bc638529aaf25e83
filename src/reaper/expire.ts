import { DriverError, isNotFound } from "../driver/driver.ts";
import { backOffMs } from "../lifecycle/lifecycle.ts";
import { decide, endOf, isSame, isSecondLook, ourSelector, type Verdict } from "../machine/decide.ts";
import { LABEL } from "../machine/labels.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { concernsAll, messageOf, needsSomebody, type PhaseDeps } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** As many as one list call can answer for. */
const BATCH = 50;
/** What a batch still writes after its reads, however large it is. */
const RECORDS = 7;

/** What is to become of a due row, and then what became of it. */
interface Case {
  readonly row: MachineRow;
  /** Null when nothing is there to destroy. */
  readonly machine: Machine | null;
  readonly act: Verdict["act"] | "close" | "wait";
  readonly outcome: Item["outcome"];
  readonly reason: string;
}

/**
 * Destroys the machines of rows whose end has come, oldest end first, batch by batch as far as the budget goes. One list by
 * uid reads a batch again; what it does not show is asked for by id, because absence from a list proves nothing. The intent
 * is written before the first one dies, and a row closes when the provider has agreed or has nothing of that id. What cannot
 * be done backs off and stays in the set.
 */
export async function expire(deps: PhaseDeps): Promise<Omit<PhaseReport, "phase">> {
  const items: Item[] = [];
  let last: MachineRow | null = null;
  for (;;) {
    const rows: MachineRow[] = await deps.store.machines.due(deps.now(), BATCH, last);
    if (rows.length === 0) return { items, failure: null };
    const { cases, failure } = await expireBatch(deps, rows);
    items.push(...cases.map(toItem));
    const isDone = rows.length < BATCH || cases.some(({ outcome }) => outcome === "remaining");
    if (isDone || failure !== null) return { items, failure };
    last = rows.at(-1) ?? null;
  }
}

async function expireBatch(
  deps: PhaseDeps,
  rows: readonly MachineRow[],
): Promise<{ cases: Case[]; failure: string | null }> {
  const { machines: table } = deps.store;
  const now = deps.now();
  const { judged, failure } = await judge(deps, rows, now);
  await table.markDestroying(judged.filter(isDoomed).map(toEnding));
  const { cases, refused } = await destroyAll(deps, judged);
  const undone = cases.filter(
    ({ act, outcome }) => act !== "disown" && outcome !== "destroyed" && outcome !== "remaining",
  );
  const uidsOf = (reason: string) => undone.filter((one) => one.reason === reason).map(({ row }) => row.uid);
  await table.retryLater(undone.map((one) => ({ uid: one.row.uid, error: one.reason, nextTryAt: nextTry(one, now) })));
  await table.note("mismatched", uidsOf("identity_mismatch"), now);
  await table.note("missing", uidsOf("not_seen_yet"), now);
  await table.disown(cases.filter(({ act }) => act === "disown").map(toEnding), now);
  await table.markDestroyed(cases.filter(({ outcome }) => outcome === "destroyed").map(toEnding), now);
  return { cases, failure: failure ?? refused };
}

/** Reads every row's machine again and decides, as far as the budget can also pay for what is decided. */
async function judge(deps: PhaseDeps, rows: readonly MachineRow[], now: number) {
  const { budget, rules } = deps;
  const listed = await listByUid(deps, rows);
  const judged: Case[] = [];
  let deletes = 0;
  let { failure } = listed;
  let stopped = false;
  for (const row of rows) {
    const isAffordable = budget.allows({ fetches: deletes + 2, statements: RECORDS });
    if (stopped || !isAffordable || !(await deps.mayGoOn())) {
      judged.push({ row, machine: null, act: "wait", outcome: "remaining", reason: "budget" });
      continue;
    }
    try {
      const machine = await look(deps, row, listed.machines);
      if (machine === null) {
        // A row without an id was looked for in the list alone: only a create that is over and a second whole list close it.
        const isOver =
          listed.failure === null &&
          now > row.requestedAt + rules.launchDeadlineMs &&
          isSecondLook(row.missingSince, now);
        if (row.providerId !== null || isOver)
          judged.push({ row, machine, act: "close", outcome: "destroyed", reason: "gone" });
        else judged.push({ row, machine, act: "wait", outcome: "kept", reason: "not_seen_yet" });
        continue;
      }
      const { act, reason, alert } = decide(row, machine, now, rules);
      if (act === "destroy") deletes += 1;
      judged.push({ row, machine, act, reason, outcome: act === "destroy" ? "destroyed" : alert ? "alert" : "kept" });
    } catch (error) {
      judged.push({ row, machine: null, act: "wait", outcome: "error", reason: messageOf(error) });
      if (concernsAll(error)) {
        failure ??= error.message;
        stopped = true;
      }
    }
  }
  return { judged, failure };
}

/** One list for all of them. A failure is no proof of anything, but what was read before it counts. */
async function listByUid({ driver, rules }: PhaseDeps, rows: readonly MachineRow[]) {
  const selector = ourSelector(rules.installations, { [LABEL.uid]: rows.map(({ uid }) => uid) });
  try {
    return { machines: await driver.list(selector), failure: null };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { machines: error.partial ?? [], failure: error.message };
  }
}

/** The row's machine as it is now; null when the provider has none of its id, or shows none of its uid. */
async function look({ driver }: PhaseDeps, row: MachineRow, listed: readonly Machine[]): Promise<Machine | null> {
  const { providerId } = row;
  if (providerId === null) return listed.find((one) => isSame(row, one)) ?? null;
  const machine = listed.find((one) => one.providerId === providerId);
  if (machine) return machine;
  try {
    return await driver.get(providerId);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** Carries out what was decided; each failure is its own (I8), save those that would meet all. */
async function destroyAll({ driver, budget, mayGoOn }: PhaseDeps, judged: readonly Case[]) {
  const cases: Case[] = [];
  let refused: string | null = null;
  for (const one of judged) {
    if (!isDoomed(one)) cases.push(one);
    else if (refused !== null || !budget.allows({ fetches: 1, statements: RECORDS - 1 }) || !(await mayGoOn()))
      cases.push({ ...one, outcome: "remaining", reason: "budget" });
    else
      try {
        await driver.destroy(one.machine.providerId);
        cases.push(one);
      } catch (error) {
        cases.push({ ...one, outcome: needsSomebody(error) ? "alert" : "error", reason: messageOf(error) });
        if (concernsAll(error)) refused = error.message;
      }
  }
  return { cases, refused };
}

const isDoomed = (one: Case): one is Case & { machine: Machine } => one.act === "destroy" && one.machine !== null;

/** A row that proved to have a later end waits for it, one that is being created is looked for at each tick; else: less and less often. */
function nextTry({ row, machine, reason }: Case, now: number): number {
  if (reason === "live") return endOf(row, machine);
  return reason === "not_seen_yet" ? now : now + backOffMs(row.attempts);
}

const toEnding = ({ row, reason }: Case) => ({ uid: row.uid, reason });
const toItem = ({ row, machine, outcome, reason }: Case): Item => ({
  uid: row.uid,
  providerId: row.providerId ?? machine?.providerId ?? null,
  outcome,
  reason,
});
