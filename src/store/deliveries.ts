import type { DeliveryRow, DeliveryState } from "../machine/delivery.ts";
import { isUid } from "../machine/name.ts";
import { FREE } from "./conditions.ts";
import { sql } from "./db.ts";
import { createDeliveryIntake } from "./delivery-intake.ts";
import { deliveryRow } from "./delivery-row.ts";
import { parseFirst, parseRows, selectPage, type Page } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** How a delivery ends. */
export interface DeliveryEnd {
  readonly state: Exclude<DeliveryState, "pending">;
  readonly machineUid: string | null;
  readonly reason: string | null;
  readonly detail: string | null;
}

/**
 * A condition for the changes that carry a delivery out: once a newer fact has ended it, they do nothing. So of a late create and the end
 * of its machine the end wins, whichever came to the database first.
 */
export function whilePending(uid: string): string {
  if (!isUid(uid)) throw new Error("a delivery's uid is none");
  return `EXISTS (SELECT 1 FROM deliveries WHERE deliveries.uid = '${uid}' AND deliveries.state = 'pending')`;
}

/** Of what is still to be carried out and nobody works on; `?1` is now. */
export const TO_CARRY_OUT = `state = 'pending' AND ${FREE}`;

/** The tables `deliveries` and `hook_ranks`. A method that changes rows says what it is guarded by; a lost guard changes nothing. */
export function createDeliveryStore(db: Db) {
  return {
    ...createDeliveryIntake(db),

    /**
     * What is still to be carried out and nobody works on: each owner's oldest before anybody's next, so that one whose many wait for
     * room keeps nobody else's waiting.
     */
    async due(now: number, limit: number): Promise<DeliveryRow[]> {
      const rows = await db.read(
        query(
          `SELECT * FROM deliveries WHERE ${TO_CARRY_OUT}
            ORDER BY row_number() OVER (PARTITION BY owner ORDER BY received_at, uid), received_at, uid LIMIT ?2`,
          now,
          limit,
        ),
      );
      return parseRows(deliveryRow, rows);
    },

    /** Takes the one right to carry a delivery out until then; null where somebody else has it, or it has ended. */
    async claim(uid: string, now: number, until: number): Promise<DeliveryRow | null> {
      const rows = await db.write(
        change(
          {
            head: "UPDATE deliveries SET next_try_at = ?3, attempts = attempts + 1",
            where: `uid = ?2 AND state = 'pending' AND ${FREE}`,
            tail: "RETURNING *",
          },
          now,
          uid,
          until,
        ),
      );
      return parseFirst(deliveryRow, rows);
    },

    /** A delivery has come to its end. Guarded by nobody having ended it. */
    async finish(uid: string, { state, machineUid, reason, detail }: DeliveryEnd, now: number): Promise<void> {
      await db.write(
        change(
          {
            head: `UPDATE deliveries SET state = ?2, machine_uid = ?3, reason = ?4, detail = ?5, finished_at = ?6, next_try_at = NULL`,
            where: "uid = ?1 AND state = 'pending'",
          },
          uid,
          state,
          machineUid,
          reason,
          detail,
          now,
        ),
      );
    },

    /** A try is over, and there will be another. Guarded by the claim, so that somebody else's stays. */
    async postpone(
      { uid, nextTryAt: claimedUntil }: Pick<DeliveryRow, "uid" | "nextTryAt">,
      nextTryAt: number,
      { reason, detail }: Pick<DeliveryEnd, "reason" | "detail">,
    ): Promise<void> {
      await db.write(
        change(
          {
            head: "UPDATE deliveries SET next_try_at = ?3, reason = ?4, detail = ?5",
            where: "uid = ?1 AND state = 'pending' AND next_try_at = ?2",
          },
          uid,
          claimedUntil,
          nextTryAt,
          reason,
          detail,
        ),
      );
    },

    /** One page, newest first; null = of every hook, in every state. */
    list(hook: string | null, state: DeliveryState | null, page: number, perPage: number): Promise<Page<DeliveryRow>> {
      const conditions = [...(hook === null ? [] : ["hook = ?"]), ...(state === null ? [] : ["state = ?"])];
      const params = [hook, state].filter((value) => value !== null);
      const from = sql(`deliveries WHERE ${conditions.join(" AND ") || "true"}`, ...params);
      return selectPage(db, deliveryRow, { from, order: "received_at DESC, uid DESC", page, perPage });
    },
  };
}
