import { getIfThere } from "../driver/driver.ts";
import { isGone } from "../lifecycle/destroy.ts";
import { backOffMs } from "../lifecycle/back-off.ts";
import { mayConclude, adoptCredential } from "../lifecycle/credential.ts";
import { learnEnds } from "../lifecycle/renew.ts";
import { decide, type Verdict } from "../machine/decide.ts";
import { isLaunchOver } from "../machine/lease.ts";
import { isSame } from "../machine/ownership.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { listByUid } from "./list-by-uid.ts";
import { concernsAll, messageOf, needsSomebody, type PhaseContext } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

/** As many as one list call can answer for. */
const BATCH = 50;
/** What a batch still writes after its reads, however large it is. */
const RECORDS = 9;

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
 * is written before the first one dies, and claims the lease as it was read. A row closes when the provider has nothing of that
 * id; where it has agreed to delete, settle proves it. What cannot be done backs off and stays in the set.
 */
export async function expire(deps: PhaseContext): Promise<Omit<PhaseReport, "phase">> {
  const items: Item[] = [];
  let last: MachineRow | null = null;
  for (;;) {
    const rows: MachineRow[] = await deps.store.work.due(deps.now(), BATCH, last);
    if (rows.length === 0) return { items, failure: null };
    const { cases, failure } = await expireBatch(deps, rows);
    items.push(...cases.map(toItem));
    const isDone = rows.length < BATCH || cases.some(({ outcome }) => outcome === "remaining");
    if (isDone || failure !== null) return { items, failure };
    last = rows.at(-1) ?? null;
  }
}

async function expireBatch(
  deps: PhaseContext,
  rows: readonly MachineRow[],
): Promise<{ cases: Case[]; failure: string | null }> {
  const { store } = deps;
  const now = deps.now();
  const { judged, failure } = await judge(deps, rows, now);
  const dooms = judged.filter(isDoomed).map(({ row, reason }) => ({ uid: row.uid, reason, expiresAt: row.expiresAt }));
  const won = await store.endings.claimDestroy(dooms, now);
  const { cases: tried, refused } = await destroyAll(
    deps,
    judged.map((one) => (isDoomed(one) && !won.has(one.row.uid) ? renewed(one) : one)),
  );

  const cases = await proveGone(deps, tried);
  const those = (test: (one: Case) => boolean) => cases.filter(test).map(({ row }) => row.uid);
  const promised = await learnEnds(
    deps.store,
    cases.filter(({ reason }) => reason === "live"),
  );
  const undone = cases.filter(
    (one) => one.act !== "disown" && !["destroyed", "remaining"].includes(one.outcome) && !promised.includes(one),
  );
  await store.work.retryLater(undone.map((one) => toTry(one, now)));
  await store.inventory.note(
    "mismatched",
    those(({ reason }) => reason === "identity_mismatch"),
    now,
  );
  // A row without an id is missing only from a list that was whole.
  const missing = failure === null ? those(({ reason }) => reason === "not_seen_yet") : [];
  await store.inventory.note("missing", missing, now);
  await store.endings.disown(cases.filter(({ act }) => act === "disown").map(toEnding), now);
  const accepted = cases.filter(isDoomed).filter(({ outcome }) => outcome === "destroyed");
  await store.endings.markAccepted(
    accepted.map(({ row, machine }) => ({ uid: row.uid, providerId: machine.providerId })),
    now,
  );
  await store.endings.markDestroyed(cases.filter(({ act }) => act === "close").map(toEnding), now);
  return { cases, failure: failure ?? refused };
}

/** Looks once more, as far as the budget goes: what is not there any more can close; the rest settle proves later (P51). */
async function proveGone({ driver, budget, mayGoOn }: PhaseContext, cases: readonly Case[]): Promise<Case[]> {
  const proven: Case[] = [];
  for (const one of cases) {
    const isTold = isDoomed(one) && one.outcome === "destroyed";
    const isAffordable = budget.allows({ fetches: 1, statements: RECORDS - 1 });
    const isOver = isTold && isAffordable && (await mayGoOn()) && (await isGone(driver, one.machine.providerId));
    proven.push(isOver ? { ...one, act: "close" } : one);
  }
  return proven;
}

/** Its lease was renewed between the look and the claim: the renewal won. */
const renewed = (one: Case): Case => ({ ...one, act: "keep", outcome: "kept", reason: "live" });

/** Reads every row's machine again and decides, as far as the budget can also pay for what is decided. */
async function judge(deps: PhaseContext, rows: readonly MachineRow[], now: number) {
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
        const isOver = listed.failure === null && isLaunchOver(row, now, rules) && isSecondLook(row.missingSince, now);
        if (!(await mayConclude(deps, row)))
          judged.push({ row, machine, act: "wait", outcome: "alert", reason: "other_credential" });
        else if (row.providerId !== null || isOver)
          judged.push({ row, machine, act: "close", outcome: "destroyed", reason: "gone" });
        else judged.push({ row, machine, act: "wait", outcome: "kept", reason: "not_seen_yet" });
        continue;
      }
      const verdict = decide(row, machine, now, rules);
      if (verdict.act === "destroy" && !(await deps.cap.allows(verdict, row, machine))) {
        judged.push({ row, machine, act: "wait", outcome: "alert", reason: "held" });
        continue;
      }
      const { act, reason, alert } = verdict;
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
  await adoptCredential(
    deps,
    judged.filter(isDoomed).map(({ row }) => row),
  );
  return { judged, failure };
}

/** The row's machine as it is now; null when the provider has none of its id, or shows none of its uid. */
async function look({ driver }: PhaseContext, row: MachineRow, listed: readonly Machine[]): Promise<Machine | null> {
  const { providerId } = row;
  if (providerId === null) return listed.find((one) => isSame(row, one)) ?? null;
  return listed.find((one) => one.providerId === providerId) ?? getIfThere(driver, providerId);
}

/** Carries out what was decided; each failure is its own (I8), save those that would meet all. */
async function destroyAll({ driver, budget, mayGoOn }: PhaseContext, judged: readonly Case[]) {
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

/** One that is being created, or whose renewal was quicker, is looked for at each tick; else: less and less often. */
function toTry({ row, outcome, reason }: Case, now: number) {
  const failed = outcome !== "kept";
  const backOff = now + backOffMs(reason === "unreadable" ? 0 : row.attempts);
  const wait = reason === "live" || reason === "not_seen_yet" ? now : backOff;
  return { uid: row.uid, expiresAt: row.expiresAt, error: failed ? reason : null, nextTryAt: wait, failed };
}

const toEnding = ({ row, reason }: Case) => ({ uid: row.uid, reason });
const toItem = ({ row, machine, outcome, reason }: Case): Item => ({
  uid: row.uid,
  providerId: row.providerId ?? machine?.providerId ?? null,
  outcome,
  reason,
});
