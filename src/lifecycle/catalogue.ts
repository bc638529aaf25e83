import type { PageOptions } from "../driver/capabilities.ts";
import type { Prices } from "../machine/money.ts";
import { pricesIn } from "../machine/server-type.ts";
import type { Catalogue } from "../store/catalogues.ts";
import type { Context, RequestContext } from "./context.ts";
import { done, onDriverError, refusalOf, refused, type Outcome } from "./refusal.ts";
import { whenFull } from "./when-full.ts";

/** Stock changes within hours; what is older is asked for again. */
const FRESH_MS = 10 * 60_000;

type Asking = Pick<Context, "store" | "capabilities" | "provider" | "credential" | "now">;

/**
 * What the provider last said that it offers; null where it never did. From then on it need not be asked in which currency the project
 * pays, which is what its prices are in.
 */
export async function knownCatalogue({
  store,
  capabilities,
  provider,
  credential,
}: Omit<Asking, "now">): Promise<Catalogue | null> {
  const known = await store.catalogues.read(provider);
  const currency = known?.currency ?? null;
  if (currency !== null && known?.credential === (await credential())) capabilities.recallCurrency?.(currency);
  return known;
}

/** Whether nobody needs to ask again yet. A time that lies far ahead is a clock's mistake. */
export const isFresh = (known: Catalogue | null, now: number): known is Catalogue =>
  known !== null && Math.abs(now - known.fetchedAt) < FRESH_MS;

/** A provider that sells more than a few hundred types has lost its way. */
const MOST_PAGES = 10;

/** Asks the provider what it offers, and keeps that. Provider failures surface. */
export async function askCatalogue(
  { store, capabilities, provider, credential, now }: Asking,
  pages: PageOptions = {},
): Promise<Catalogue> {
  const fetchedAt = now();
  const serverTypes = (await capabilities.serverTypes?.({ maxPages: MOST_PAGES, ...pages })) ?? [];
  const currency = capabilities.currency?.() ?? null;
  const catalogue = { serverTypes, fetchedAt, currency, credential: await credential() };
  // What cannot be kept is told all the same.
  await whenFull(
    () => store.catalogues.write(provider, catalogue),
    () => {},
  );
  return catalogue;
}

/**
 * What the provider offers, at most ten minutes old. Where it does not answer, or is not to be asked, what it said last, however old: `fetchedAt`
 * tells; only where it never answered is there a refusal. What is young and not `isEnough` is asked for again as well.
 */
export async function readCatalogue(
  context: Asking & Pick<RequestContext, "withinRate">,
  isEnough: (known: Catalogue) => boolean = () => true,
): Promise<Outcome<Catalogue>> {
  const { capabilities, now } = context;
  const known = await knownCatalogue(context);
  // What is left of the provider's rate limit then is for deletes.
  if ((isFresh(known, now()) && isEnough(known)) || (known !== null && capabilities.hasHeadroom?.() === false))
    return done(known);
  const paced = await context.withinRate();
  if (!paced.ok) return known === null ? paced : done(known);
  return onDriverError(
    async () => done(await askCatalogue(context)),
    (error) => (known === null ? refused(refusalOf(error)) : done(known)),
  );
}

/** What a server type and an IPv4 address cost in a region, by the known catalogue; null is unknown, and no failure (S82, S83). */
export async function pricesOf(
  context: Parameters<typeof readCatalogue>[0],
  region: string,
  serverType: string,
): Promise<Outcome<Prices>> {
  const read = await readCatalogue(context);
  return read.ok ? done(pricesIn(read.value.serverTypes, { serverType, region })) : read;
}
