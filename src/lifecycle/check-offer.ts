import type { MachineRequest } from "../machine/spec.ts";
import type { ServerType } from "../machine/server-type.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";
import type { Catalogue } from "../store/catalogues.ts";
import { knownCatalogue } from "./catalogue.ts";
import type { Context } from "./context.ts";
import type { CompleteOrder } from "./order.ts";
import { breaksRule, done, onDriverError, refusalOf, refused, type Outcome } from "./refusal.ts";

/** What is older may have been overtaken by what the provider sells since. */
const BELIEVED_MS = 86_400_000;

const NOTHING_KNOWN: Pick<Catalogue, "serverTypes" | "fetchedAt"> = { serverTypes: [], fetchedAt: 0 };

type Knowing = Parameters<typeof knownCatalogue>[0] & Pick<Context, "now">;

type Wish = Pick<CompleteOrder, "serverTypes" | "regions">;

/**
 * Whether a create may be begun, as far as it can be told before a row is written: what the known catalogue says that the provider
 * does not have, or does not sell there, is refused, and nothing is asked for that. What it does not know is not. Answers what the
 * catalogue says, however old it is.
 */
export const checkOffer = (context: Knowing, wish: Wish): Promise<Outcome<readonly ServerType[]>> =>
  judged(context, (types, now) => {
    const words = checkWords(types, wish);
    return words.ok ? checkPairs(types, wish, now) : words;
  });

/**
 * Whether an image that a caller names may be booted: a snapshot or a backup is somebody's disk, unless an admin has set it apart. One
 * call where it is an id, none for a name; a selector finds only what is set apart.
 */
export async function checkImage(
  { capabilities }: Pick<Context, "capabilities">,
  { image, isImageSelector }: Pick<MachineRequest, "image" | "isImageSelector">,
): Promise<Outcome<void>> {
  if (isImageSelector) return done(undefined);
  return onDriverError(
    async () => done(await capabilities.checkImage?.(image)),
    (error) => refused(refusalOf(error)),
  );
}

/** What the catalogue says of a region alone, which something beside machines is to be in. */
export const checkRegion = (context: Knowing, region: string): Promise<Outcome<unknown>> =>
  judged(context, (types) => checkWords(types, { regions: [region] }));

async function judged(
  context: Knowing,
  judge: (types: readonly ServerType[], now: number) => Checked<void>,
): Promise<Outcome<readonly ServerType[]>> {
  const now = context.now();
  const { serverTypes: types, fetchedAt } = (await knownCatalogue(context)) ?? NOTHING_KNOWN;
  const isBelieved = types.length > 0 && now - fetchedAt <= BELIEVED_MS;
  const checked = isBelieved ? judge(types, now) : valid(undefined);
  return checked.ok ? done(types) : breaksRule(checked.problem);
}

/** Every type and every region must be one that there is; a misspelt one is told though another would do. */
function checkWords(types: readonly ServerType[], { serverTypes = [], regions }: Wish): Checked<void> {
  const names = types.map(({ name }) => name);
  const places = [...new Set(types.flatMap((type) => type.regions.map(({ region }) => region)))].toSorted();
  const type = unknownIn(serverTypes, names);
  if (type !== null) return invalid(fieldOf("server_type", serverTypes, type), `must be one of ${names.join(", ")}`);
  const region = unknownIn(regions, places);
  if (region !== null) return invalid(fieldOf("region", regions, region), `must be one of ${places.join(", ")}`);
  return valid(undefined);
}

/** One pair at least must be sold. Out of stock is no reason: only a create really tells, and stock comes back. */
function checkPairs(types: readonly ServerType[], { serverTypes = [], regions }: Wish, now: number): Checked<void> {
  if ([...serverTypes, ...regions].some(isNumber) || serverTypes.length === 0) return valid(undefined);
  const sold = types
    .filter(({ name }) => serverTypes.includes(name))
    .flatMap((type) => type.regions)
    .filter(({ unavailableAfter }) => unavailableAfter === null || now < unavailableAfter)
    .map(({ region }) => region);
  if (regions.some((region) => sold.includes(region))) return valid(undefined);
  const where = [...new Set(sold)].toSorted();
  const what = serverTypes.join(", ");
  return where.length > 0
    ? invalid("region", `must be one where ${what} is sold: ${where.join(", ")}`)
    : invalid("server_type", `must be one that is still sold: ${what} is gone everywhere`);
}

/** A provider may take its numbers as well, which a catalogue does not tell. */
const isNumber = (word: string): boolean => /^\d+$/.test(word);

const unknownIn = (words: readonly string[], known: readonly string[]): number | null => {
  const index = words.findIndex((word) => !isNumber(word) && !known.includes(word));
  return index < 0 ? null : index;
};
const fieldOf = (field: string, words: readonly string[], index: number): string =>
  words.length === 1 ? field : `${field}.${index}`;
