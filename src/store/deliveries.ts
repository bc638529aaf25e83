import * as z from "zod";
import {
  DELIVERY_ACTS,
  DELIVERY_STATES,
  RANK_MEMORY_MS,
  type DeliveryReason,
  type DeliveryRow,
  type DeliveryState,
  type NewDelivery,
} from "../machine/delivery.ts";
import { isUid } from "../machine/name.ts";
import { FREE, LIVE_MACHINE } from "./conditions.ts";
import { sql } from "./db.ts";
import { forbidding, marksOf } from "./machine-endings.ts";
import { jsonText, parseFirst, parseRows, selectPage } from "./rows.ts";
import { change, insertInto, query, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

const deliveryRow: z.ZodType<DeliveryRow> = z
  .object({
    uid: z.string(),
    hook: z.string(),
    delivery: z.string(),
    rule: z.int().nullable(),
    source: z.string().nullable(),
    owner: z.string(),
    name: z.string(),
    act: z.enum(DELIVERY_ACTS),
    rank: z.int(),
    ttl: z.string().nullable(),
    labels: jsonText(z.record(z.string(), z.string())),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    next_try_at: z.int().nullable(),
    received_at: z.int(),
    finished_at: z.int().nullable(),
    machine_uid: z.string().nullable(),
    reason: z.string().nullable(),
    detail: z.string().nullable(),
  })
  .transform(({ next_try_at, received_at, finished_at, machine_uid, ...row }) => ({
    ...row,
    nextTryAt: next_try_at,
    receivedAt: received_at,
    finishedAt: finished_at,
    machineUid: machine_uid,
  }));

/** What became of a delivery when it was taken on. */
export interface TakenOn {
  readonly row: DeliveryRow;
  /** The live machine that it is about, which its name finds; null where there is none. */
  readonly machineUid: string | null;
}

/** How a delivery ends. */
export interface DeliveryEnd {
  readonly state: Exclude<DeliveryState, "pending">;
  readonly machineUid: string | null;
  readonly reason: string | null;
  readonly detail: string | null;
}

/** So many old rows go at a time: each is several writes, and there is another hour. */
const FORGET_AT_ONCE = 500;

/**
 * A condition for the changes that carry a delivery out: once a newer fact has ended it, they do nothing. So of a late create and the end
 * of its machine the end wins, whichever came to the database first.
 */
export function whilePending(uid: string): string {
  if (!isUid(uid)) throw new Error("a delivery's uid is none");
  return `EXISTS (SELECT 1 FROM deliveries WHERE deliveries.uid = '${uid}' AND deliveries.state = 'pending')`;
}

/** Finds a fact by which the machine of a delivery was ended and that is not older. `?` is now. */
const OUTRANKED = `SELECT 1 FROM hook_ranks WHERE hook_ranks.owner = deliveries.owner AND hook_ranks.name = deliveries.name
  AND hook_ranks.rank >= deliveries.rank AND hook_ranks.until > ?`;

/** The machine that a delivery's name means: of an end the one that ends, else one that lives on. */
const ITS_MACHINE = `(SELECT machines.uid FROM machines WHERE machines.owner = deliveries.owner AND machines.name = deliveries.name
  AND ${LIVE_MACHINE} AND (deliveries.act = 'destroy' OR machines.phase <> 'destroying'))`;

const outranked: DeliveryReason = "outranked";

/** The tables `deliveries` and `hook_ranks`. A method that changes rows says what it is guarded by; a lost guard changes nothing. */
export function createDeliveryStore(db: Db) {
  return {
    /**
     * Writes down what an event asks for, all or none. An end counts from here on: its machine is marked to be destroyed, older facts
     * that are still to be carried out are ended, and it is remembered for two days. Anything else is claimed until `until`, unless it
     * is outranked, or `tooOld`.
     */
    async takeOn(
      deliveries: readonly NewDelivery[],
      { now, until, tooOld }: { readonly now: number; readonly until: number; readonly tooOld: number },
    ): Promise<TakenOn[]> {
      const uids = JSON.stringify(deliveries.map(({ uid }) => uid));
      // Ends first: what the same event would make of the same machine is outranked by them.
      const ends = deliveries.filter(({ act }) => act === "destroy");
      const others = deliveries.filter(({ act }) => act !== "destroy");
      const parts = [
        ...ends.flatMap((one) => endingOf(db, one, now)),
        ...others.flatMap((one) => [
          one.rank < tooOld
            ? inserted(one, { state: "ignored", reason: "too_old", finished_at: now })
            : inserted(one, { state: "pending", attempts: 1, next_try_at: until }),
          change(
            {
              head: `UPDATE deliveries SET state = 'ignored', reason = '${outranked}', next_try_at = NULL, finished_at = ?`,
              where: `uid = ? AND state = 'pending' AND EXISTS (${OUTRANKED})`,
            },
            now,
            one.uid,
            now,
          ),
        ]),
        query(
          `SELECT *, ${ITS_MACHINE} AS its_machine FROM deliveries WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY rule, uid`,
          uids,
        ),
      ];
      const rows = (await db.batch(parts)).at(-1) ?? [];
      const machines = parseRows(z.object({ its_machine: z.string().nullable() }), rows);
      return parseRows(deliveryRow, rows).map((row, index) => ({
        row,
        machineUid: machines[index]?.its_machine ?? null,
      }));
    },

    /** What is still to be carried out and nobody works on, oldest first. */
    async due(now: number, limit: number): Promise<DeliveryRow[]> {
      const rows = await db.read(
        query(
          `SELECT * FROM deliveries WHERE state = 'pending' AND ${FREE} ORDER BY received_at, uid LIMIT ?2`,
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

    /** Forgets what came before `before`, save what is still to be carried out, and ends that no longer count; some at a time. */
    async forget(before: number, now: number): Promise<void> {
      await db.batch([
        change(
          {
            head: "DELETE FROM deliveries",
            where: `uid IN (SELECT uid FROM deliveries WHERE received_at < ?1 AND state <> 'pending' ORDER BY received_at LIMIT ${FORGET_AT_ONCE})`,
          },
          before,
        ),
        change(
          {
            head: "DELETE FROM hook_ranks",
            where: `(owner, name) IN (SELECT owner, name FROM hook_ranks WHERE until <= ?1 ORDER BY until LIMIT ${FORGET_AT_ONCE})`,
          },
          now,
        ),
      ]);
    },

    /** One page, newest first, and how many there are; null = of every hook, in every state. */
    list(
      hook: string | null,
      state: DeliveryState | null,
      page: number,
      perPage: number,
    ): Promise<{ rows: DeliveryRow[]; total: number }> {
      const conditions = [...(hook === null ? [] : ["hook = ?"]), ...(state === null ? [] : ["state = ?"])];
      const params = [hook, state].filter((value) => value !== null);
      const from = sql(`deliveries WHERE ${conditions.join(" AND ") || "true"}`, ...params);
      return selectPage(db, deliveryRow, { from, order: "received_at DESC, uid DESC", page, perPage });
    },
  };
}

const inserted = (
  one: NewDelivery,
  more: { readonly state: DeliveryState; readonly reason?: DeliveryReason; [column: string]: string | number },
): Change =>
  insertInto("deliveries", {
    uid: one.uid,
    hook: one.hook,
    delivery: one.delivery,
    rule: one.rule,
    source: one.source,
    owner: one.owner,
    name: one.name,
    act: one.act,
    rank: one.rank,
    ttl: one.ttl,
    labels: JSON.stringify(one.labels),
    received_at: one.receivedAt,
    ...more,
  });

/** An end, with all that it ends. */
function endingOf(db: Db, one: NewDelivery, now: number): readonly Change[] {
  const { uid, owner, name, rank } = one;
  const meant = sql("owner = ? AND name = ?", owner, name);
  return [
    insertInto(
      "hook_ranks",
      { owner, name, rank, until: now + RANK_MEMORY_MS },
      {
        tail: "ON CONFLICT (owner, name) DO UPDATE SET rank = max(rank, excluded.rank), until = max(until, excluded.until)",
      },
    ),
    change(
      {
        head: `UPDATE deliveries SET state = 'ignored', reason = '${outranked}', next_try_at = NULL, finished_at = ?`,
        where: "owner = ? AND name = ? AND state = 'pending' AND rank <= ?",
      },
      now,
      owner,
      name,
      rank,
    ),
    ...marksOf(db, meant, now),
    forbidding(meant, now),
    inserted(one, { state: "done", finished_at: now }),
    change({ head: `UPDATE deliveries SET machine_uid = ${ITS_MACHINE}`, where: "uid = ?" }, uid),
  ];
}
