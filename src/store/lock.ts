import * as z from "zod";
import type { Doubt } from "../machine/reason.ts";
import { intOf, intOrNull, jsonAs, textOrNull, type Row } from "./columns.ts";
import type { RowPlace } from "./machine-inventory.ts";
import { parseFirst } from "./rows.ts";
import { change, insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

const inventoryPass = z.object({
  startedAt: z.int(),
  page: z.int().nullable(),
  edges: z.string().catch(""),
  below: z.object({ providerId: z.string(), uid: z.string() }).nullable(),
  rest: z.string().nullable(),
  shown: z.int(),
  absent: z.int(),
  foreign: z.int(),
  failures: z.int(),
  isFlawed: z.boolean().catch(false),
});
const reconcile: z.ZodType<ReconcileMemory> = z
  .object({
    // One that an older version left off begins anew; what it left in doubt stays.
    pass: inventoryPass.nullable().catch(null),
    lastAt: z.int(),
    isFlawed: z.boolean().catch(false),
    doubts: z.object({ inventory_untrusted: z.boolean(), other_credential: z.boolean() }),
  })
  // What cannot be read costs a pass that begins anew, and not the sweep.
  .catch(() => freshMemory());

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
  /** When the catalogue was last asked for. */
  catalogueAskedAt: number;
  /** When settle last did its work. */
  settledAt: number;
  /** When an inventory pass last got on. */
  inventoriedAt: number;
  /** When all that had ended was last in the ledger. */
  bookedAt: number;
  /** When all that was old was last forgotten. */
  forgottenAt: number;
  /** When this database's first sweep ran. */
  readonly firstSweepAt: number;
  reconcile: ReconcileMemory;
}

/** How far the inventory pass has got. */
export interface ReconcileMemory {
  /** The pass over everything that is under way; null between two. */
  pass: InventoryPass | null;
  /** When the last whole pass began. */
  readonly lastAt: number;
  /** Whether it left something out. */
  readonly isFlawed: boolean;
  /** What it left in doubt. */
  readonly doubts: Readonly<Record<Doubt, boolean>>;
}

/** One pass over the inventory, page by page from the last to the first, and over the rows of each page's range. */
export interface InventoryPass {
  readonly startedAt: number;
  /** The page of machines to read next; null = the last; below 1 = none. */
  page: number | null;
  /** The first and the last machine of the page that was read before; empty where there is none. */
  edges: string;
  /** Rows from here on are done; null = none of them. */
  below: RowPlace | null;
  /** The provider's id from which on rows of the page that was read are still to be looked for; null = none. */
  rest: string | null;
  /** How many rows there were when it began. */
  shown: number;
  /** How many of them were found absent for the first time. */
  absent: number;
  /** How many of another credential were found absent. */
  foreign: number;
  /** How often it has failed at the place where it is. */
  failures: number;
  /** Whether it has left something out, or was shown something that cannot be believed. */
  isFlawed: boolean;
}

/** A lock that was taken. */
interface Held {
  readonly fence: number;
  readonly lastReportAt: number;
  readonly memory: SweepMemory;
}

const freshMemory = (): ReconcileMemory => ({
  pass: null,
  lastAt: 0,
  isFlawed: false,
  doubts: { inventory_untrusted: false, other_credential: false },
});
/** By the holder whose number this is; `?1` is the fence. */
const HELD = "name = 'sweep' AND fence = ?1";
/** Nobody holds it; `?2` is now, `?3` the end of who asks. What is held for twice as long as anybody asks for is a clock's mistake. */
const ENDED = "held_until <= ?2 OR held_until - ?2 > 2 * (?3 - ?2)";
/** Later than any machine: nothing is younger than a first sweep that is still to come. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The row of the lock: what health is judged by, and what a sweep knows of those before it. */
const lockRow = (row: Row) => ({
  fence: intOf(row, "fence"),
  held_until: intOf(row, "held_until"),
  last_good_cron_at: intOf(row, "last_good_cron_at"),
  last_report_at: intOf(row, "last_report_at"),
  last_error: textOrNull(row, "last_error"),
  memory: memoryOf(row),
});
const memoryOf = (row: Row): SweepMemory => ({
  resourcesListedAt: intOf(row, "resources_listed_at"),
  catalogueAskedAt: intOf(row, "catalogue_asked_at"),
  settledAt: intOf(row, "settled_at"),
  inventoriedAt: intOf(row, "inventoried_at"),
  bookedAt: intOf(row, "booked_at"),
  forgottenAt: intOf(row, "forgotten_at"),
  firstSweepAt: intOrNull(row, "first_sweep_at") ?? NEVER,
  reconcile: jsonAs(row, "reconcile", reconcile),
});

