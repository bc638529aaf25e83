import type { EventKind } from "../machine/event.ts";
import { change, type Change } from "./statements.ts";
import type { Param, Statement } from "./db.ts";
import { RATE_COLUMNS } from "./machine-row.ts";
import type { Db } from "./writer.ts";

/** Events of machines, in SQL: `?2` is now. */
interface OfMachines {
  /** What stands beside `machines`: a JOIN. */
  readonly joined?: string;
  readonly where: string;
  readonly params: readonly Param[];
}

/** What an event keeps of its machine. */
const SUBJECT = `uid, owner, account, name, created_at, has_ipv4, ${RATE_COLUMNS.join(", ")}`;
const SUBJECT_IN_ROW = SUBJECT.split(", ")
  .map((column) => `machines.${column}`)
  .join(", ");

/**
 * Tells the same event of each machine that meets a condition: that of the change beside it in the batch. A reason is its row's, if it
 * has one.
 */
export const eventsOf = (db: Db, kind: EventKind, { joined = "", where, params }: OfMachines): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, reason, ${SUBJECT}, evidence, request_id)
        SELECT ?2, '${kind}', machines.reason, ${SUBJECT_IN_ROW}, ?${params.length + 1}, ?${params.length + 2}
        FROM machines ${joined}`,
      where,
    },
    ...params,
    ...signatureOf(db),
  );

/** The same where the condition's parameters are not numbered. */
export const eventsMeant = (db: Db, kind: EventKind, now: number, { text, params }: Statement): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, reason, ${SUBJECT}, evidence, request_id)
        SELECT ?, '${kind}', machines.reason, ${SUBJECT_IN_ROW}, ?, ? FROM machines`,
      where: text,
    },
    now,
    ...signatureOf(db),
    ...params,
  );

/**
 * Tells an event of each machine that the next statement of the batch is about to change: `changes` is that statement's own
 * condition, and `endings` the JSON of `{uid, phase, reason}` that it goes over. An end is told by its phase. `?2` is now in both.
 * One that somebody asked for is on that one's word, whoever sees it through.
 */
export const eventsOfEndings = (db: Db, endings: string, now: number, changes: string): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, reason, ${SUBJECT}, evidence, request_id)
        SELECT ?2, ending.value ->> 'phase', coalesce(machines.reason, ending.value ->> 'reason'), ${SUBJECT_IN_ROW},
          coalesce(${asAsked("evidence")}, ?3), coalesce(${asAsked("request_id")}, ?4)
        FROM machines JOIN json_each(?1) AS ending ON machines.uid = ending.value ->> 'uid'`,
      where: changes,
    },
    endings,
    now,
    ...signatureOf(db),
  );

/** What the event keeps by which a machine's end was asked for; null where nobody did. */
const asAsked = (column: "evidence" | "request_id"): string =>
  `(SELECT asked.${column} FROM events AS asked
    WHERE asked.uid = machines.uid AND asked.event = 'destroy_requested' ORDER BY asked.id DESC LIMIT 1)`;

/** Tells of the end of machines as JSON describes them, for there is no row to go by. */
export const eventsOfUnrecorded = (db: Db, machines: string, now: number): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, reason, ${SUBJECT}, detail, evidence, request_id)
        SELECT ?2, 'destroyed', gone.value ->> 'reason', gone.value ->> 'uid', gone.value ->> 'owner',
          gone.value ->> 'account', gone.value ->> 'name', gone.value ->> 'createdAt', gone.value ->> 'hasIpv4', gone.value ->> 'priceMicroEur',
          gone.value ->> 'priceMonthMicroEur', gone.value ->> 'ipv4MicroEur', gone.value ->> 'ipv4MonthMicroEur',
          json_object('providerId', gone.value ->> 'providerId'), ?3, ?4
        FROM json_each(?1) AS gone`,
      where: "true",
    },
    machines,
    now,
    ...signatureOf(db),
  );

/** Tells what became of a token, which is its owner's to know, where a condition over its row is met. */
export const eventOfToken = (
  db: Db,
  kind: "token_minted" | "token_revoked",
  { id, at }: { readonly id: string; readonly at: number },
  where: string,
): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, owner, detail, evidence, request_id)
        SELECT ?2, '${kind}', tokens.owner, json_object('token', tokens.id), ?3, ?4 FROM tokens`,
      where: `id = ?1 AND ${where}`,
    },
    id,
    at,
    ...signatureOf(db),
  );

/** Tells that an admin has released what sweeps held back, which is no owner's. */
export const eventOfHold = (db: Db, hold: string, at: number): Change =>
  change(
    {
      head: `INSERT INTO events (at, event, detail, evidence, request_id)
        SELECT ?2, 'hold_released', json_object('hold', ?1), ?3, ?4`,
      where: "true",
    },
    hold,
    at,
    ...signatureOf(db),
  );

/** On whose word, and by which request. */
const signatureOf = ({ signature: { word, requestId } }: Db): readonly Param[] => [
  word === null ? null : JSON.stringify(word),
  requestId,
];
