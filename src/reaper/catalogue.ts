import { askCatalogue, isFresh } from "../lifecycle/catalogue.ts";
import { onDriverError } from "../lifecycle/refusal.ts";
import type { PhaseContext } from "./context.ts";

const EVERY_MS = 3_600_000;
const TYPE_PAGES = 2;
/** The currency and the pages of types; to read what is known and to write what is new. */
const COST = { fetches: 1 + TYPE_PAGES, statements: 2, entries: TYPE_PAGES * 25 };

/**
 * Keeps the catalogue of what the provider offers, by which creates are judged before they cost anything: once an hour, where the
 * budget and the provider's rate limit have room, and at no cost in between. Answers why it could not be had, which the next hour
 * tries again; null where it could.
 */
export async function refreshCatalogue(context: PhaseContext): Promise<string | null> {
  const { memory, capabilities, pace, store, provider } = context;
  const now = context.now();
  const isDue = now - memory.catalogueAskedAt >= EVERY_MS || memory.catalogueAskedAt > now;
  if (!isDue || capabilities.serverTypes === undefined || capabilities.hasHeadroom?.() === false) return null;
  // The hourly look at everything is enough for one tick; this one is the next tick's.
  if (memory.resourcesListedAt === now || (await pace.stop(COST)) !== null) return null;
  memory.catalogueAskedAt = now;
  if (isFresh(await store.catalogues.read(provider), now)) return null;
  return onDriverError(
    async () => {
      await askCatalogue(context, { maxPages: Math.max(TYPE_PAGES, pace.pages) });
      return null;
    },
    (error) => error.message,
  );
}
