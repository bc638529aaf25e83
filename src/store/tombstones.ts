import * as z from "zod";
import { parseFirst, sql, type Sql } from "./db.ts";

/** The `tombstones` table: names that shall not be created for a while, though no machine had them. */
export function createTombstoneStore(db: Sql) {
  return {
    /** Forbids a name until then; of two words the later end counts. Forgets what is over. */
    async set(owner: string, name: string, until: number, now: number): Promise<void> {
      await db.batch([
        sql("DELETE FROM tombstones WHERE until <= ?", now),
        sql(
          `INSERT INTO tombstones (owner, name, until) VALUES (?, ?, ?)
           ON CONFLICT (owner, name) DO UPDATE SET until = max(until, excluded.until)`,
          owner,
          name,
          until,
        ),
      ]);
    },

    /** Until when a name is forbidden; null when it is not. */
    async until(owner: string, name: string, now: number): Promise<number | null> {
      const rows = await db.rows(
        sql("SELECT until FROM tombstones WHERE owner = ? AND name = ? AND until > ?", owner, name, now),
      );
      return parseFirst(z.object({ until: z.int() }), rows)?.until ?? null;
    },
  };
}
