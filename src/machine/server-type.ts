import type { Candidate } from "./spec.ts";
import { UNKNOWN_PRICES, type Prices } from "./money.ts";

/** A server type as a provider offers it, in its own words no longer. */
export interface ServerType {
  readonly name: string;
  /** `amd64`, `arm64`, or whatever else the provider says. */
  readonly arch: string;
  readonly cores: number;
  readonly memoryGb: number;
  /** Where it is known at all; a price alone is no offer (S87). */
  readonly regions: readonly RegionOffer[];
}

/** What is offered of a type in one region, and at which price. */
export interface RegionOffer extends Prices {
  readonly region: string;
  /** In stock, as far as the provider says; only a create really tells. */
  readonly available: boolean;
  /** Unix milliseconds from which it can no longer be ordered; null = not announced. */
  readonly unavailableAfter: number | null;
  /** It is on its way out, though it may still be ordered (S89). */
  readonly deprecated: boolean;
}

/** A type that can be ordered in a region now. */
export interface Orderable extends Pick<ServerType, "name" | "arch" | "cores" | "memoryGb">, RegionOffer {}

/** What a type costs in a region by these offers; unknown where it is not among them. */
export const pricesIn = (types: readonly ServerType[], { serverType, region }: Candidate): Prices =>
  types.find(({ name }) => name === serverType)?.regions.find((one) => one.region === region) ?? UNKNOWN_PRICES;

/** What can be ordered now: offered there, in stock, neither gone nor going (S86-S92). Nulls ask for everything. */
export function orderable(
  types: readonly ServerType[],
  now: number,
  { region, arch }: { readonly region: string | null; readonly arch: string | null },
): Orderable[] {
  return types
    .filter((type) => arch === null || type.arch === arch)
    .flatMap((type) =>
      type.regions
        .filter((offer) => region === null || offer.region === region)
        .filter(({ available, deprecated, unavailableAfter }) => {
          const isGone = unavailableAfter !== null && now >= unavailableAfter;
          return available && !deprecated && !isGone;
        })
        .map((offer) => offered(type, offer)),
    );
}

const offered = ({ name, arch, cores, memoryGb }: ServerType, offer: RegionOffer): Orderable => ({
  name,
  arch,
  cores,
  memoryGb,
  ...offer,
});

const ENOUGH_CORES = 2;

/** What an architecture may become: in which regions, in order of preference, and of each so many types at most. */
export interface ByArch {
  readonly arch: string;
  readonly regions: readonly string[];
  readonly mostInRegion: number;
}

/**
 * The types of an architecture in the order in which to try them: over all regions the cheapest with two cores or more, then the rest by
 * price (S94); of equal ones the region that comes first. A type without a known price is left out: unknown would always be the cheapest
 * (S85).
 */
export function cheapestFirst(
  types: readonly ServerType[],
  now: number,
  { arch, regions, mostInRegion }: ByArch,
): Orderable[] {
  const small = ({ cores }: Orderable): number => Number(cores < ENOUGH_CORES);
  const byPrice = (a: Orderable, b: Orderable): number =>
    small(a) - small(b) || (a.priceEurPerHour ?? 0) - (b.priceEurPerHour ?? 0);
  return regions
    .flatMap((region) =>
      orderable(types, now, { region, arch })
        .filter(({ priceEurPerHour }) => priceEurPerHour !== null)
        .sort(byPrice)
        .slice(0, mostInRegion),
    )
    .sort(byPrice);
}
