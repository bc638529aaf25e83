import type { MachineRow } from "../machine/machine.ts";
import { idOrder, LIVE_MACHINE } from "./conditions.ts";
import { eventOfHold } from "./events.ts";
import { createMachineOrphans } from "./machine-orphans.ts";
import { machineRow } from "./machine-row.ts";
import { intOf } from "./columns.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** Rows that the provider has shown once, and that are not at their end: what is due is asked for by expire. */
const SHOWN = `${LIVE_MACHINE} AND provider_id IS NOT NULL AND delete_accepted_at IS NULL AND +expires_at > ?1`;
const ORDER = idOrder("provider_id");
/** `?3`; null is behind every number. */
const BELOW = `coalesce(${idOrder("?3")}, '~')`;

/** Rows by the provider's ids for them, in the order of numbers. */
export interface RowRange {
  /** The first; empty = from the first of all. */
  readonly from: string;
  /** In front of which it ends; null = it has no end. */
  readonly below: RowPlace | null;
}

/** Where a row stands in that order. An empty uid: in front of all rows of that id. */
export interface RowPlace {
  readonly providerId: string;
  readonly uid: string;
}

/** What a reconcile of `machines` with the provider's inventory reads and writes. */
export function createMachineInventory(db: Db) {
  async function mark(
    column: "missing_since" | "mismatched_since",
    uids: readonly string[],
    now: number,
  ): Promise<void> {
    if (uids.length === 0) return;
    await db.write(
      change(
        {
          head: `UPDATE machines SET ${column} = coalesce(${column}, ?2)`,
          where: `uid IN (SELECT value FROM json_each(?1)) AND ${LIVE_MACHINE}`,
        },
        JSON.stringify(uids),
        now,
      ),
    );
  }

  return {
    ...createMachineOrphans(db),

    /** Rows of a range that the provider has shown once and that live on, without these; the last ones first. */
    async shownIn(
      { from, below }: RowRange,
      without: readonly string[],
      limit: number,
      now: number,
    ): Promise<MachineRow[]> {
      const statement = query(
        `SELECT * FROM machines WHERE ${SHOWN} AND ${ORDER} >= ${idOrder("?2")} AND ${ORDER} <= ${BELOW}
           AND (${ORDER} < ${BELOW} OR uid < ?4) AND uid NOT IN (SELECT value FROM json_each(?5))
         ORDER BY ${ORDER} DESC, uid DESC LIMIT ?6`,
        now,
        from,
        below?.providerId ?? null,
        below?.uid ?? "",
        JSON.stringify(without),
        limit,
      );
      return parseRows(machineRow, await db.read(statement));
    },

    /** How many such rows there are. */
    async countShown(now: number): Promise<number> {
      const rows = await db.read(query(`SELECT count(*) AS shown FROM machines WHERE ${SHOWN}`, now));
      return parseFirst((row) => intOf(row, "shown"), rows) ?? 0;
    },

    /** How many machines may exist. */
    async countLive(): Promise<number> {
      const rows = await db.read(query(`SELECT count(*) AS live FROM machines WHERE ${LIVE_MACHINE}`));
      return parseFirst((row) => intOf(row, "live"), rows) ?? 0;
    },

    /** Dates the first look that did not see these. Guarded by being live; a date that is there stays. */
    markMissing: (uids: readonly string[], now: number) => mark("missing_since", uids, now),

    /** The same of looks that saw another machine at their ids. */
    markMismatched: (uids: readonly string[], now: number) => mark("mismatched_since", uids, now),

    /** Looks that found these missing since then count for nothing. */
    async forgetMissing(since: number): Promise<void> {
      const where = `${LIVE_MACHINE} AND provider_id IS NOT NULL AND missing_since >= ?`;
      await db.write(change({ head: "UPDATE machines SET missing_since = NULL", where }, since));
    },

    /** What was made under one credential of the provider is seen under another: both are the same project's. */
    async adoptCredential(from: readonly string[], to: string): Promise<void> {
      if (from.length === 0) return;
      const where = `${LIVE_MACHINE} AND credential IN (SELECT value FROM json_each(?1))`;
      await db.write(change({ head: "UPDATE machines SET credential = ?2", where }, JSON.stringify(from), to));
    },

    /** An admin's word that every live row belongs to the credential in use. */
    async adoptCredentialForAll(to: string, now: number): Promise<void> {
      const where = `${LIVE_MACHINE} AND credential <> ?1`;
      const adopted = change({ head: "UPDATE machines SET credential = ?1", where }, to);
      await db.batch([adopted, eventOfHold(db, "credential", now)]);
    },
  };
}
