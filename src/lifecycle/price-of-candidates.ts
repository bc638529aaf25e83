import { dearest, hourMicroEur, ratesOf, type Priced } from "../machine/money.ts";
import { pricesIn, type ServerType } from "../machine/server-type.ts";
import type { Catalogue } from "../store/catalogues.ts";
import type { Candidates } from "./candidates.ts";
import { readCatalogue } from "./catalogue.ts";
import type { RequestContext } from "./context.ts";

/**
 * What a machine costs at most, whichever of its candidates it becomes, by the known catalogue; null where that does not tell. Where it
 * `mustBeKnown` the provider is asked for its catalogue first; one that does not answer leaves it unknown.
 */
export async function priceOfCandidates(
  context: RequestContext,
  candidates: Candidates,
  { offers, hasIpv4, mustBeKnown }: Known,
): Promise<Priced> {
  const priceBy = (types: readonly ServerType[]): Priced => ({
    ...dearest(candidates.map((one) => ratesOf(pricesIn(types, one)))),
    hasIpv4,
  });
  const known = priceBy(offers);
  if (!mustBeKnown || hourMicroEur(known) !== null) return known;
  const asked = await readCatalogue(context, hasPrices);
  return asked.ok ? priceBy(asked.value.serverTypes) : known;
}

/** One without any price was read under a CURRENCY that is not the project's, which may be right by now. */
const hasPrices = ({ serverTypes }: Catalogue): boolean =>
  serverTypes.some(({ regions }) => regions.some(({ priceEurPerHour }) => priceEurPerHour !== null));

interface Known {
  /** What the provider sells, as far as was known. */
  readonly offers: readonly ServerType[];
  /** Whether it is to have a public IPv4 address. */
  readonly hasIpv4: boolean;
  readonly mustBeKnown: boolean;
}
