import { DriverError } from "../driver/driver.ts";
import type { Catalogue } from "../store/catalogues.ts";
import { refusalOf, type Refusal } from "./refusal.ts";
import type { Context } from "./context.ts";

/** Stock changes within hours; what is older is asked for again. */
const FRESH_MS = 10 * 60_000;

export type CatalogueResult =
  | { readonly ok: true; readonly catalogue: Catalogue }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * What the provider offers, at most ten minutes old. Where it does not answer, what it said last, however old: `fetchedAt`
 * tells; only where it never answered is there a refusal.
 */
export async function readCatalogue(deps: Context, provider: string): Promise<CatalogueResult> {
  const { store, capabilities } = deps;
  const now = deps.now();
  const known = await store.catalogues.read(provider);
  if (known !== null && now - known.fetchedAt < FRESH_MS) return { ok: true, catalogue: known };
  try {
    const catalogue = { serverTypes: (await capabilities.serverTypes?.()) ?? [], fetchedAt: now };
    await store.catalogues.write(provider, catalogue);
    return { ok: true, catalogue };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return known === null ? { ok: false, refusal: refusalOf(error) } : { ok: true, catalogue: known };
  }
}

export type PriceResult =
  | { readonly ok: true; readonly priceEurPerHour: number | null }
  | { readonly ok: false; readonly refusal: Refusal };

/** What a server type costs in a region; null is unknown, and no failure (S82, S83). */
export async function priceOf(
  { driver }: Pick<Context, "driver">,
  region: string,
  serverType: string,
): Promise<PriceResult> {
  try {
    return { ok: true, priceEurPerHour: await driver.priceEurPerHour(region, serverType) };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { ok: false, refusal: refusalOf(error) };
  }
}
