import { DriverError, isNotFound } from "../driver/driver.ts";
import { backOffMs } from "../lifecycle/lifecycle.ts";
import { decide, endOf } from "../machine/decide.ts";
import { LABEL } from "../machine/labels.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { concernsAll, type PhaseDeps } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** As many as one list call can answer for. */
const BATCH = 50;
/** What a batch still writes at its end, however large it is: the intent, what failed, what ended and its events. */
const RECORDS = 4;

/** What is to become of a due row, and then what became of it. */
interface Case {
  readonly row: MachineRow;
  /** Null when nothing is there to destroy. */
  readonly machine: Machine | null;
  readonly outcome: Item["outcome"];
  readonly reason: string;
}

/**
 * Destroys the machines of rows whose end has come. One list by uid reads up to fifty of them again; what it does not show
 * is asked for by id, because absence from a list proves nothing. The intent is written before the first one dies, and a
 * row closes when the provider has agreed or has nothing of that id. What cannot be done backs off and stays in the set.
 */
export async function expire(deps: PhaseDeps): Promise<Omit<PhaseReport, "phase">> {
  const { store, dryRun } = deps;
  const now = deps.now();
  const rows = await store.machines.due(now, BATCH);
  if (rows.length === 0) return { items: [], failure: null };

  const { cases, failure } = await judge(deps, rows, now);
  if (dryRun) return { items: cases.map(toItem), failure };

  const doomed = cases.filter(({ outcome, machine }) => outcome === "destroyed" && machine !== null);
  await store.machines.markDestroying(doomed.map(toEnding));
  const done = await destroyAll(deps, cases);
  const open = done.filter(({ outcome }) => outcome !== "destroyed" && outcome !== "remaining");
  await store.machines.retryLater(
    open.map((one) => ({ uid: one.row.uid, error: one.reason, nextTryAt: nextTry(one, now) })),
  );
  await store.machines.markDestroyed(done.filter(({ outcome }) => outcome === "destroyed").map(toEnding), now);
  return { items: done.map(toItem), failure };
}

/** Reads every row's machine again and decides, as far as the budget can also pay for what is decided. */
async function judge(deps: PhaseDeps, rows: readonly MachineRow[], now: number) {
  const { budget, rules, signal } = deps;
  const { machines, failure } = await listByUid(deps, rows);
  const cases: Case[] = [];
  let deletes = 0;
  let stopped = false;
  for (const row of rows) {
    if (stopped || signal?.aborted || !budget.allows({ fetches: deletes + 2, statements: RECORDS })) {
      cases.push({ row, machine: null, outcome: "remaining", reason: "budget" });
      continue;
    }
    try {
      const machine = await look(deps, row, machines);
      if (machine === null) {
        // A row without an id was looked for in the list alone: only a whole list, and a create that is over, can close it.
        const mayLand =
          row.providerId === null && (failure !== null || now <= row.requestedAt + rules.launchDeadlineMs);
        cases.push({
          row,
          machine,
          outcome: mayLand ? "kept" : "destroyed",
          reason: mayLand ? "not_seen_yet" : "gone",
        });
        continue;
      }
      const verdict = decide(row, machine, now, rules);
      if (verdict.act === "destroy") deletes += 1;
      const outcome = verdict.act === "destroy" ? "destroyed" : verdict.alert ? "alert" : "kept";
      cases.push({ row, machine, outcome, reason: verdict.reason });
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      cases.push({ row, machine: null, outcome: "error", reason: error.message });
      stopped = concernsAll(error);
    }
  }
  return { cases, failure };
}

/** One list for all of them. A failure is no proof of anything, but what was read before it counts. */
async function listByUid({ driver }: PhaseDeps, rows: readonly MachineRow[]) {
  try {
    return { machines: await driver.list({ [LABEL.uid]: rows.map(({ uid }) => uid) }), failure: null };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { machines: error.partial ?? [], failure: error.message };
  }
}

/** The row's machine as it is now; null when the provider has none of its id, or shows none of its uid. */
async function look({ driver }: PhaseDeps, row: MachineRow, listed: readonly Machine[]): Promise<Machine | null> {
  const { providerId } = row;
  if (providerId === null) return listed.find(({ labels }) => labels[LABEL.uid] === row.uid) ?? null;
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
async function destroyAll({ driver, budget, signal }: PhaseDeps, cases: readonly Case[]): Promise<Case[]> {
  const done: Case[] = [];
  let stopped = false;
  for (const one of cases) {
    if (one.outcome !== "destroyed" || one.machine === null) {
      done.push(one);
      continue;
    }
    if (stopped || signal?.aborted || !budget.allows({ fetches: 1, statements: RECORDS - 1 })) {
      done.push({ ...one, outcome: "remaining" });
      continue;
    }
    try {
      await driver.destroy(one.machine.providerId);
      done.push(one);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      done.push({ ...one, outcome: error.code === "protected" ? "alert" : "error", reason: error.message });
      stopped = concernsAll(error);
    }
  }
  return done;
}

/** A row that proved to have a later end waits for it; everything else is tried again soon, then less and less often. */
function nextTry({ row, machine, reason }: Case, now: number): number {
  return reason === "live" ? endOf(row, machine) : now + backOffMs(row.attempts);
}

const toEnding = ({ row, reason }: Case) => ({ uid: row.uid, reason });
const toItem = ({ row, machine, outcome, reason }: Case): Item => ({
  uid: row.uid,
  providerId: row.providerId ?? machine?.providerId ?? null,
  outcome,
  reason,
});
