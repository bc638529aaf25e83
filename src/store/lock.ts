import * as z from "zod";
import { parseFirst, sql, type Sql } from "./db.ts";

const lockRow = z.object({
  fence: z.int(),
  held_until: z.int(),
  last_started_at: z.int().nullable(),
  last_good_cron_at: z.int(),
  last_report_at: z.int(),
  last_error: z.string().nullable(),
  resources_listed_at: z.int(),
});

export interface Release {
  now: number;
  error: string | null;
  /** A good sweep that cron started: the heartbeat that health looks at (I9). */
  goodByCron: boolean;
  reported: boolean;
  memory: SweepMemory;
}

/** What a sweep knows of those before it. Times by the rules' clock, unix milliseconds. */
export interface SweepMemory {
  /** When all resources at the provider were last looked at. */
  resourcesListedAt: number;
}

/** A lock that was taken. */
interface Held {
  readonly fence: number;
  readonly lastReportAt: number;
  readonly memory: SweepMemory;
}

const memoryOf = (row: z.infer<typeof lockRow>): SweepMemory => ({ resourcesListedAt: row.resources_listed_at });

/** A condition for the writes of a sweep: once another holds the lock, a write with the old number changes nothing. */
export const whileFenced = (fence: number): string =>
  ` AND EXISTS (SELECT 1 FROM locks WHERE name = 'sweep' AND fence = ${Math.trunc(fence)})`;

export type LockStore = ReturnType<typeof createLockStore>;

/** The row of `locks` that keeps sweeps from overlapping. Wall time throughout. */
export function createLockStore(db: Sql) {
  return {
    /** Takes the lock until `until`, or answers null while another holds it. The fence rises with every holder. */
    async acquire(holder: string, now: number, until: number): Promise<Held | null> {
      const rows = await db.rows(
        sql(
          `UPDATE locks SET holder = ?1, fence = fence + 1, held_until = ?3, last_started_at = ?2
           WHERE name = 'sweep' AND held_until <= ?2 RETURNING *`,
          holder,
          now,
          until,
        ),
      );
      const row = parseFirst(lockRow, rows);
      return row && { fence: row.fence, lastReportAt: row.last_report_at, memory: memoryOf(row) };
    },

    /** What the next sweep will know; for one that takes no lock. */
    async recall(): Promise<SweepMemory> {
      const row = parseFirst(lockRow, await db.rows(sql("SELECT * FROM locks WHERE name = 'sweep'")));
      return row ? memoryOf(row) : { resourcesListedAt: 0 };
    },

    /** Holds on for longer. False when another has taken over, and the sweep must stop. */
    async renew(fence: number, until: number): Promise<boolean> {
      const rows = await db.rows(
        sql("UPDATE locks SET held_until = ?2 WHERE name = 'sweep' AND fence = ?1 RETURNING fence", fence, until),
      );
      return rows.length > 0;
    },

    /** Gives the lock back and leaves the heartbeat. An old holder, whose fence has passed, changes nothing. */
    async release(fence: number, { now, error, goodByCron, reported, memory }: Readonly<Release>): Promise<void> {
      await db.rows(
        sql(
          `UPDATE locks SET holder = NULL, held_until = 0, last_error = ?3,
             last_good_cron_at = CASE WHEN ?4 THEN ?2 ELSE last_good_cron_at END,
             last_report_at = CASE WHEN ?5 THEN ?2 ELSE last_report_at END, resources_listed_at = ?6
           WHERE name = 'sweep' AND fence = ?1`,
          fence,
          now,
          error,
          Number(goodByCron),
          Number(reported),
          memory.resourcesListedAt,
        ),
      );
    },

    /** What health is judged by; null before the migrations ran. */
    async read() {
      return parseFirst(lockRow, await db.rows(sql("SELECT * FROM locks WHERE name = 'sweep'")));
    },
  };
}
