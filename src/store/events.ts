import { change, type Change } from "./statements.ts";

export type EventName =
  | "requested"
  | "created"
  | "failed"
  | "destroy_requested"
  | "destroyed"
  | "disowned"
  | "renewed"
  | "kept"
  | "adopted";

export interface NewEvent {
  readonly uid: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly event: EventName;
  readonly reason?: string;
  readonly requestId?: string | null;
}

/** Tells an event of a machine that meets a condition: that of the change beside it in the batch. */
export const eventIf = ({ uid, at, event, reason, requestId }: NewEvent, condition: string): Change =>
  change(
    {
      head: `INSERT INTO events (at, uid, owner, event, reason, request_id)
        SELECT ?1, uid, owner, ?2, coalesce(?3, reason), ?4 FROM machines`,
      where: `uid = ?5 AND ${condition}`,
    },
    at,
    event,
    reason ?? null,
    requestId ?? null,
    uid,
  );

/**
 * Tells an event of each machine that the next statement of the batch is about to change: `changes` is that statement's own
 * condition, and `endings` the JSON of `{uid, phase, reason}` that it goes over. An end is told by its phase. `?2` is now in both.
 */
export const eventsOfEndings = (endings: string, now: number, changes: string): Change =>
  change(
    {
      head: `INSERT INTO events (at, uid, owner, event, reason)
        SELECT ?2, machines.uid, owner, ending.value ->> 'phase', coalesce(reason, ending.value ->> 'reason')
        FROM machines JOIN json_each(?1) AS ending ON machines.uid = ending.value ->> 'uid'`,
      where: changes,
    },
    endings,
    now,
  );
