import * as z from "zod";
import { parseFirst, sql, type Sql } from "./db.ts";

const INSTALLATION = "installation";
const BLAST_CAP = "blast_cap_released_until";
const SELECT = "SELECT value FROM settings WHERE key = ?";
const value = z.object({ value: z.string() });

export type SettingStore = ReturnType<typeof createSettingStore>;

/** The `settings` table: what this database knows of where it belongs. */
export function createSettingStore(db: Sql) {
  return {
    /** The installation that this database served first, or last took over; null if none is known yet. */
    async installation(): Promise<string | null> {
      return parseFirst(value, await db.rows(sql(SELECT, INSTALLATION)))?.value ?? null;
    },

    /** The same, and `current` becomes it if none is known yet. */
    async claimInstallation(current: string): Promise<string> {
      const [, rows] = await db.batch([
        sql("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", INSTALLATION, current),
        sql(SELECT, INSTALLATION),
      ]);
      return parseFirst(value, rows ?? [])?.value ?? current;
    },

    /** Until when an admin allows more early deaths a sweep than the cap; 0 = no longer. Unix milliseconds. */
    async blastCapReleasedUntil(): Promise<number> {
      return Number(parseFirst(value, await db.rows(sql(SELECT, BLAST_CAP)))?.value ?? 0);
    },

    async releaseBlastCap(until: number): Promise<void> {
      await db.rows(
        sql(
          "INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          BLAST_CAP,
          String(until),
        ),
      );
    },

    /** Moves on to a new installation, once its configuration names the old one. */
    async moveInstallation(from: string, to: string): Promise<void> {
      await db.rows(sql("UPDATE settings SET value = ?3 WHERE key = ?1 AND value = ?2", INSTALLATION, from, to));
    },
  };
}
