import type { Policy } from "../auth/policy.ts";
import type { ProviderLimit } from "../driver/driver.ts";
import { cheapestFirst } from "../machine/server-type.ts";
import type { Candidate } from "../machine/spec.ts";
import { readCatalogue } from "./catalogue.ts";
import type { Context, RequestContext } from "./context.ts";
import type { CompleteOrder } from "./order.ts";
import { done, refused, underLimit, type Outcome, type Refusal, type TriedCandidate } from "./refusal.ts";
import { mayName } from "./rights.ts";

/** Pairs to try in order of preference, one at least. */
export type Candidates = readonly [Candidate, ...Candidate[]];

/** What became of a pair, as it is told to the caller; `reason` is the provider's own words. */
export const triedCandidate = (
  { serverType, region }: Candidate,
  outcome: TriedCandidate["outcome"],
  reason: string | null = null,
): TriedCandidate => ({ serverType, region, outcome, reason });

/** So long a pair that had no room is tried after the others. */
export const COOL_DOWN_MS = 5 * 60_000;
/** Of an architecture so many types are tried in a region. */
const TYPES_BY_ARCH = 3;

/** So many are tried in one call; the next begins with those that are not cooling down. */
export const MOST_TRIED = 8;

export const isSamePair = (a: Candidate, b: Candidate): boolean =>
  a.serverType === b.serverType && a.region === b.region;

/** The candidates in their order, those that had no room a moment ago behind the others. */
export async function coolLast({ store, now }: Context, candidates: Candidates): Promise<Candidates> {
  if (candidates.length < 2) return candidates;
  const cooling = await store.cooldowns.current(now());
  const isCooling = (one: Candidate): boolean => cooling.some((other) => isSamePair(one, other));
  const [first, ...others] = [...candidates.filter((one) => !isCooling(one)), ...candidates.filter(isCooling)];
  return [first ?? candidates[0], ...others];
}

/**
 * What a caller's preferences mean: every type in every region, types first; or of an architecture alone the types that can be
 * ordered now, cheapest first over all regions (S94).
 */
export async function candidatesOf(
  context: RequestContext,
  {
    order: { serverTypes = [], regions, arch, attachments = [] },
    principal: { policy },
  }: { readonly order: CompleteOrder; readonly principal: { readonly policy: Policy } },
): Promise<Outcome<Candidates>> {
  let pairs = serverTypes.flatMap((serverType) => regions.map((region) => ({ serverType, region })));
  if (arch !== undefined) {
    const result = await readCatalogue(context);
    if (!result.ok) return result;
    const allowed = result.value.serverTypes.filter(({ name }) => mayName(policy, name));
    // A network is in one zone, as a rule that of the first region: where that has room nobody is to be sent elsewhere.
    const isBound = attachments.some(({ kind }) => kind === "network");
    const found = (isBound ? regions.map((region) => [region]) : [regions]).flatMap((among) =>
      cheapestFirst(allowed, context.now(), { arch, regions: among, mostInRegion: TYPES_BY_ARCH }),
    );
    pairs = found.map(({ name, region }) => ({ serverType: name, region }));
  }
  const [first, ...others] = pairs;
  if (first) return done([first, ...others]);
  return refused({
    code: "capacity",
    message: `No ${arch ?? ""} server type that may be asked for can be ordered in ${regions.join(", ")} now.`,
    next: "Offer more regions, or the same later.",
    about: "offer",
    retryAfterSeconds: 60,
  });
}

/** What is said where none had room; `limit` is the first of the provider's that one of them met. */
export function noRoom(tried: readonly TriedCandidate[], limit: ProviderLimit | undefined): Refusal {
  const pairs = tried.map(
    ({ serverType, region, reason }) => `${serverType} in ${region} (${reason ?? "not tried yet"})`,
  );
  return {
    code: "capacity",
    message: `The provider has no room: ${pairs.join("; ")}.`,
    next: "Offer more server types or regions, or the same later.",
    retryAfterSeconds: 30,
    candidates: tried,
    ...(limit ? underLimit(limit, "Offer more server types or regions, or the same later") : {}),
  };
}
