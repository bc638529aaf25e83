import { budgetOf, type Limit, type Meter, type Share } from "./budget.ts";

/** Why a phase had to leave something to the next sweep. `refused`: the provider refuses whatever is asked of it. */
export type StopReason = "budget" | "time" | "lock_lost" | "refused" | "rate_limit";

/** How far a phase may go: its budget, its time, the lock, and what the provider refuses to everybody. */
export interface Pace {
  /** How many machines are worth listing: more could not be judged anyway. */
  readonly listed: number;
  /** Whether CPU is what there is least of. */
  readonly isTight: boolean;
  /**
   * How many pages a list may have now: half of the calls that are left, so that what it shows can be dealt with too. A list is never
   * so long by far, unless its provider is sick or the budget is about to end; one that is cut off proves nothing by what it lacks.
   */
  readonly pages: number;
  /** Whether a list that takes long may go on to its next page. */
  readonly mayList: () => boolean;
  /** How many of these the budget affords beside that, `most` at most. */
  room(each: Share, beside: Share, most: number): number;
  /** Whether the budget has room for that. */
  affords(cost: Share): boolean;
  /** Why nothing that costs so much may be begun any more; null while it may. Holds on to the lock. */
  stop(cost: Share): Promise<StopReason | null>;
  /** Notes that something which no item names is left to the next sweep. The first word stays. */
  leave(reason: StopReason): void;
  /** Whether something that costs so much, and that no item names, is left to the next sweep; then that is noted. Holds on to the lock. */
  leaves(cost: Share): Promise<boolean>;
  /** What was noted so; null where nothing was. */
  readonly left: StopReason | null;
  /** The provider refuses whatever comes: nothing more is begun. The first sentence stays. */
  refuse(failure: string): void;
  /** What the provider refused to everybody; null while it did not. */
  readonly refusal: string | null;
}

/** How long a phase may take. */
export interface Time {
  /** Whether anything may be begun. */
  isLeft(): boolean;
  /** Whether a list may go on: what it has shown is to be dealt with too. */
  isLeftToList(): boolean;
}

/** `holdLock` renews the lock when it must be, and answers false once another sweep has it. */
export function createPace(meter: Meter, limit: Limit, holdLock: () => Promise<boolean>, time: Time): Pace {
  const budget = budgetOf(meter, limit);
  let refusal: string | null = null;
  let left: StopReason | null = null;
  async function stop(cost: Share): Promise<StopReason | null> {
    if (refusal !== null) return "refused";
    if (!budget.allows(cost)) return "budget";
    if (!(await holdLock())) return "lock_lost";
    return time.isLeft() ? null : "time";
  }
  return {
    listed: budget.listed,
    isTight: budget.isTight,
    get pages() {
      return Math.max(1, Math.floor(budget.fetchesLeft() / 2));
    },
    mayList: () => time.isLeftToList(),
    room: (each, beside, most) => budget.room(each, beside, most),
    affords: (cost) => budget.allows(cost),
    stop,
    leave(reason) {
      left ??= reason;
    },
    async leaves(cost) {
      const reason = await stop(cost);
      left ??= reason;
      return reason !== null;
    },
    get left() {
      return left;
    },
    refuse(failure) {
      refusal ??= failure;
    },
    get refusal() {
      return refusal;
    },
  };
}
