/** The last step of making a failing history smaller. */
import type { History } from "./history.ts";

export interface Smallest {
  readonly history: History;
  /** Why it fails, as it is. */
  readonly why: string;
  readonly leftOut: number;
}

/**
 * Leaves out each step without which a history fails still, from the last to the first, until none can be left out: fast-check's own way
 * ends before that, and with steps that do nothing. `whyOf` plays a history, and answers null where it keeps all promises.
 */
export async function leaveOut(
  history: History,
  why: string,
  whyOf: (one: History) => Promise<string | null>,
): Promise<Smallest> {
  let smallest: Smallest = { history, why, leftOut: 0 };
  for (let before = -1; before !== smallest.leftOut;) {
    before = smallest.leftOut;
    for (let index = smallest.history.steps.length - 1; index >= 0; index--) {
      const without = { ...smallest.history, steps: smallest.history.steps.toSpliced(index, 1) };
      const still = await whyOf(without);
      if (still !== null) smallest = { history: without, why: still, leftOut: smallest.leftOut + 1 };
    }
  }
  return smallest;
}
