import { bookingOf } from "../machine/ledger.ts";
import type { PhaseContext } from "./context.ts";

/** How often it is looked for machines whose end is not booked; what is not booked yet is counted all the same. */
const BOOK_EVERY_MS = 15 * 60_000;
/** So many are booked in one tick; where there are more the next one goes on. */
const BATCH = 50;
/** To read them; and to write days, months and rows. */
const BOOK_COST = { fetches: 0, statements: 1 + 3 };

/** How often it is looked for what is old. */
const FORGET_EVERY_MS = 3_600_000;
/** So many rows of each kind are forgotten in one tick; where there are more the next one goes on. */
const FORGOTTEN = 100;
/** Two statements at most, whatever it is. */
const FORGET_COST = { fetches: 0, statements: 2 };

/**
 * Keeps what outlasts machines: adds those that have ended to the ledger, and forgets what is older than history is kept. It comes last, for nothing
 * that costs money waits for it.
 */
export async function keepHistory(context: PhaseContext): Promise<string | null> {
  try {
    await book(context);
  } finally {
    // It makes room where a full database takes nothing more.
    await forget(context);
  }
  return null;
}

async function book({ store, memory, pace, now }: PhaseContext): Promise<void> {
  if (!isDue(memory.bookedAt, now(), BOOK_EVERY_MS) || (await pace.leaves(BOOK_COST))) return;
  const rows = await store.ledger.toBook(BATCH);
  const bookings = rows.map(bookingOf).filter((booking) => booking !== null);
  await store.ledger.book(bookings, now());
  if (rows.length < BATCH) memory.bookedAt = now();
}

/** Where it cannot be read how long history is kept, nothing is forgotten. */
async function forget({ store, memory, pace, now, keepHistoryMs }: PhaseContext): Promise<void> {
  if (keepHistoryMs === null || !isDue(memory.forgottenAt, now(), FORGET_EVERY_MS)) return;
  const old = { before: now() - keepHistoryMs, now: now(), limit: FORGOTTEN };
  let isDone = true;
  for (const forgetSome of Object.values(store.history)) {
    if (await pace.leaves(FORGET_COST)) return;
    if ((await forgetSome(old)) >= FORGOTTEN) isDone = false;
  }
  if (isDone) memory.forgottenAt = now();
}

/** A time that lies ahead is a clock's mistake. */
const isDue = (lastAt: number, now: number, everyMs: number): boolean => now - lastAt >= everyMs || lastAt > now;
