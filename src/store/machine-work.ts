import type { MachineRow } from "../machine/machine.ts";
import { FREE, LABEL_BEHIND, LIVE_MACHINE, UNSETTLED } from "./conditions.ts";
import { machineRow } from "./machine-row.ts";
import { createMachineTries } from "./machine-tries.ts";
import { intOf } from "./columns.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { change, query, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What a sweep has found out about a row that it leaves alone for now. */
export interface Try {
  readonly uid: string;
  /** The end as it was read. */
  readonly expiresAt: number;
  readonly error: string | null;
  readonly nextTryAt: number;
  /** Whether it counts as an attempt that failed. */
  readonly failed: boolean;
  /** Whether it was looked for and not seen. */
  readonly missing: boolean;
  /** Whether another machine stands at its id. */
  readonly mismatched: boolean;
  /** Whether the provider had agreed to delete it and did not: it is to be deleted again. */
  readonly notDeleted?: boolean;
}

/** Whose turn it is: a machine that costs money comes before a row that may have none, and both before what failed before. */
const TURN = "CASE WHEN attempts > 0 THEN 2 WHEN provider_id IS NULL THEN 1 ELSE 0 END";
const turnOf = ({ attempts, providerId }: MachineRow): number => (attempts > 0 ? 2 : providerId === null ? 1 : 0);

/**
 * Live rows whose end has come and whose deletion the provider has not accepted, from behind `after` on: oldest end first; behind
 * them those that no machine is known of, and last those that failed before. Those that are being tried or back off wait.
 */
export const dueMachines = (now: number, limit: number, after: MachineRow | null): Query =>
  query(
    `SELECT * FROM machines WHERE ${LIVE_MACHINE} AND expires_at <= ?1 AND delete_accepted_at IS NULL AND ${FREE}
       AND (${TURN}, expires_at, uid) > (?3, ?4, ?5)
     ORDER BY ${TURN}, expires_at, uid LIMIT ?2`,
    now,
    limit,
    after === null ? 0 : turnOf(after),
    after?.expiresAt ?? 0,
    after?.uid ?? "",
  );

/**
 * Of rows of a create or a destroy that is not known to its end, or whose label is behind; `?1` is now. Whoever brought about in this very tick that the
 * provider agreed to a deletion has looked for the machine since.
 */
export const TO_SETTLE = `${UNSETTLED} AND ${FREE}
  AND iif(delete_accepted_at IS NULL, expires_at > ?1, delete_accepted_at <> ?1)`;

/** What of `machines` is to be worked on, and who does it when. */
export function createMachineWork(db: Db) {
  return {
    ...createMachineTries(db),

    /** The rows of {@link dueMachines}. */
    async due(now: number, limit: number, after: MachineRow | null): Promise<MachineRow[]> {
      return parseRows(machineRow, await db.read(dueMachines(now, limit, after)));
    },

    /** How many should have been gone by `endedBefore` and are not put off for longer than until `triedBefore`. */
    async countOverdue(endedBefore: number, triedBefore: number): Promise<number> {
      const rows = await db.read(
        query(
          `SELECT count(*) AS overdue FROM machines
           WHERE ${LIVE_MACHINE} AND expires_at <= ?1 AND (next_try_at IS NULL OR next_try_at <= ?2)`,
          endedBefore,
          triedBefore,
        ),
      );
      return parseFirst((row) => intOf(row, "overdue"), rows) ?? 0;
    },

    /** Rows that are to be settled; those that nobody looked at for longest first. */
    async unsettled(now: number, limit: number): Promise<MachineRow[]> {
      const rows = await db.read(
        query(`SELECT * FROM machines WHERE ${TO_SETTLE} ORDER BY coalesce(looked_at, 0), uid LIMIT ?2`, now, limit),
      );
      return parseRows(machineRow, rows);
    },

    /** Rows whose deletion the provider has agreed to, and that is still to be proven; those that nobody looked at for longest first. */
    async unproven(now: number, limit: number): Promise<MachineRow[]> {
      const rows = await db.read(
        query(
          `SELECT * FROM machines WHERE ${TO_SETTLE} AND delete_accepted_at IS NOT NULL
           ORDER BY coalesce(looked_at, 0), uid LIMIT ?2`,
          now,
          limit,
        ),
      );
      return parseRows(machineRow, rows);
    },

    /** How many have had a label that does not tell their end since `before`. One that is missing has none that could be written. */
    async countBehind(before: number): Promise<number> {
      const where = `${LABEL_BEHIND} AND label_behind_since <= ?1 AND missing_since IS NULL`;
      const rows = await db.read(query(`SELECT count(*) AS behind FROM machines WHERE ${where}`, before));
      return parseFirst((row) => intOf(row, "behind"), rows) ?? 0;
    },

    /** These are not waited for to be seen with a firewall any more. */
    async forgetFirewall(uids: readonly string[], firewallId: string): Promise<void> {
      await db.write(
        change(
          {
            head: `UPDATE machines SET attachments = json_set(attachments, '$.firewallIds', json((SELECT json_group_array(value)
                FROM json_each(attachments, '$.firewallIds') WHERE value <> ?2)))`,
            where: "uid IN (SELECT value FROM json_each(?1)) AND attachments IS NOT NULL",
          },
          JSON.stringify(uids),
          firewallId,
        ),
      );
    },

    /** Takes the one right to look at machines that nobody has looked at since `before`. Answers the rows that were won. */
    async claimLook(uids: readonly string[], now: number, before: number): Promise<MachineRow[]> {
      const rows = await db.write(
        change(
          {
            head: "UPDATE machines SET looked_at = ?2",
            where: "uid IN (SELECT value FROM json_each(?1)) AND coalesce(looked_at, 0) <= ?3",
            tail: "RETURNING *",
          },
          JSON.stringify(uids),
          now,
          before,
        ),
      );
      return parseRows(machineRow, rows);
    },

    /** A call could not finish what it began: the next call, or the next sweep, may go on at once. */
    async giveBack(uid: string, error: string, now: number): Promise<void> {
      await db.write(
        change(
          { head: "UPDATE machines SET last_error = ?2, next_try_at = ?3", where: `uid = ?1 AND ${LIVE_MACHINE}` },
          uid,
          error,
          now,
        ),
      );
    },

    /**
     * A sweep has looked at these and leaves each alone until its `nextTryAt`; what was seen for the first time is dated. Guarded by
     * being live, and by the end that was read: an owner's word that came meanwhile is not put off.
     */
    async postpone(tries: readonly Try[], now: number): Promise<void> {
      if (tries.length === 0) return;
      await db.write(
        change(
          {
            head: `UPDATE machines SET attempts = attempts + (try.value ->> 'failed'), last_error = try.value ->> 'error',
                next_try_at = try.value ->> 'nextTryAt', looked_at = ?2,
                missing_since = iif(try.value ->> 'missing', coalesce(missing_since, ?2), missing_since),
                mismatched_since = iif(try.value ->> 'mismatched', coalesce(mismatched_since, ?2), mismatched_since),
                delete_accepted_at = iif(try.value ->> 'notDeleted', NULL, delete_accepted_at)
              FROM json_each(?1) AS try`,
            where: `uid = try.value ->> 'uid' AND expires_at = try.value ->> 'expiresAt' AND ${LIVE_MACHINE}`,
          },
          JSON.stringify(tries),
          now,
        ),
      );
    },
  };
}
