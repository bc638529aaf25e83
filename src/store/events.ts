import { sql, type Statement } from "./db.ts";

export interface NewEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: "requested" | "created" | "failed" | "destroy_requested" | "destroyed" | "expired" | "alert";
  readonly requestId?: string | null;
}

/** Tells an event of one machine if the statement before it in the batch changed something. */
export const eventIfChanged = (uid: string, { at, event, requestId }: NewEvent): Statement =>
  sql(
    `INSERT INTO events (at, uid, owner, event, reason, request_id)
     SELECT ?1, uid, owner, ?2, reason, ?3 FROM machines WHERE uid = ?4 AND changes() > 0`,
    at,
    event,
    requestId ?? null,
    uid,
  );

/** Tells the same event of every machine that is now in `phase` with this stamp: those that the batch just moved there. */
export const eventsOfDestroyed = (uids: readonly string[], at: number): Statement =>
  sql(
    `INSERT INTO events (at, uid, owner, event, reason)
     SELECT ?1, uid, owner, 'destroyed', reason FROM machines
     WHERE uid IN (SELECT value FROM json_each(?2)) AND phase = 'destroyed' AND destroyed_at = ?1`,
    at,
    JSON.stringify(uids),
  );
