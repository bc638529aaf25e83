import { sql, type Statement } from "./db.ts";

export interface NewEvent {
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: "requested" | "created" | "failed" | "destroy_requested" | "destroyed" | "disowned";
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

/**
 * Tells an event of each machine that the next statement of the batch is about to change: `changes` is that statement's own
 * condition, and `endings` the JSON of `{uid, reason}` that it goes over.
 */
export const eventsOfEndings = (event: NewEvent["event"], endings: string, at: number, changes: string): Statement =>
  sql(
    `INSERT INTO events (at, uid, owner, event, reason)
     SELECT ?1, machines.uid, owner, ?2, coalesce(reason, ending.value ->> 'reason')
     FROM machines JOIN json_each(?3) AS ending ON machines.uid = ending.value ->> 'uid' WHERE ${changes}`,
    at,
    event,
    endings,
  );