/** A condition for the changes of a sweep: once another holds the lock, a change with the old number does nothing. */
export const whileFenced = (fence: number): string =>
  `EXISTS (SELECT 1 FROM locks WHERE name = 'sweep' AND fence = ${Math.trunc(fence)})`;

/**
 * The row of `locks` that keeps sweeps from overlapping. Wall time throughout. Its changes are guarded by the fence that they
 * name, and so by no other.
 */
export function createLockStore(db: Db) {
  const current = async () => parseFirst(lockRow, await db.read(query("SELECT * FROM locks WHERE name = 'sweep'")));

  /**
   * Makes the row anew that is gone, held already; null where another did. Its fence is the time, which is more than any number of sweeps came
   * to, and its heartbeat begins as after the migrations: before its first sweep, which is no good one yet.
   */
  async function restore(holder: string, now: number, until: number) {
    const row = { name: "sweep", holder, fence: now, held_until: until, last_started_at: now };
    const made = insertInto(
      "locks",
      { ...row, first_sweep_at: now, last_good_cron_at: now - 1 },
      { tail: "ON CONFLICT DO NOTHING RETURNING *" },
    );
    return parseFirst(lockRow, await db.write(made));
  }

  return {
    /** Takes the lock until `until`, or answers null while another holds it. The fence rises with every holder. */
    async acquire(holder: string, now: number, until: number): Promise<Held | null> {
      const taken = await db.write(
        change(
          {
            head: `UPDATE locks SET holder = ?1, fence = fence + 1, held_until = ?3, last_started_at = ?2,
              first_sweep_at = coalesce(first_sweep_at, ?2)`,
            where: `name = 'sweep' AND (${ENDED})`,
            tail: "RETURNING *",
          },
          holder,
          now,
          until,
        ),
      );
      const row = parseFirst(lockRow, taken) ?? ((await current()) === null ? await restore(holder, now, until) : null);
      return row && { fence: row.fence, lastReportAt: row.last_report_at, memory: row.memory };
    },

    /** What the next sweep will know; for one that takes no lock. */
    async recall(): Promise<SweepMemory> {
      const row = await current();
      return (
        row?.memory ?? {
          resourcesListedAt: 0,
          catalogueAskedAt: 0,
          settledAt: 0,
          inventoriedAt: 0,
          bookedAt: 0,
          forgottenAt: 0,
          firstSweepAt: NEVER,
          reconcile: freshMemory(),
        }
      );
    },

    /** Holds on for longer. False when another has taken over, and the sweep must stop. */
    async renew(fence: number, until: number): Promise<boolean> {
      const rows = await db.write(
        change({ head: "UPDATE locks SET held_until = ?2", where: HELD, tail: "RETURNING fence" }, fence, until),
      );
      return rows.length > 0;
    },

    /** Gives the lock back and leaves the heartbeat. An old holder, whose fence has passed, changes nothing. */
    async release(fence: number, { now, error, goodByCron, reported, memory }: Readonly<Release>): Promise<void> {
      await db.write(
        change(
          {
            head: `UPDATE locks SET holder = NULL, held_until = 0, last_error = ?3,
              last_good_cron_at = CASE WHEN ?4 THEN ?2 ELSE last_good_cron_at END,
              last_report_at = CASE WHEN ?5 THEN ?2 ELSE last_report_at END, resources_listed_at = ?6, reconcile = ?7,
              catalogue_asked_at = ?8, settled_at = ?9, inventoried_at = ?10, booked_at = ?11,
              forgotten_at = ?12`,
            where: HELD,
          },
          fence,
          now,
          error,
          Number(goodByCron),
          Number(reported),
          memory.resourcesListedAt,
          JSON.stringify(memory.reconcile),
          memory.catalogueAskedAt,
          memory.settledAt,
          memory.inventoriedAt,
          memory.bookedAt,
          memory.forgottenAt,
        ),
      );
    },

    /** What health is judged by; null before the migrations ran. */
    read: current,
  };
}
