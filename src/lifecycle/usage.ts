import { monthNamed } from "../machine/money.ts";
import { usageOf, type Usage, type UsagePart } from "../machine/usage.ts";
import type { Context } from "./context.ts";
import { breaksRule, done, type Outcome } from "./refusal.ts";

/** So many rows can be counted in one call; beyond that there are more live machines than a call can look at. */
const MOST_ROWS = 5000;

/** Whose machines, and of which month: as `2026-11`. Null = everybody's. */
export interface AskedUsage {
  readonly month: string;
  readonly account: string | null;
  readonly owner: string | null;
  readonly part: UsagePart;
}

/** What machines have cost in a month by now. Refused where there are more live ones than can be counted in one call. */
export async function readUsage(
  { store, now }: Pick<Context, "store" | "now">,
  asked: AskedUsage,
): Promise<Outcome<Usage>> {
  const { booked, rows } = await store.ledger.ofMonth({ ...asked, ends: monthNamed(asked.month).ends }, MOST_ROWS + 1);
  if (rows.length <= MOST_ROWS) return done(usageOf({ ...asked, now: now() }, booked, rows));
  const field = asked.account === null ? "account" : "owner";
  return breaksRule({ field, rule: `must be said: there are more than ${MOST_ROWS} machines to be counted` });
}
