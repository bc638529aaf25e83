import { atMostFive } from "../lifecycle/at-most-five.ts";
import { sum, type Share } from "./budget.ts";
import type { Pace, StopReason } from "./pace.ts";

/** What is done with each of a batch. */
export interface PacedSteps<T, R> {
  /** What one may cost until it is told. Null where that is nothing: it need not be asked for. */
  readonly costOf: (one: T) => Share | null;
  /** What has to be left for what comes after all of them. */
  readonly rest: () => Share;
  readonly act: (one: T) => Promise<R>;
  /** What is told of one that may not be begun. */
  readonly stopped: (one: T, reason: StopReason) => R;
  /** Told what came of each, in order and one at a time. */
  readonly tell: (one: T, came: R) => void | Promise<void>;
}

/**
 * Works on a batch, at most five at once and as far as the pace allows. Each is paid for before it begins, in order: what those under way
 * may still cost counts as spent. One that does not fit beside them waits until they are told, and so no fewer are begun than one after
 * the other would be.
 */
export async function inPace<T, R>(pace: Pace, all: readonly T[], steps: PacedSteps<T, R>): Promise<void> {
  let reserved = NOTHING;
  await atMostFive(all, {
    async begin(one) {
      const cost = steps.costOf(one);
      if (cost === null) return async () => ({ cost: NOTHING, came: await steps.act(one) });
      const beside = reserved;
      const stop = await pace.stop(sum(sum(beside, cost), steps.rest()));
      if (stop === "budget" && !isNothing(beside)) return "later";
      if (stop !== null) return async () => ({ cost: NOTHING, came: steps.stopped(one, stop) });
      reserved = sum(reserved, cost);
      return async () => ({ cost, came: await steps.act(one) });
    },
    async tell(one, { cost, came }) {
      try {
        await steps.tell(one, came);
      } finally {
        reserved = sum(reserved, { fetches: -cost.fetches, statements: -cost.statements });
      }
    },
  });
}

const NOTHING: Share = { fetches: 0, statements: 0 };
const isNothing = ({ fetches, statements }: Share): boolean => fetches === 0 && statements === 0;
