/** What went out of this invocation so far; counted where it goes out. */
export interface Meter {
  fetches: number;
  statements: number;
}

export interface Share {
  readonly fetches: number;
  readonly statements: number;
}

/** Whether the invocation can still afford something. */
export interface Budget {
  /** How many machines are worth listing: more could not be judged anyway. */
  readonly listed: number;
  /** How many calls are left; none where more went out than were planned. */
  fetchesLeft(): number;
  allows(cost: Share): boolean;
}

export type Plan = "free" | "paid";

/**
 * What one sweep may spend, by the plan that the Worker runs under. Free allows 50 of each, Paid far more than a provider
 * would answer in a minute; both stay clear of the platform's own end, which comes without an error.
 */
export const PLANS: Readonly<Record<Plan, Share>> = {
  free: { fetches: 40, statements: 40 },
  paid: { fetches: 500, statements: 400 },
};
/** The same where a request has spent its part of the invocation already, and is over. */
export const AFTER_A_REQUEST: Readonly<Record<Plan, Share>> = {
  free: { fetches: 48, statements: 48 },
  paid: PLANS.paid,
};

/** A budget up to `limit`, counted from the start of the invocation. */
export const budgetOf = (meter: Meter, limit: Share): Budget => ({
  listed: limit.fetches * 10,
  fetchesLeft: () => Math.max(0, limit.fetches - meter.fetches),
  allows: ({ fetches, statements }) =>
    meter.fetches + fetches <= limit.fetches && meter.statements + statements <= limit.statements,
});
