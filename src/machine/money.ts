const HOUR_MS = 3_600_000;
const MICRO = 1_000_000;

/** EUR per hour as a provider's number, to whole micro-EUR; null stays null: unknown is never free. */
export const toMicroEur = (eur: number | null): number | null => (eur === null ? null : Math.round(eur * MICRO));

export const toEur = (microEur: number): number => microEur / MICRO;

/** Hours as Hetzner bills them: every started hour counts, and there is no hour zero. */
export const startedHours = (from: number, until: number): number => Math.max(1, Math.ceil((until - from) / HOUR_MS));

/**
 * What a machine has cost by `now`, micro-EUR, for its server type alone: null while the price is unknown, 0 while the
 * provider has not said that it exists.
 */
export function costMicroEur(
  row: { createdAt: number | null; destroyedAt: number | null; priceMicroEur: number | null },
  now: number,
): number | null {
  if (row.createdAt === null) return 0;
  if (row.priceMicroEur === null) return null;
  return startedHours(row.createdAt, row.destroyedAt ?? now) * row.priceMicroEur;
}
