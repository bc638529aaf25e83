import type { Policy } from "../auth/policy.ts";
import { cheapestFirst } from "../machine/server-type.ts";
import type { Candidate } from "../machine/spec.ts";
import type { Cooldown } from "../store/cooldowns.ts";
import { readCatalogue } from "./catalogue.ts";
import type { Context, RequestContext } from "./context.ts";
import type { CompleteOrder } from "./order.ts";
import { done, refused, type Outcome, type TriedCandidate } from "./refusal.ts";
import { mayName, noTypeOf } from "./rights.ts";

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

/** Candidates in the order in which they are tried, and those of all pairs that are cooling down. */
export interface InOrder {
  readonly inOrder: Candidates;
  readonly cooling: readonly Cooldown[];
}

/** The candidates in their order, those that were not to be had a moment ago behind the others. */
export async function coolLast({ store, now }: Context, candidates: Candidates): Promise<InOrder> {
  if (candidates.length < 2) return { inOrder: candidates, cooling: [] };
  const cooling = await store.cooldowns.current(now());
  const isCooling = (one: Candidate): boolean => cooling.some((other) => isSamePair(one, other));
  const [first, ...others] = [...candidates.filter((one) => !isCooling(one)), ...candidates.filter(isCooling)];
  return { inOrder: [first ?? candidates[0], ...others], cooling };
}

/** The candidates that were not tried, and of each why: that it is cooling down, or else `why`. */
export function notTried(
  candidates: Candidates,
  tried: readonly Candidate[],
  { cooling, now, why }: { readonly cooling: readonly Cooldown[]; readonly now: number; readonly why: string | null },
): readonly TriedCandidate[] {
  const reasonOf = (one: Candidate): string | null => {
    const cool = cooling.find((other) => isSamePair(one, other));
    if (cool === undefined) return why;
    const agoMs = now - (cool.until - COOL_DOWN_MS);
    return `was not to be had ${Math.max(0, Math.round(agoMs / 1000))} s ago, and is tried after the others`;
  };
  return candidates
    .filter((one) => !tried.some((other) => isSamePair(one, other)))
    .map((one) => triedCandidate(one, "not_tried", reasonOf(one)));
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
    const ofArch = result.value.serverTypes.filter((type) => type.arch === arch);
    if (ofArch.length > 0 && !ofArch.some(({ name }) => mayName(policy, name))) return noTypeOf(policy);
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
