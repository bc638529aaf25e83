import { mayBeProviderId } from "../machine/name.ts";
import type { MachineRequest } from "../machine/spec.ts";
import type { ServerType } from "../machine/server-type.ts";
import { invalid, valid, type Checked, type Problem } from "../machine/validation.ts";
import type { Catalogue } from "../store/catalogues.ts";
import { askCatalogue, knownCatalogue } from "./catalogue.ts";
import type { Context, Cost } from "./context.ts";
import type { CompleteOrder } from "./order.ts";
import {
  done,
  notSold,
  onDriverError,
  refusalOf,
  refused,
  type Outcome,
  type Refusal,
  type Refused,
} from "./refusal.ts";

/** What is older may have been overtaken by what the provider sells since. */
const BELIEVED_MS = 86_400_000;

const NOTHING_KNOWN: Pick<Catalogue, "serverTypes" | "fetchedAt"> = { serverTypes: [], fetchedAt: 0 };

type Knowing = Parameters<typeof knownCatalogue>[0] & Pick<Context, "now">;
type Asking = Parameters<typeof askCatalogue>[0];

type Wish = Pick<CompleteOrder, "serverTypes" | "regions" | "arch">;

/**
 * Whether a create may be begun, as far as it can be told before a row is written: what the known catalogue says that the provider
 * does not have, or does not sell there, is refused, and nothing is asked for that. What it does not know is not. Answers what the
 * catalogue says, however old it is.
 */
export const checkOffer = (context: Knowing, wish: Wish): Promise<Outcome<readonly ServerType[]>> =>
  judged(context, (types, now) => {
    const words = checkWords(types, wish, now);
    return words.ok ? checkPairs(types, wish, now) : words;
  });

/** What a create is refused for that came no further: by what has been asked since, it may name what is not sold; else for `refusal`. */
export async function refusedOffer(context: Knowing, wish: Wish, { refusal }: Refused): Promise<Refused> {
  const again = await checkOffer(context, wish);
  return again.ok ? refused(refusal) : again;
}

/** What may be spent only to say what is sold: so long each call may take, and all of it comes to so much. */
const TELLING = { maxPages: 2, timeoutMs: 2_500 };
export const COST_OF_TELLING: Cost = { fetches: 3, statements: 3 };

/**
 * What is told of a wish of which the provider says that it never sells it, in `said`: what is sold, by the catalogue, which is asked for
 * where none is believed and `mayAsk`. Null where the catalogue has it all the same: then it may be a shortage in other words.
 */
export async function whatIsSold(
  context: Asking,
  wish: Wish,
  { said, mayAsk }: { readonly said: Problem; readonly mayAsk: boolean },
): Promise<Refusal | null> {
  const now = context.now();
  const known = (await knownCatalogue(context)) ?? NOTHING_KNOWN;
  const asked = isBelieved(known, now) || !mayAsk ? known : await askedFor(context);
  if (!isBelieved(asked, now) || soldIn(asked.serverTypes, wish, now) === null || wish.regions.some(mayBeProviderId))
    return notSold(said);
  const checked = checkPairs(asked.serverTypes, wish, now);
  return checked.ok ? null : notSold(checked.problem);
}

/** Whoever was refused is not to hear of another failure. */
const askedFor = (context: Asking): Promise<typeof NOTHING_KNOWN> =>
  onDriverError<typeof NOTHING_KNOWN, typeof NOTHING_KNOWN>(
    () => askCatalogue(context, TELLING),
    () => NOTHING_KNOWN,
  );

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
  judged(context, (types, now) => checkWords(types, { regions: [region] }, now));

async function judged(
  context: Knowing,
  judge: (types: readonly ServerType[], now: number) => Checked<void>,
): Promise<Outcome<readonly ServerType[]>> {
  const now = context.now();
  const known = (await knownCatalogue(context)) ?? NOTHING_KNOWN;
  const checked = isBelieved(known, now) ? judge(known.serverTypes, now) : valid(undefined);
  return checked.ok ? done(known.serverTypes) : refused(notSold(checked.problem));
}

const isBelieved = ({ serverTypes, fetchedAt }: typeof NOTHING_KNOWN, now: number): boolean =>
  serverTypes.length > 0 && now - fetchedAt <= BELIEVED_MS;

/** Every type and every region must be one that there is; a misspelt one is told though another would do. */
function checkWords(types: readonly ServerType[], wish: Wish, now: number): Checked<void> {
  const { serverTypes = [], regions } = wish;
  const names = types.map(({ name }) => name);
  const places = sortedOnce(types.flatMap((type) => type.regions.map(({ region }) => region)));
  const type = unknownIn(serverTypes, names);
  if (type !== null) return invalid(fieldOf("server_type", serverTypes, type), `must be one of ${names.join(", ")}`);
  const region = unknownIn(regions, places);
  if (region === null) return valid(undefined);
  const sold = soldIn(types, wish, now) ?? [];
  return invalid(fieldOf("region", regions, region), `must be one of ${(sold.length > 0 ? sold : places).join(", ")}`);
}

/** One pair at least must be sold. Out of stock is no reason: only a create really tells, and stock comes back. */
function checkPairs(types: readonly ServerType[], wish: Wish, now: number): Checked<void> {
  const { serverTypes = [], regions, arch } = wish;
  const sold = soldIn(types, wish, now);
  if (sold === null || regions.some((region) => mayBeProviderId(region) || sold.includes(region)))
    return valid(undefined);
  const what = arch === undefined ? serverTypes.join(", ") : `a server type of ${arch}`;
  if (sold.length > 0) return invalid("region", `must be one where ${what} is sold: ${sold.join(", ")}`);
  return arch === undefined
    ? invalid("server_type", `must be one that is still sold: ${what} is gone everywhere`)
    : invalid("arch", `must be one of which something is sold: ${what} is nowhere`);
}

/** In which regions a wish's types are sold, in stock or not; of an architecture those that are not on their way out. Null = nobody can tell. */
function soldIn(types: readonly ServerType[], { serverTypes = [], arch }: Wish, now: number): readonly string[] | null {
  if (arch === undefined && (serverTypes.length === 0 || serverTypes.some(mayBeProviderId))) return null;
  const offers = types
    .filter((type) => (arch === undefined ? serverTypes.includes(type.name) : type.arch === arch))
    .flatMap((type) => type.regions)
    .filter(({ unavailableAfter }) => unavailableAfter === null || now < unavailableAfter)
    .filter(({ deprecated }) => arch === undefined || !deprecated);
  return sortedOnce(offers.map(({ region }) => region));
}

const sortedOnce = (words: readonly string[]): readonly string[] => [...new Set(words)].toSorted();

/** A provider may take its ids as well, which a catalogue does not tell. */
const unknownIn = (words: readonly string[], known: readonly string[]): number | null => {
  const index = words.findIndex((word) => !mayBeProviderId(word) && !known.includes(word));
  return index < 0 ? null : index;
};
const fieldOf = (field: string, words: readonly string[], index: number): string =>
  words.length === 1 ? field : `${field}.${index}`;
