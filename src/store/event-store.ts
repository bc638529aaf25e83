import * as z from "zod";
import { EVENT_KINDS, type EventDetail, type EventKind, type EventRow, type Word } from "../machine/event.ts";
import type { Priced } from "../machine/money.ts";
import type { Ref } from "../machine/name.ts";
import type { RowReason } from "../machine/reason.ts";
import { intOf, intOrNull, jsonAs, reasonOf, textOrNull, type Reader } from "./columns.ts";
import { sql, type Param, type Statement } from "./db.ts";
import { eventsOfUnrecorded } from "./events.ts";
import { ratesIn } from "./machine-row.ts";
import { selectPage, type Page, type Paging } from "./rows.ts";
import type { Db } from "./writer.ts";

const word: z.ZodType<Word | null> = z
  .discriminatedUnion("by", [
    z.object({ by: z.literal("admin_token") }),
    z.object({ by: z.literal("token"), id: z.string() }),
    z.object({ by: z.literal("oidc"), issuer: z.string(), claims: z.record(z.string(), z.string()) }),
    z.object({ by: z.literal("hook"), hook: z.string(), delivery: z.string() }),
    z.object({ by: z.literal("sweep"), id: z.int() }),
  ])
  .nullable()
  .catch(null);
const detail: z.ZodType<EventDetail> = z
  .object({
    token: z.string().optional(),
    hold: z.string().optional(),
    providerId: z.string().optional(),
  })
  .catch({});

/** A row of `events` as D1 returns it, in the domain's words; what another version wrote in words of its own is left out. */
const eventRow: Reader<EventRow> = (row) => ({
  id: intOf(row, "id"),
  at: intOf(row, "at"),
  kind: EVENT_KINDS.find((kind) => kind === row["event"]) ?? "unknown",
  reason: reasonOf(row),
  uid: textOrNull(row, "uid"),
  name: textOrNull(row, "name"),
  owner: textOrNull(row, "owner"),
  account: textOrNull(row, "account"),
  word: jsonAs(row, "evidence", word),
  requestId: textOrNull(row, "request_id"),
  detail: jsonAs(row, "detail", detail),
  createdAt: intOrNull(row, "created_at"),
  hasIpv4: intOrNull(row, "has_ipv4") === 1,
  ...ratesIn(row),
});

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
