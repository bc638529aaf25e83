import type { Catalogue } from "../store/catalogues.ts";
import type { Context } from "./context.ts";
import { done, onDriverError, refusalOf, refused, type Outcome } from "./refusal.ts";

/** Stock changes within hours; what is older is asked for again. */
const FRESH_MS = 10 * 60_000;

/**
 * What the provider offers, at most ten minutes old. Where it does not answer, what it said last, however old: `fetchedAt`
 * tells; only where it never answered is there a refusal.
 */
export async function readCatalogue({
  store,
  capabilities,
  provider,
  now,
}: Pick<Context, "store" | "capabilities" | "provider" | "now">): Promise<Outcome<Catalogue>> {
  const askedAt = now();
  const known = await store.catalogues.read(provider);
  if (known !== null && askedAt - known.fetchedAt < FRESH_MS) return done(known);
  return onDriverError(
    async () => {
      const catalogue = { serverTypes: (await capabilities.serverTypes?.()) ?? [], fetchedAt: askedAt };
      await store.catalogues.write(provider, catalogue);
      return done(catalogue);
    },
    (error) => (known === null ? refused(refusalOf(error)) : done(known)),
  );
}

/** What a server type costs in a region, in EUR per hour; null is unknown, and no failure (S82, S83). */
export const priceOf = (
  { driver }: Pick<Context, "driver">,
  region: string,
  serverType: string,
): Promise<Outcome<number | null>> =>
  onDriverError(
    async () => done(await driver.priceEurPerHour(region, serverType)),
    (error) => refused(refusalOf(error)),
  );
