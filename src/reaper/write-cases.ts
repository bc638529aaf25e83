import { backOffMs } from "../lifecycle/back-off.ts";
import { learnEnds } from "../lifecycle/renew.ts";
import { isComplete } from "../machine/attachment.ts";
import { isDoomed, type Case, type Queue } from "./case.ts";
import type { PhaseContext } from "./context.ts";

/** Writes down what became of a batch, in as many statements as there are kinds of outcome. */
export async function writeCases({ store, now }: PhaseContext, queue: Queue, cases: readonly Case[]): Promise<void> {
  const at = now();
  const alive = cases.flatMap((one) => (isAlive(one) && one.machine ? [{ ...one, machine: one.machine }] : []));
  await store.machines.observe(
    alive.map(({ row, machine }) => ({ uid: row.uid, machine, isComplete: isComplete(row, machine) })),
    at,
  );
  await learnEnds(store, alive);
  await store.endings.close(cases.filter(({ act }) => act === "close" || act === "disown").map(toEnding), at);
  await store.endings.markAccepted(
    cases.filter(isDoomed).map(({ row, machine }) => ({ uid: row.uid, providerId: machine.providerId })),
    at,
  );
  await store.work.postpone(
    cases.filter((one) => isWaiting(one) && !isAlive(one)).map((one) => toTry(queue, one, at)),
    at,
  );
}

const isAlive = ({ reason }: Case): boolean => reason === "live" || reason === "label";
const isWaiting = ({ act, outcome }: Case): boolean => (act === "keep" || act === "wait") && outcome !== "remaining";

function toEnding({ row, act, why }: Case) {
  const hasNeverBeen = why === "never_seen" && row.phase === "requested";
  const phase = act === "disown" ? ("disowned" as const) : hasNeverBeen ? ("failed" as const) : ("destroyed" as const);
  return { uid: row.uid, reason: why, phase };
}

/**
 * What is past its end and could not be ended is tried less and less often. Before its end, work on a row never puts its end off; and
 * what merely was not seen yet is looked for at each tick.
 */
function toTry(
  { name }: Queue,
  { row, outcome, reason, detail, isMissing, isClaimed, isUndeleted }: Case,
  now: number,
) {
  const isFailed = outcome !== "kept";
  const isDue = name === "expire" || isClaimed || isUndeleted;
  // A deletion that was agreed to failed then, however long ago that is.
  const failedAt = isUndeleted ? (row.deleteAcceptedAt ?? now) : now;
  const later = failedAt + backOffMs(isDue && reason !== "unreadable" ? row.attempts : 0);
  const isSoon = reason === "not_seen" || (!isDue && (!isFailed || reason === "held"));
  return {
    uid: row.uid,
    // A claim ends the lease.
    expiresAt: isClaimed ? Math.min(row.expiresAt, now) : row.expiresAt,
    error: isFailed ? (detail ?? reason) : null,
    nextTryAt: isSoon ? now : isDue ? later : Math.min(later, Math.max(now, row.expiresAt)),
    failed: isFailed && isDue,
    missing: isMissing,
    mismatched: reason === "identity_mismatch",
    notDeleted: isUndeleted,
  };
}
