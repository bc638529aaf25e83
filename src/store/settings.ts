import * as z from "zod";
import { parseFirst, sql, type Sql } from "./db.ts";

const INSTALLATION = "installation";

export type SettingStore = ReturnType<typeof createSettingStore>;

/** The `settings` table: what this database knows of where it belongs. */
export function createSettingStore(db: Sql) {
  return {
    /** The installation that this database served first, or last took over; this one if none is known yet. */
    async installation(current: string): Promise<string> {
      const [, rows] = await db.batch([
        sql("INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", INSTALLATION, current),
        sql("SELECT value FROM settings WHERE key = ?", INSTALLATION),
      ]);
      return parseFirst(z.object({ value: z.string() }), rows ?? [])?.value ?? current;
    },

    /** Moves on to a new installation, once its configuration names the old one. */
    async moveInstallation(from: string, to: string): Promise<void> {
      await db.rows(sql("UPDATE settings SET value = ?3 WHERE key = ?1 AND value = ?2", INSTALLATION, from, to));
    },
  };
}
