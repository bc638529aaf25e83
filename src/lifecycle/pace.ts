/**
 * How often an account's calls may need the provider. Over the rate whoever reads, renews or ends something does without it, and all else
 * is refused.
 */
import type { Principal } from "../auth/principal.ts";
import type { RequestContext } from "./context.ts";
import { done, onDriverError, refusalOf, refused, type Outcome, type Refusal } from "./refusal.ts";

/** Counts one more under a key, and tells whether that is within the rate. */
export type Brake = (key: string) => Promise<boolean>;

/**
 * What paces one call of whoever is calling. Looks are counted by themselves: whoever watches many machines is not to be kept from making
 * one.
 */
export function paceOf(brake: Brake, { account, policy }: Principal): Pick<RequestContext, "withinRate" | "mayLook"> {
  let counted: Promise<boolean> | undefined;
  let looked: Promise<boolean> | undefined;
  return {
    withinRate: async () => ((await (counted ??= brake(account))) ? done(undefined) : refused(tooMany(policy.name))),
    mayLook: () => (looked ??= brake(`look ${account}`)),
  };
}

/**
 * Whether a call that makes something may ask the provider: within its account's rate, and above the reserve of the provider's. Asked before
 * anything is written down, so that one that is refused costs nothing.
 */
export async function mayAsk({
  withinRate,
  capabilities,
}: Pick<RequestContext, "withinRate" | "capabilities">): Promise<Outcome<void>> {
  const paced = await withinRate();
  if (!paced.ok) return paced;
  return onDriverError<Outcome<void>, Outcome<void>>(
    async () => done(capabilities.checkHeadroom?.()),
    // It was not sent.
    (error) => refused({ ...refusalOf(error), madeNothing: true }),
  );
}

/** The longest that a rate counts back. */
const PERIOD_SECONDS = 60;

const tooMany = (policy: string): Refusal => ({
  code: "limit_rate",
  message: "This account's calls have needed the provider too often in the last minute. This one changed nothing.",
  rule: "must leave time between calls of an account that need the provider",
  next: "Repeat the same call in a minute. Reads, renewals, and whatever ends machines, are answered all along.",
  retryAfterSeconds: PERIOD_SECONDS,
  policy,
});
