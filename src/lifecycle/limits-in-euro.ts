/** Which limit in euro a lease would pass, and how that is told. */
import { atDearest, chargesByMonth, hourMicroEur, reservedUntil, toEur, type Priced } from "../machine/money.ts";
import type { Limits } from "../store/machine-limits.ts";
import type { RequestContext } from "./context.ts";
import { beyond, limitMoney, whose, type CountedAccount } from "./limits.ts";
import type { Refused } from "./refusal.ts";

/** A machine as it is paid for: from when, and to which end of its lease; unix milliseconds. */
export interface Lease extends Priced {
  readonly since: number;
  readonly expiresAt: number;
}

/** A lease as it is to be, and as it is; null where there is none yet. */
export interface Wish {
  readonly is: Lease | null;
  readonly wanted: Lease;
}

type Asking = Pick<RequestContext, "store" | "now" | "provider" | "rules">;

/** Why a lease would cost more than its account, or all together, may spend; null where it would not. */
export async function beyondMoney(
  context: Asking,
  account: CountedAccount,
  limits: Limits,
  wish: Wish,
): Promise<Refused | null> {
  if (!limitMoney(limits)) return null;
  const dearest = await context.store.limits.dearest(context.provider);
  const known = { is: wish.is && atDearest(wish.is, dearest), wanted: atDearest(wish.wanted, dearest) };
  if (hourMicroEur(known.wanted) === null) return unpriced(context, account);
  return (await beyondHour(context, account, limits, known)) ?? beyondMonth(context, account, limits, known);
}

/** Why something whose price nobody knows is refused: unknown is never free. */
export const unpriced = (context: Pick<Asking, "store" | "now">, account: CountedAccount): Promise<Refused> =>
  beyond(context, account, {
    code: "limit_money",
    message: "What it would cost is not known, and there is a limit in euro.",
    next: "Name a server type and a region whose price is known, or repeat the call later.",
    about: "price",
    rule: "must have a known price (unknown_price)",
  });

async function beyondHour(
  context: Asking,
  account: CountedAccount,
  { microEurPerHour: limit }: Limits,
  { is, wanted }: Wish,
): Promise<Refused | null> {
  const asked = (hourMicroEur(wanted) ?? 0) - (is === null ? 0 : (hourMicroEur(is) ?? 0));
  if (limit === null || asked <= 0) return null;
  const used = await context.store.limits.perHour(account.account);
  if (used + asked <= limit) return null;
  return tell(context, account, { isOwn: true, key: "eur_per_hour", month: null, limit, used, asked });
}

async function beyondMonth(
  context: Asking,
  account: CountedAccount,
  { months }: Limits,
  { is, wanted }: Wish,
): Promise<Refused | null> {
  const now = context.now();
  const [before, after] = [is === null ? new Map<string, number>() : reservedBy(is, now), reservedBy(wanted, now)];
  for (const spent of await context.store.limits.spent(account.account, months)) {
    const { month } = spent;
    const asked = (after.get(month) ?? 0) - (before.get(month) ?? 0);
    const most = months.find((one) => one.month === month);
    if (asked <= 0 || most === undefined) continue;
    const told = { month, asked };
    if (most.account !== null && spent.account + asked > most.account)
      return tell(context, account, {
        ...told,
        isOwn: true,
        key: "eur_per_month",
        limit: most.account,
        used: spent.account,
      });
    if (most.installation !== null && spent.installation + asked > most.installation)
      return tell(context, account, {
        ...told,
        isOwn: false,
        key: "MAX_EUR_PER_MONTH",
        limit: most.installation,
        used: spent.installation,
      });
  }
  return null;
}

/** What a lease comes to at its end, month by month, micro-EUR. */
const reservedBy = (lease: Lease, now: number): Map<string, number> =>
  new Map(
    chargesByMonth(lease.since, reservedUntil(lease.expiresAt, now), lease).map(
      ({ month, serverMicroEur, ipv4MicroEur }) => [month, (serverMicroEur ?? 0) + (ipv4MicroEur ?? 0)],
    ),
  );

/** A limit that was met, micro-EUR. */
interface Met {
  /** Whether it is the account's own, or that of all together. */
  readonly isOwn: boolean;
  /** What it is called where it is set. */
  readonly key: string;
  /** Null where it is about an hour. */
  readonly month: string | null;
  readonly limit: number;
  readonly used: number;
  readonly asked: number;
}

function tell(context: Asking, of: CountedAccount, { isOwn, key, month, ...sums }: Met): Promise<Refused> {
  const { account } = of;
  const { currency } = context.rules;
  const [limit, used, asked] = [sums.limit, sums.used, sums.asked].map((sum) => toEur(sum) ?? 0);
  const span = month === null ? "an hour" : `in ${month}`;
  const reserved = month === null ? "cost" : "have cost, or will by the ends of their leases,";
  return beyond(context, of, {
    code: "limit_money",
    message: `The machines of ${whose(account, isOwn)} may cost ${limit} ${currency} ${span}, and ${reserved} ${used} ${currency}; this is ${asked} ${currency} more.`,
    next: isOwn
      ? "Destroy one of `machines`, ask for less (a shorter ttl, a cheaper type), or repeat the call when machines have ended."
      : "Ask for less, or have an admin raise the limit.",
    nextWithNone: "Ask for less (a shorter ttl, a cheaper type), or have an admin raise the limit.",
    rule: `must not cost more ${span} than ${isOwn ? "the policy allows" : "all machines together may"} (${key})`,
    figures: {
      limit: limit ?? 0,
      used: used ?? 0,
      asked: asked ?? 0,
      unit: currency,
      ...(month === null ? {} : { month }),
    },
  });
}
