import { cheapestFirst } from "../machine/server-type.ts";
import type { Candidate } from "../machine/spec.ts";
import { readCatalogue } from "./catalogue.ts";
import type { Context } from "./context.ts";
import type { Refusal, TriedCandidate } from "./refusal.ts";

export const outcomeOf = (
  { serverType, region }: Candidate,
  outcome: TriedCandidate["outcome"],
  reason: string | null = null,
): TriedCandidate => ({ serverType, region, outcome, reason });

/** So long a pair that had no room is tried after the others. */
export const COOL_DOWN_MS = 5 * 60_000;
/** Of an architecture so many types are tried in a region. */
export const TYPES_BY_ARCH = 3;

/** So many are tried in one call; the next begins with those that are not cooling down. */
export const MOST_TRIED = 8;

export const isSamePair = (a: Candidate, b: Candidate): boolean =>
  a.serverType === b.serverType && a.region === b.region;

/** The candidates in their order, those that had no room a moment ago behind the others. */
export async function coolLast({ store, now }: Context, candidates: readonly Candidate[]): Promise<Candidate[]> {
  if (candidates.length < 2) return [...candidates];
  const cooling = await store.cooldowns.current(now());
  const isCooling = (one: Candidate): boolean => cooling.some((other) => isSamePair(one, other));
  return [...candidates.filter((one) => !isCooling(one)), ...candidates.filter(isCooling)];
}

export type CandidatesResult =
  | { readonly ok: true; readonly candidates: readonly [Candidate, ...Candidate[]] }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * What a caller's preferences mean: every type in every region, types first; or of an architecture alone the types that can be
 * ordered now, cheapest first (S94), region by region.
 */
export async function candidatesOf(
  deps: Context,
  provider: string,
  asked: { serverTypes: readonly string[]; regions: readonly string[]; arch: string | null },
): Promise<CandidatesResult> {
  let pairs = asked.serverTypes.flatMap((serverType) => asked.regions.map((region) => ({ serverType, region })));
  if (asked.arch !== null) {
    const result = await readCatalogue(deps, provider);
    if (!result.ok) return result;
    const { arch } = asked;
    const types = result.catalogue.serverTypes;
    pairs = asked.regions.flatMap((region) =>
      cheapestFirst(types, deps.now(), region, arch)
        .slice(0, TYPES_BY_ARCH)
        .map(({ name }) => ({ serverType: name, region })),
    );
  }
  const [first, ...others] = pairs;
  if (first) return { ok: true, candidates: [first, ...others] };
  return {
    ok: false,
    refusal: {
      code: "capacity",
      message: `No ${asked.arch ?? ""} server type can be ordered in ${asked.regions.join(", ")} now.`,
      next: "GET /v1/server_types lists what can; offer more regions, or the same later.",
      retryAfterSeconds: 60,
    },
  };
}
