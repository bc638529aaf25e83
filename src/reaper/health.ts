import { PASS_EVERY_MS } from "./inventory.ts";
import { LONGEST_BACK_OFF_MS } from "../lifecycle/back-off.ts";
import type { SweepMemory } from "../store/lock.ts";
import type { Store } from "../store/store.ts";
import type { Plan } from "./budget.ts";

/** How often cron starts a sweep. */
const INTERVAL_MS = 60_000;
/** After so many without a good one somebody has to look. */
const MISSED_INTERVALS = 3;
/** A machine so long past its end, and not kept for a later one on its label, is one that the sweeps do not get destroyed. */
const OVERDUE_MS = 1_800_000;
/** A label so long behind its lease is one that the sweeps do not get written. */
const BEHIND_MS = 15 * 60_000;

/** What a database may hold, by the Workers plan (D1's limits). */
const MOST_BYTES: Readonly<Record<Plan, number>> = { free: 500e6, paid: 10_000e6 };
const NEARLY_FULL = 0.95;

export interface Health {
  readonly status: "green" | "red";
  /** What is wrong, in words that name no machine and no owner. */
  readonly reasons: readonly string[];
  /** Unix milliseconds: the last good sweep that cron started; null before the first. */
  readonly lastGoodSweepAt: number | null;
}

type LockRow = Awaited<ReturnType<Store["lock"]["read"]>>;

/** Whether the reaper is seen to be alive (I9), by wall time, and whether its work is seen to be done. */
export async function healthOf({ lock, work }: Pick<Store, "lock" | "work">, wallNow: number): Promise<Health> {
  const row = await lock.read();
  const reasons = [...reasonsOf(row, wallNow)];
  if (reasons.length === 0 && row !== null) reasons.push(...overdueOf(row.memory, wallNow));
  if (row?.memory.reconcile.doubts.inventory_untrusted)
    reasons.push("the provider lacks more machines at once than can be believed; see GET /v1/sweeps");
  if (row?.memory.reconcile.doubts.other_credential)
    reasons.push("the provider does not show what was made under another token of it; see GET /v1/sweeps");
  const overdue = await work.countOverdue(wallNow - OVERDUE_MS, wallNow + LONGEST_BACK_OFF_MS);
  if (overdue > 0)
    reasons.push(
      `${overdue} ${overdue === 1 ? "machine is" : "machines are"} more than 30 min past the end; see GET /v1/sweeps`,
    );
  const behind = await work.countBehind(wallNow - BEHIND_MS);
  if (behind > 0)
    reasons.push(
      `${behind} ${behind === 1 ? "machine's label does" : "machines' labels do"} not tell the lease's end for more than 15 min; see GET /v1/sweeps`,
    );
  return {
    status: reasons.length === 0 ? "green" : "red",
    reasons,
    // Before the first, the heartbeat is the time of the migrations, so that silence is noticed from there on.
    lastGoodSweepAt: row !== null && row.last_good_cron_at >= row.memory.firstSweepAt ? row.last_good_cron_at : null,
  };
}

/** What sweeps do not get to, whatever keeps them from it. */
function* overdueOf({ settledAt, inventoriedAt, firstSweepAt }: SweepMemory, wallNow: number): Iterable<string> {
  const isOverdue = (at: number, intervalMs: number) =>
    wallNow - Math.max(at, firstSweepAt) > MISSED_INTERVALS * intervalMs;
  if (isOverdue(settledAt, INTERVAL_MS)) yield "creates and destroys under way are not followed; see GET /v1/sweeps";
  if (isOverdue(inventoriedAt, PASS_EVERY_MS)) yield "the inventory is not read; see GET /v1/sweeps";
}

/** Whether the database will soon take nothing more; `bytes` is what it holds. */
export function* fullnessOf(bytes: number, plan: Plan): Iterable<string> {
  const most = MOST_BYTES[plan];
  if (bytes > NEARLY_FULL * most)
    yield `the database holds ${Math.floor(bytes / 1e6)} of its ${most / 1e6} MB, and nothing is created once it is full: shorten KEEP_HISTORY, or take a plan with more room`;
}

/** Why sweeps are not seen to run at all, whatever they achieve; empty where they are. */
export const silenceOf = async ({ lock }: Pick<Store, "lock">, wallNow: number): Promise<readonly string[]> =>
  reasonsOf(await lock.read(), wallNow);

function reasonsOf(row: LockRow, wallNow: number): readonly string[] {
  if (row === null) return ["the database has lost its lock row, which the next sweep makes anew"];
  const silence = wallNow - row.last_good_cron_at;
  if (silence <= MISSED_INTERVALS * INTERVAL_MS) return [];
  return [
    `no good sweep for ${Math.round(silence / 1000)} s`,
    ...(row.last_error === null ? [] : ["the last one failed; see GET /v1/sweeps"]),
  ];
}
