/** What the accounts of a history may have and spend: so little that it is met now and then, and so much that most calls pass. */

/** Of all accounts together. */
export const OF_ALL = { machines: 3, eurPerMonth: 0.09 } as const;

/** Of each account under a policy, as its entry says. An hour of a machine costs 0.011 to 0.017 EUR. */
export const OF_POLICY = {
  narrow: { machines: 1, eur_per_month: 0.04 },
  ci: { eur_per_hour: 0.03, eur_per_month: 0.05 },
} as const;

/** Micro-EUR; null = no limit of its own. */
export interface AccountLimits {
  readonly account: string;
  readonly machines: number | null;
  readonly perHour: number | null;
  readonly perMonth: number | null;
}

const micro = (eur: number): number => Math.round(eur * 1_000_000);

export const MOST_OF_ALL = { machines: OF_ALL.machines, perMonth: micro(OF_ALL.eurPerMonth) };

/** By owner. The admin, who acts for one of them, is bound by what all may have alone; what a policy does not say, the settings do. */
const LIMITS: Readonly<Record<string, AccountLimits>> = {
  "tok.ann": { account: "tok.ann", machines: null, perHour: null, perMonth: null },
  "tok.bob": {
    account: "pol.narrow",
    machines: OF_POLICY.narrow.machines,
    perHour: null,
    perMonth: micro(OF_POLICY.narrow.eur_per_month),
  },
  "gh.74.9001": {
    account: "gh.74",
    machines: OF_ALL.machines,
    perHour: micro(OF_POLICY.ci.eur_per_hour),
    perMonth: micro(OF_POLICY.ci.eur_per_month),
  },
};

export function limitsOfOwner(owner: string): AccountLimits {
  const limits = LIMITS[owner];
  if (limits === undefined) throw new Error(`no limits are known of ${owner}`);
  return limits;
}
