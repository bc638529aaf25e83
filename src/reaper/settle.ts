import { getIfThere } from "../driver/driver.ts";
import { backOffMs } from "../lifecycle/back-off.ts";
import { mayConclude } from "../lifecycle/credential.ts";
import { tellLabel } from "../lifecycle/renew.ts";
import { decide, isComplete } from "../machine/decide.ts";
import { isLaunchOver } from "../machine/lease.ts";
import { isSame } from "../machine/ownership.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { listByUid } from "./list-by-uid.ts";
import { messageOf, type PhaseContext } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** As many as one list call can answer for. */
const BATCH = 50;
/** What a batch still writes after its reads, however large it is. */
const RECORDS = 15;
/** So long after it agreed to delete a machine, a provider that still shows it alive has not done so. */
const DELETE_MS = 60_000;

/** What became of one row. */
interface Settled {
  readonly row: MachineRow;
  readonly act:
    | "observe"
    | "close"
    | "fail"
    | "doom"
    | "held"
    | "again"
    | "label"
    | "wait"
    | "missing"
    | "mismatch"
    | "disown";
  readonly reason: string;
  readonly machine?: Machine;
  readonly failed?: boolean;
}

/**
 * Follows creates and destroys to their end. A row whose machine is found is that machine's; one whose machine never came is
 * failed after `LAUNCH_DEADLINE` and a second look, tombstone and all; a machine that does not run by then is destroyed with the
 * reason kept. A deletion that the provider agreed to is proven by asking for the id. A label that is behind its lease is
 * written again.
 */
export async function settle(deps: PhaseContext): Promise<Omit<PhaseReport, "phase">> {
  const { store, budget } = deps;
  const now = deps.now();
  const rows = await store.work.unsettled(now, BATCH);
  if (rows.length === 0) return { items: [], failure: null };
  // What is left of the provider's rate limit is for deletes, and these look.
  if (deps.capabilities.hasHeadroom?.() === false)
    return { items: rows.map((row) => toItem(row, "remaining", "rate_limit")), failure: null };
  if (!budget.allows({ fetches: 1, statements: RECORDS }))
    return { items: rows.map((row) => toItem(row, "remaining", "budget")), failure: null };

  const { machines, failure } = await listByUid(deps, rows);
  const done: Settled[] = [];
  const items: Item[] = [];
  for (const row of rows) {
    const seen = machines.find(
      (machine) => isSame(row, machine) && (row.providerId ?? machine.providerId) === machine.providerId,
    );
    if (!budget.allows({ fetches: 3, statements: RECORDS }) || !(await deps.mayGoOn())) {
      items.push(toItem(row, "remaining", "budget"));
      continue;
    }
    const one = await judge(deps, row, seen ?? null, failure === null);
    done.push(one);
    items.push(toItem(row, outcomeOf(one), one.reason));
  }
  await write(deps, done, now);
  return { items, failure };
}

async function judge(deps: PhaseContext, row: MachineRow, seen: Machine | null, isWhole: boolean): Promise<Settled> {
  const now = deps.now();
  try {
    if (row.deleteAcceptedAt !== null) return await proveGone(deps, row);
    if (seen === null) {
      const isOver = isWhole && isLaunchOver(row, now, deps.rules) && isSecondLook(row.missingSince, now);
      // With an id it is only a list that does not show it, and nothing follows from that; without one nothing else can tell.
      if (row.providerId === null && isOver && (await mayConclude(deps, row)))
        return { row, act: "fail", reason: "launch_failed" };
      return { row, act: row.providerId === null && isWhole ? "missing" : "wait", reason: "not_seen_yet" };
    }
    const verdict = decide(row, seen, now, deps.rules);
    if (verdict.act === "destroy" && !(await deps.cap.allows(verdict, row, seen)))
      return { row, act: "held", reason: "held" };
    const { act, reason } = verdict;
    if (act === "destroy") return { row, act: "doom", reason, machine: seen };
    if (row.phase === "active" && row.labelExpiresAt !== row.expiresAt) {
      if ((await tellLabel(deps, row)) === "told") return { row, act: "label", reason: "label", machine: seen };
      return { row, act: "wait", reason: "the label could not be written", failed: true };
    }
    return { row, act: "observe", reason: seen.status, machine: seen };
  } catch (error) {
    return { row, act: "wait", reason: messageOf(error), failed: true };
  }
}

