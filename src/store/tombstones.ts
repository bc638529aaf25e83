import { intOf } from "./columns.ts";
import { parseFirst } from "./rows.ts";
import { change, insertInto, query } from "./statements.ts";
import { ownedBy, type Whose } from "./whose.ts";
import type { Db } from "./writer.ts";

/** The `tombstones` table: names that shall not be created for a while, though no machine had them. */
export function createTombstoneStore(db: Db) {
  return {
    /** Forbids a name until then; of two words the later end counts. Forgets what is over. */
    async set(owner: string, name: string, until: number, now: number): Promise<void> {
      await db.batch([
        change({ head: "DELETE FROM tombstones", where: "until <= ?" }, now),
        insertInto(
          "tombstones",
          { owner, name, until },
          { tail: "ON CONFLICT (owner, name) DO UPDATE SET until = max(until, excluded.until)" },
        ),
      ]);
    },

    /** Until when a name is forbidden; null when it is not. */
    async until(whose: Whose, name: string, now: number): Promise<number | null> {
      const owned = ownedBy(whose);
      const asked = query(`SELECT until FROM tombstones WHERE ${owned.text} AND name = ?`, ...owned.params, name);
      const until = parseFirst((row) => intOf(row, "until"), await db.read(asked)) ?? 0;
      return until > now ? until : null;
    },
  };
}
