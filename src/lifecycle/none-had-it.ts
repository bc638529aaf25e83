import type { ProviderLimit } from "../driver/driver.ts";
import type { Problem } from "../machine/validation.ts";
import type { Cooldown } from "../store/cooldowns.ts";
import { notTried, type Candidates } from "./candidates.ts";
import { COST_OF_TELLING, whatIsSold } from "./check-offer.ts";
import type { Cost, RequestContext } from "./context.ts";
import type { CompleteOrder } from "./order.ts";
import { brokenRule, underLimit, type Refusal, type TriedCandidate } from "./refusal.ts";

/** What came of a create's tries, of which none had a machine. */
export interface Tried {
  readonly order: CompleteOrder;
  readonly candidates: Candidates;
  readonly cooling: readonly Cooldown[];
  readonly tried: readonly TriedCandidate[];
  /** The provider's limits that they met. */
  readonly limits: readonly ProviderLimit[];
  /** What it says would have to be another, of those that it refused for good. */
  readonly problems: readonly Problem[];
  /** An earlier call's try may have made the machine: nobody is to be told that there will be none. */
  readonly isResumed: boolean;
  /** Whether there was time for one more. */
  readonly hadTime: boolean;
}

/**
 * What is said where none of a create's candidates came to a machine: where all were refused for good, what would have to be another, else
 * that there is no room. An image that is too large for a type is the image's fault, whatever is sold.
 */
export async function noneHadIt(context: RequestContext, one: Tried): Promise<Refusal> {
  const { order, candidates, cooling, tried, limits, problems, isResumed, hadTime } = one;
  const why = hadTime ? "so many are not tried in one call" : "there was no time left for it in this call";
  const told = [...tried, ...notTried(candidates, tried, { cooling, now: context.now(), why })];
  const said = problems.find(({ field }) => field === "image") ?? problems[0];
  if (said === undefined || isResumed || problems.length < candidates.length) return noRoom(told, limits[0]);
  // What the row's end and what was made with it still take is not to be spent on words.
  const mayAsk = hadTime && context.affords(twice(COST_OF_TELLING));
  const refusal = said.field === "image" ? brokenRule(said) : await whatIsSold(context, order, { said, mayAsk });
  return refusal === null ? noRoom(told, limits[0]) : { ...refusal, candidates: told };
}

const twice = ({ fetches, statements }: Cost): Cost => ({ fetches: 2 * fetches, statements: 2 * statements });

function noRoom(tried: readonly TriedCandidate[], limit: ProviderLimit | undefined): Refusal {
  const pairs = tried.map(({ serverType, region, reason }) => `${serverType} in ${region} (${reason ?? "not tried"})`);
  return {
    code: "capacity",
    message: `The provider has no room: ${pairs.join("; ")}.`,
    next: "Offer more server types or regions, or the same later.",
    retryAfterSeconds: 30,
    candidates: tried,
    ...(limit ? underLimit(limit, "Offer more server types or regions, or the same later") : {}),
  };
}
