import { eventOfHold } from "./events.ts";
import { textOf, type Reader } from "./columns.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { change, insertInto, query, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

const INSTALLATION = "installation";
const CAP_RELEASED = "blast_cap_released_until";
const CAP_HELD = "blast_cap_held_until";
const INVENTORY_RELEASED = "inventory_released_until";
const SELECT = "SELECT value FROM settings WHERE key = ?";
const value: Reader<string> = (row) => textOf(row, "value");

/** No hold, and no release of one, is as long. */
const LONGEST_MARK_MS = 86_400_000;

/** Until when something counts, as it is kept; 0 where that cannot be read, or lies so far ahead that it is a clock's mistake. */
const markOf = (text: string | null | undefined, now: number): number => {
  const until = Number(text ?? 0);
  return until <= now + LONGEST_MARK_MS ? until : 0;
};

/** The `settings` table: what this database knows of where it belongs. */
export function createSettingStore(db: Db) {
  const set = (key: string, to: number): Change =>
    insertInto(
      "settings",
      { key, value: String(to) },
      { tail: "ON CONFLICT (key) DO UPDATE SET value = excluded.value" },
    );
  const release = async (key: string, until: number, told: Change): Promise<void> =>
    void (await db.batch([set(key, until), told]));
  return {
    /** The installation that this database served first, or last took over; null if none is known yet. */
    async installation(): Promise<string | null> {
      return parseFirst(value, await db.read(query(SELECT, INSTALLATION)));
    },

    /** The same, and `current` becomes it if none is known yet. To be asked where none was: it writes. */
    async claimInstallation(current: string): Promise<string> {
      const [, rows] = await db.batch([
        insertInto("settings", { key: INSTALLATION, value: current }, { tail: "ON CONFLICT DO NOTHING" }),
        query(SELECT, INSTALLATION),
      ]);
      return parseFirst(value, rows ?? []) ?? current;
    },

    /** Until when early deaths beyond the cap are allowed, and until when all of them are held; 0 = no longer. Unix milliseconds. */
    async blastCap(now: number): Promise<{ releasedUntil: number; heldUntil: number }> {
      const rows = await db.read(query("SELECT key, value FROM settings WHERE key IN (?, ?)", CAP_RELEASED, CAP_HELD));
      const known = parseRows((row) => ({ key: textOf(row, "key"), value: textOf(row, "value") }), rows);
      const at = (key: string): number => markOf(known.find((row) => row.key === key)?.value, now);
      return { releasedUntil: at(CAP_RELEASED), heldUntil: at(CAP_HELD) };
    },
    releaseBlastCap: (until: number, now: number) => release(CAP_RELEASED, until, eventOfHold(db, "blast_cap", now)),
    async holdBlastCap(until: number): Promise<void> {
      await db.write(set(CAP_HELD, until));
    },

    /** Until when an admin believes an inventory that lacks more than can be believed; 0 = no longer. Unix milliseconds. */
    async inventoryReleasedUntil(now: number): Promise<number> {
      return markOf(parseFirst(value, await db.read(query(SELECT, INVENTORY_RELEASED))), now);
    },
    releaseInventory: (until: number, now: number) =>
      release(INVENTORY_RELEASED, until, eventOfHold(db, "inventory", now)),

    /** Moves on to a new installation, once its configuration names the old one. */
    async moveInstallation(from: string, to: string): Promise<void> {
      await db.write(
        change({ head: "UPDATE settings SET value = ?3", where: "key = ?1 AND value = ?2" }, INSTALLATION, from, to),
      );
    },
  };
}
