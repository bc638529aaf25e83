/** How long a create may try. */
import type { RequestContext } from "./context.ts";

/** All tries of one create together take so long at most: a Worker whose caller hangs up is left thirty seconds. */
const MOST_MS = 20_000;
/** With less left none is begun: a create that is cut off may have been made all the same. */
export const LEAST_TRY_MS = 5_000;

/** What a create's tries have left. */
export interface TimeOfTries {
  /** In milliseconds; below zero once it is over. */
  readonly leftMs: () => number;
  /** Whether one more may be begun. */
  readonly isEnough: () => boolean;
}

/** Counts from now, by the clock on the wall: in a sweep `now` stands still. */
export function timeOfTries({ wallNow }: Pick<RequestContext, "wallNow">): TimeOfTries {
  const end = wallNow() + MOST_MS;
  const leftMs = (): number => Math.min(MOST_MS, end - wallNow());
  return { leftMs, isEnough: () => leftMs() >= LEAST_TRY_MS };
}