/**
 * The provider agreed to delete it: gone when it has nothing of that id, whatever a list says. One that stays alive is to be
 * deleted again; one that is another machine by now is given up after two such looks.
 */
async function proveGone(deps: PhaseContext, row: MachineRow): Promise<Settled> {
  const { driver, now } = deps;
  if (row.providerId === null) return { row, act: "again", reason: "still_there" };
  const machine = await getIfThere(driver, row.providerId);
  if (machine === null && !(await mayConclude(deps, row)))
    return { row, act: "wait", reason: "not there under this credential", failed: true };
  if (machine === null) return { row, act: "close", reason: "gone" };
  const isStale = row.deleteAcceptedAt !== null && now() - row.deleteAcceptedAt > DELETE_MS;
  if (machine.status === "deleting" || !isStale || !machine.hasLabels) return { row, act: "wait", reason: "dying" };
  if (isSame(row, machine)) return { row, act: "again", reason: "still_there" };
  return { row, act: isSecondLook(row.mismatchedSince, now()) ? "disown" : "mismatch", reason: "identity_mismatch" };
}

async function write({ store }: PhaseContext, done: readonly Settled[], now: number): Promise<void> {
  const those = (...acts: Settled["act"][]) => done.filter(({ act }) => acts.includes(act));
  // Whoever was looked at now goes to the end of the queue; who was not keeps its place.
  if (done.length > 0)
    await store.work.claimLook(
      done.map(({ row }) => row.uid),
      now,
      now,
    );
  const sightings = those("observe", "label", "doom").flatMap(({ row, machine }) =>
    machine ? [{ uid: row.uid, machine }] : [],
  );
  await store.machines.observe(sightings, now);
  await store.endings.claimDestroy(
    those("doom").map(({ row, reason }) => ({
      uid: row.uid,
      reason,
      expiresAt: row.expiresAt,
      lacking: reason === "attach_failed" ? row.attachments : null,
    })),
    now,
  );
  await store.endings.failUntried(those("fail").map(toEnding), now);
  await store.endings.disown(those("disown").map(toEnding), now);
  await store.endings.markDestroyed(those("close").map(toEnding), now);
  await store.endings.unmarkAccepted(those("again").map(({ row }) => row.uid));
  const complete = those("observe", "label").filter(({ row, machine }) => machine && isComplete(row, machine));
  await store.work.confirmAttached(complete.map(({ row }) => row.uid));
  const uidsOf = (act: Settled["act"]) => those(act).map(({ row }) => row.uid);
  await store.inventory.note("missing", uidsOf("missing"), now);
  await store.inventory.note("mismatched", uidsOf("mismatch"), now);
  // Work on a label or a look never puts off an end: the lease's own time is the latest.
  await store.work.retryLater(
    those("wait", "mismatch").map(({ row, reason, failed = false }) => ({
      uid: row.uid,
      expiresAt: row.expiresAt,
      error: failed ? reason : null,
      nextTryAt: failed ? Math.min(now + backOffMs(0), Math.max(now, row.expiresAt)) : now,
      failed: false,
    })),
  );
}

function outcomeOf({ act, failed }: Settled): Item["outcome"] {
  if (act === "mismatch" || act === "disown" || act === "held") return "alert";
  if (["observe", "close", "fail", "label"].includes(act)) return "settled";
  return failed ? "error" : "kept";
}

const toEnding = ({ row, reason }: Settled) => ({ uid: row.uid, reason });
const toItem = ({ uid, providerId }: MachineRow, outcome: Item["outcome"], reason: string): Item => ({
  uid,
  providerId,
  outcome,
  reason,
});
