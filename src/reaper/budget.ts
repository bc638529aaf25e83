/** What went out of this invocation so far, and what came of it; counted where it does. */
export interface Meter {
  fetches: number;
  statements: number;
  /** Machines and server types in lists that the provider has answered with: what lies beside them is small. */
  entries: number;
}

export interface Share {
  readonly fetches: number;
  readonly statements: number;
  readonly entries?: number;
}

export interface Limit extends Share {
  /** Microseconds of CPU by {@link COST_US}; as much as it takes where it is not said. */
  readonly cpuUs?: number;
}

/** Whether the invocation can still afford something. */
export interface Budget {
  /** How many machines are worth listing: more could not be judged anyway. */
  readonly listed: number;
  /** Whether CPU is what there is least of. */
  readonly isTight: boolean;
  /** How many calls are left; none where more went out than were planned. */
  fetchesLeft(): number;
  allows(cost: Share): boolean;
  /** How many of these it affords beside that, `most` at most. */
  room(each: Share, beside: Share, most: number): number;
}

export type Plan = "free" | "paid";

/**
 * What each costs in CPU, with what is done about it, in an isolate that has run once: as measured, in microseconds. A Worker cannot look: its clock
 * stands still while it works. How, and why these: docs/decisions/cpu-of-a-sweep.md.
 */
const COST_US = { fetches: 130, statements: 50, entries: 25 };

/** What that costs, in microseconds. */
export const cpuOf = ({ fetches, statements, entries = 0 }: Share): number =>
  fetches * COST_US.fetches + statements * COST_US.statements + entries * COST_US.entries;

/**
 * What one sweep may spend, by the plan that the Worker runs under. Free allows 50 of each and 10 ms of CPU, of which a sweep takes some
 * before it does anything; Paid allows far more than a provider would answer in a minute. All stay clear of the platform's own end, which comes
 * without an error.
 */
export const PLANS: Readonly<Record<Plan, Limit>> = {
  free: { fetches: 40, statements: 40, cpuUs: 7_500 },
  paid: { fetches: 500, statements: 400 },
};
/** The same where a request has spent its part of the invocation already, and is over. */
export const AFTER_A_REQUEST: Readonly<Record<Plan, Limit>> = {
  free: { fetches: 48, statements: 48 },
  paid: PLANS.paid,
};

/** A budget up to `limit`, counted from the start of the invocation. */
export function budgetOf(meter: Meter, limit: Limit): Budget {
  const { cpuUs: mostUs = Infinity } = limit;
  const allows = ({ fetches, statements, entries = 0 }: Share): boolean =>
    meter.fetches + fetches <= limit.fetches &&
    meter.statements + statements <= limit.statements &&
    cpuOf(meter) + cpuOf({ fetches, statements, entries }) <= mostUs;
  return {
    listed: limit.fetches * 10,
    isTight: mostUs !== Infinity,
    fetchesLeft: () => Math.max(0, limit.fetches - meter.fetches),
    allows,
    room(each, beside, most) {
      let count = 0;
      while (count < most && allows(sum(beside, times(each, count + 1)))) count += 1;
      return count;
    },
  };
}

export const sum = (a: Share, b: Share): Share => ({
  fetches: a.fetches + b.fetches,
  statements: a.statements + b.statements,
  entries: (a.entries ?? 0) + (b.entries ?? 0),
});
const times = ({ fetches, statements, entries = 0 }: Share, count: number): Share => ({
  fetches: fetches * count,
  statements: statements * count,
  entries: entries * count,
});
