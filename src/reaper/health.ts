import type { Store } from "../store/store.ts";

/** How often cron starts a sweep. */
const INTERVAL_MS = 60_000;
/** After so many without a good one somebody has to look. */
const MISSED_INTERVALS = 3;

export interface Health {
  readonly status: "green" | "red";
  /** What is wrong, in words that name no machine and no owner. */
  readonly reasons: readonly string[];
  /** Unix milliseconds: the last good sweep that cron started; null before the first. */
  readonly lastGoodSweepAt: number | null;
}

/** Whether the reaper is seen to be alive (I9), by wall time. */
export async function healthOf({ lock }: Pick<Store, "lock">, wallNow: number): Promise<Health> {
  const row = await lock.read();
  if (row === null)
    return {
      status: "red",
      reasons: ["the database has lost its lock row: apply the migrations to a new one"],
      lastGoodSweepAt: null,
    };
  const silence = wallNow - row.last_good_cron_at;
  const reasons =
    silence <= MISSED_INTERVALS * INTERVAL_MS
      ? []
      : [
          `no good sweep for ${Math.round(silence / 1000)} s`,
          ...(row.last_error === null ? [] : ["the last one failed; see GET /v1/sweeps"]),
        ];
  return {
    status: reasons.length === 0 ? "green" : "red",
    reasons,
    lastGoodSweepAt: row.last_started_at && row.last_good_cron_at,
  };
}
