import { bookingOf } from "../machine/ledger.ts";
import type { PhaseContext } from "./context.ts";

/** How often it is looked for machines whose end is not booked; what is not booked yet is counted all the same. */
const BOOK_EVERY_MS = 15 * 60_000;
/** So many are booked in one tick; where there are more the next one goes on. */
const BATCH = 50;
/** To read them; and to write days, months and rows. */
const BOOK_COST = { fetches: 0, statements: 1 + 3 };

/** Keeps what outlasts machines: adds those that have ended to the ledger. It comes last, for nothing that costs money waits for it. */
export async function keepHistory(context: PhaseContext): Promise<string | null> {
  await book(context);
  return null;
}

async function book({ store, memory, pace, now }: PhaseContext): Promise<void> {
  if (!isDue(memory.bookedAt, now(), BOOK_EVERY_MS) || (await pace.stop(BOOK_COST)) !== null) return;
  const rows = await store.ledger.toBook(BATCH);
  const bookings = rows.map(bookingOf).filter((booking) => booking !== null);
  await store.ledger.book(bookings, now());
  if (rows.length < BATCH) memory.bookedAt = now();
}

/** A time that lies ahead is a clock's mistake. */
const isDue = (lastAt: number, now: number, everyMs: number): boolean => now - lastAt >= everyMs || lastAt > now;
