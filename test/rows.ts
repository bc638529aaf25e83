/** What D1 says that statements cost: rows that they read and wrote, which a plan limits by the day. */
import { through } from "./trips.ts";

export interface Rows {
  read: number;
  written: number;
}

/** The same database, and the rows that statements which match have read and written through it so far. */
export function counting(db: D1Database, matching = /./): { readonly db: D1Database; readonly rows: Rows } {
  const rows: Rows = { read: 0, written: 0 };
  const counted = through(db, async (trip, send) => {
    const results = await send();
    for (const [index, { meta }] of results.entries()) {
      if (!matching.test(trip[index] ?? "")) continue;
      rows.read += meta.rows_read;
      rows.written += meta.rows_written;
    }
    return results;
  });
  return { db: counted, rows };
}
