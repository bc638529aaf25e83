import type { EventKind } from "../machine/event.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { MonthLimits } from "./charges.ts";
import { LABEL_BEHIND } from "./conditions.ts";
import { eventsOf } from "./events.ts";
import { beyondByMove, monthsParam } from "./machine-limits.ts";
import { machineRow } from "./machine-row.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** Alive, nobody's to destroy, and not at its end: the only rows whose lease may change. */
const RENEWABLE = "phase IN ('requested', 'active') AND destroy_requested_at IS NULL AND expires_at > ?2";

interface Move {
  readonly uid: string;
  readonly now: number;
  readonly to: number;
  /** What the months that it touches may cost; empty = no matter what. */
  readonly months: readonly MonthLimits[];
}

/** How leases of `machines` change: each by one guarded UPDATE, so that of a renewal and an end exactly one wins. */
export function createMachineLeases(db: Db) {
  async function move({ uid, now, to, months }: Move, kind: EventKind, guard: string): Promise<MachineRow | null> {
    const where = `uid = ?1 AND ${RENEWABLE} AND ?3 <= max_until AND ${guard} AND NOT EXISTS (${beyondByMove("?4", "?3")})`;
    const [rows] = await db.batch([
      change(
        {
          head: "UPDATE machines SET expires_at = ?3, label_behind_since = coalesce(label_behind_since, ?2)",
          where,
          tail: "RETURNING *",
        },
        uid,
        now,
        to,
        monthsParam(months),
      ),
      eventsOf(db, kind, { where: "uid = ?1 AND changes() > 0", params: [uid, now] }),
    ]);
    return parseFirst(machineRow, rows ?? []);
  }

  return {
    /** Moves a lease's end later. Null where it may not: ended, claimed, past `max_until`, later already, or beyond a limit. */
    renew: (moved: Move): Promise<MachineRow | null> => move(moved, "renewed", "?3 > expires_at"),

    /** Moves a lease's end, either way: what its owner asked to keep after a failure. Null where it may not. */
    keep: (moved: Move): Promise<MachineRow | null> => move(moved, "kept", "true"),

    /**
     * Moves ends later to what labels promise. Such a row was set back, and what it says of its machine's beginning is an old story.
     * Guarded by the end as it was read, and by nobody having ended it.
     */
    async learnEnds(ends: readonly { uid: string; from: number; to: number }[]): Promise<void> {
      if (ends.length === 0) return;
      await db.write(
        change(
          {
            head: `UPDATE machines SET expires_at = promised.value ->> 'to', label_expires_at = promised.value ->> 'to',
                label_behind_since = NULL, attachments = NULL, status = CASE WHEN status = 'creating' THEN 'unknown' ELSE status END
              FROM json_each(?1) AS promised`,
            where: `uid = promised.value ->> 'uid' AND expires_at = promised.value ->> 'from'
              AND promised.value ->> 'to' <= max_until AND phase IN ('requested', 'active')`,
          },
          JSON.stringify(ends),
        ),
      );
    },

    /**
     * Takes the right to write labels that do not tell their lease's end and were not tried since `triedBefore`: those that are behind
     * for longest first.
     */
    async claimLabels(now: number, triedBefore: number, limit: number): Promise<MachineRow[]> {
      const rows = await db.write(
        change(
          {
            head: "UPDATE machines SET label_tried_at = ?1",
            where: `uid IN (SELECT uid FROM machines WHERE ${LABEL_BEHIND} AND expires_at > ?1
              AND (label_tried_at IS NULL OR label_tried_at <= ?2 OR label_tried_at > ?1)
              ORDER BY coalesce(label_behind_since, 0), uid LIMIT ?3)`,
            tail: "RETURNING *",
          },
          now,
          triedBefore,
          limit,
        ),
      );
      return parseRows(machineRow, rows);
    },

    /**
     * What was last written to a machine's label. Not guarded by the lease as it is: a late writer may have overwritten a newer
     * label, and only if that is remembered does settle write it anew.
     */
    async markLabelled(told: readonly { uid: string; expiresAt: number }[], now: number): Promise<void> {
      if (told.length === 0) return;
      await db.write(
        change(
          {
            head: `UPDATE machines SET label_expires_at = told.value ->> 'expiresAt',
                label_behind_since = iif(expires_at = told.value ->> 'expiresAt', NULL, coalesce(label_behind_since, ?2))
              FROM json_each(?1) AS told`,
            where: "uid = told.value ->> 'uid' AND phase = 'active'",
          },
          JSON.stringify(told),
          now,
        ),
      );
    },
  };
}
