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
  allows(cost: Share): boolean;
}

/**
 * What one tick may spend, by the plan that the Worker runs under. Free allows 50 of each, Paid far more than a provider
 * would answer in a minute; both stay clear of the platform's own end, which comes without an error.
 */
export const PLANS: Readonly<Record<"free" | "paid" | "small", Share>> = {
  free: { fetches: 40, statements: 40 },
  // Beside a create that has calls of its own to make.
  small: { fetches: 20, statements: 36 },
  paid: { fetches: 500, statements: 400 },
};

/** A budget up to `limit`, counted from the start of the invocation. */
export const budgetOf = (meter: Meter, limit: Share): Budget => ({
  listed: limit.fetches * 10,
  allows: ({ fetches, statements }) =>
    meter.fetches + fetches <= limit.fetches && meter.statements + statements <= limit.statements,
});
