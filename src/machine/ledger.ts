/**
 * The ledger keeps what machines were charged as sums, so that these outlive the rows. Here is what a row adds to them: once it has
 * ended that is booked, and until then counted beside the sums.
 */
import { atDearest, chargesByDay, startedHours, type Charged, type DearestKnown } from "./money.ts";

/** A row of a machine whose hours are not all in the sums. Times unix milliseconds. */
export interface Unbooked extends Charged, DearestKnown {
  readonly uid: string;
  readonly account: string;
  readonly owner: string;
  readonly serverType: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** So many of its first hours are counted elsewhere: in the sums, or with the row that its machine had before. */
  readonly bookedHours: number;
}

/** What a row is charged for one day, UTC; null where no price is known at all. */
export interface RowCharge {
  /** As `2026-11-30`. */
  readonly day: string;
  readonly hours: number;
  readonly microEur: number | null;
  /** What of it was counted without a known price. */
  readonly estimatedMicroEur: number | null;
}

/** Whether the provider is known to have had it. */
const wasThere = ({ createdAt, providerId }: Unbooked): boolean => createdAt !== null || providerId !== null;

/** Since when it is charged: where the provider has not said, from when it was asked for, which is never too little. */
export const chargedSince = ({ createdAt, requestedAt }: Pick<Unbooked, "createdAt" | "requestedAt">): number =>
  createdAt ?? requestedAt;

/** What a row has been charged by `now`, or by its end, beside what is booked of it. */
export const chargedSoFar = (row: Unbooked, now: number): RowCharge[] =>
  wasThere(row) ? chargesUntil(row, row.destroyedAt ?? now) : [];

/** What a row comes to if it ends at `until`, whether its machine has been seen or not. */
export function chargesUntil(row: Unbooked, until: number): RowCharge[] {
  return chargesByDay(chargedSince(row), until, atDearest(row, row), row.bookedHours).map(
    ({ day, hours, serverMicroEur, ipv4MicroEur }) => {
      if (serverMicroEur === null || ipv4MicroEur === null)
        return { day, hours, microEur: null, estimatedMicroEur: null };
      const estimatedMicroEur =
        (row.priceMicroEur === null ? serverMicroEur : 0) + (row.ipv4MicroEur === null ? ipv4MicroEur : 0);
      return { day, hours, microEur: serverMicroEur + ipv4MicroEur, estimatedMicroEur };
    },
  );
}

/** What is added to the sums for a row that has ended, and the row as it was read, by which it is known not to have changed since. */
export interface Booking {
  readonly uid: string;
  readonly destroyedAt: number;
  readonly bookedHours: number;
  /** How many of its hours are booked afterwards. */
  readonly hours: number;
  readonly charges: readonly RowCharge[];
}

/** The booking of a row; null while it lives, or no price is known at all. */
export function bookingOf(row: Unbooked): Booking | null {
  const { uid, destroyedAt, bookedHours } = row;
  if (destroyedAt === null) return null;
  const charges = chargedSoFar(row, destroyedAt);
  if (charges.some(({ microEur }) => microEur === null)) return null;
  const hours = wasThere(row) ? Math.max(bookedHours, startedHours(chargedSince(row), destroyedAt)) : bookedHours;
  return { uid, destroyedAt, bookedHours, hours, charges };
}
