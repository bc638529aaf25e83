import * as z from "zod";
import { EVENT_KINDS, type EventDetail, type EventKind, type EventRow, type Word } from "../machine/event.ts";
import type { Priced } from "../machine/money.ts";
import type { Ref } from "../machine/name.ts";
import { ROW_REASONS, type RowReason } from "../machine/reason.ts";
import { sql, type Param, type Statement } from "./db.ts";
import { eventsOfUnrecorded } from "./events.ts";
import { ratesIn } from "./machine-row.ts";
import { jsonText, selectPage, type Page, type Paging } from "./rows.ts";
import type { Db } from "./writer.ts";

const word: z.ZodType<Word> = z.discriminatedUnion("by", [
  z.object({ by: z.literal("admin_token") }),
  z.object({ by: z.literal("token"), id: z.string() }),
  z.object({ by: z.literal("oidc"), issuer: z.string(), claims: z.record(z.string(), z.string()) }),
  z.object({ by: z.literal("hook"), hook: z.string(), delivery: z.string() }),
  z.object({ by: z.literal("sweep"), id: z.int() }),
]);
const detail: z.ZodType<EventDetail> = z.object({
  token: z.string().optional(),
  hold: z.string().optional(),
  providerId: z.string().optional(),
});
const text = z.string().nullable();

/** A row of `events` as D1 returns it, in the domain's words; what another version wrote in words of its own is left out. */
const eventRow: z.ZodType<EventRow> = z
  .object({
    id: z.int(),
    at: z.int(),
    event: z.enum(EVENT_KINDS).or(z.literal("unknown")).catch("unknown"),
    reason: z.enum(ROW_REASONS).nullable().catch("unknown"),
    uid: text,
    name: text,
    owner: text,
    account: text,
    evidence: jsonText(word).nullable().catch(null),
    request_id: text,
    detail: jsonText(detail).catch({}),
    created_at: z.int().nullable(),
    has_ipv4: z.int().nullable(),
    price_micro_eur: z.int().nullable(),
    price_month_micro_eur: z.int().nullable(),
    ipv4_micro_eur: z.int().nullable(),
    ipv4_month_micro_eur: z.int().nullable(),
  })
  .transform(({ event, evidence, request_id, created_at, ...row }) => ({
    ...row,
    kind: event,
    word: evidence,
    requestId: request_id,
    createdAt: created_at,
    hasIpv4: row.has_ipv4 === 1,
    ...ratesIn(row),
  }));

/** Which events are meant; null = whatever it is. */
export interface EventFilter extends Paging {
  readonly owner: string | null;
  readonly account: string | null;
  /** One by its id, or all that had the name. */
  readonly machine: Ref | null;
  readonly reason: RowReason | null;
  /** Empty = every kind. */
  readonly kinds: readonly EventKind[];
  /** Not before that; unix milliseconds. */
  readonly since: number | null;
}

/** A machine that was destroyed and whose row, if it has one, had ended before. */
export type Unrecorded = Pick<EventRow, "uid" | "owner" | "account" | "name" | "createdAt" | keyof Priced> & {
  readonly providerId: string;
  readonly reason: RowReason;
};

/** The `events` table, save those that join the batch of a change. */
export function createEventStore(db: Db) {
  return {
    /** Tells of the end of machines, where no row's change does. */
    async tellDestroyed(machines: readonly Unrecorded[], now: number): Promise<void> {
      if (machines.length === 0) return;
      await db.write(eventsOfUnrecorded(db, JSON.stringify(machines), now));
    },

    /** One page of those that match, newest first. */
    list(filter: EventFilter): Promise<Page<EventRow>> {
      const where = whereOf(filter);
      const from = sql(`events WHERE ${where.text}`, ...where.params);
      return selectPage(db, eventRow, { from, order: "at DESC, id DESC", page: filter.page, perPage: filter.perPage });
    },
  };
}

function whereOf({ owner, account, machine, reason, kinds, since }: EventFilter): Statement {
  const conditions: string[] = [];
  const params: Param[] = [];
  const meant = (condition: string, value: Param): void => {
    if (value === null) return;
    conditions.push(condition);
    params.push(value);
  };
  const isOne = machine?.by === "uid";
  // One machine has few events: its owner's index, which has many more, is not to be taken then (the plus keeps SQLite from it).
  meant(isOne ? "+owner = ?" : "owner = ?", owner);
  meant(isOne ? "+at >= ?" : "at >= ?", since);
  meant("uid = ?", machine?.by === "uid" ? machine.uid : null);
  meant("name = ?", machine?.by === "name" ? machine.name : null);
  meant("account = ?", account);
  meant("reason = ?", reason);
  meant("event IN (SELECT value FROM json_each(?))", kinds.length === 0 ? null : JSON.stringify(kinds));
  return sql(conditions.length === 0 ? "true" : conditions.join(" AND "), ...params);
}
