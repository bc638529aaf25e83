import {
  RANK_MEMORY_MS,
  type DeliveryReason,
  type DeliveryRow,
  type DeliveryState,
  type NewDelivery,
} from "../machine/delivery.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { sql, type Statement } from "./db.ts";
import { deliveryRow } from "./delivery-row.ts";
import { forbidding, marksOf } from "./machine-endings.ts";
import { textOrNull } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { change, insertInto, query, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What became of a delivery when it was taken on. */
export interface TakenOn {
  readonly row: DeliveryRow;
  /** The live machine that it is about, which its name finds; null where there is none. */
  readonly machineUid: string | null;
}

/** Finds a fact by which the machine of a delivery was ended and that is not older. `?` is now. */
const OUTRANKED = `SELECT 1 FROM hook_ranks WHERE hook_ranks.owner = deliveries.owner AND hook_ranks.name = deliveries.name
  AND hook_ranks.rank >= deliveries.rank AND hook_ranks.until > ?`;

/** Finds a fact by which the machine of an end was to be made and that is newer: of two as old the end wins. */
const outlived = ({ owner, name, rank }: NewDelivery, now: number): Statement =>
  sql(
    `SELECT 1 FROM hook_ranks WHERE hook_ranks.owner = ? AND hook_ranks.name = ? AND hook_ranks.create_rank > ?
      AND hook_ranks.until > ?`,
    owner,
    name,
    rank,
    now,
  );

/** The machine that a delivery's name means: of an end the one that ends, else one that lives on. */
const ITS_MACHINE = `(SELECT machines.uid FROM machines WHERE machines.owner = deliveries.owner AND machines.name = deliveries.name
  AND ${LIVE_MACHINE} AND (deliveries.act = 'destroy' OR machines.phase <> 'destroying'))`;

const outranked: DeliveryReason = "outranked";
/** `?` is now. */
const IGNORE =
  `UPDATE deliveries SET state = 'ignored', reason = '${outranked}', next_try_at = NULL, finished_at = ?` as const;

/** How rows of `deliveries` come to be. */
export function createDeliveryIntake(db: Db) {
  return {
    /**
     * Writes down what an event asks for, all or none. An end counts from here on: its machine is marked to be destroyed, and older facts
     * that are still to be carried out are ended. Anything else is claimed until `until`. What is outranked does nothing, nor does what
     * is `tooOld` and no end. Ends and creates are remembered for two days, for what is older and comes later.
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
        ...others.flatMap((one) =>
          one.rank < tooOld
            ? [inserted(one, { state: "ignored", reason: "too_old", finished_at: now })]
            : beginningOf(one, now, until),
        ),
        query(
          `SELECT *, ${ITS_MACHINE} AS its_machine FROM deliveries WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY rule, uid`,
          uids,
        ),
      ];
      const rows = (await db.batch(parts)).at(-1) ?? [];
      const machines = parseRows((row) => textOrNull(row, "its_machine"), rows);
      return parseRows(deliveryRow, rows).map((row, index) => ({
        row,
        machineUid: machines[index] ?? null,
      }));
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

/** A create or a renewal. That a machine is to be there is remembered from now on, whatever becomes of the create. */
const beginningOf = (one: NewDelivery, now: number, until: number): readonly Change[] => [
  inserted(one, { state: "pending", attempts: 1, next_try_at: until }),
  change(
    {
      head: IGNORE,
      where: `uid = ? AND state = 'pending' AND EXISTS (${OUTRANKED})`,
    },
    now,
    one.uid,
    now,
  ),
  ...(one.act === "create" ? [remembered(one, { rank: 0, create_rank: one.rank }, now)] : []),
];

/** Keeps the latest rank of each kind for two days from the last. */
const remembered = (
  { owner, name }: NewDelivery,
  ranks: { readonly rank: number; readonly create_rank: number | null },
  now: number,
): Change =>
  insertInto(
    "hook_ranks",
    { owner, name, ...ranks, until: now + RANK_MEMORY_MS },
    {
      tail: `ON CONFLICT (owner, name) DO UPDATE SET rank = max(rank, excluded.rank), until = max(until, excluded.until),
        create_rank = max(coalesce(create_rank, excluded.create_rank), coalesce(excluded.create_rank, create_rank))`,
    },
  );

/** An end, with all that it ends. */
function endingOf(db: Db, one: NewDelivery, now: number): readonly Change[] {
  const { uid, owner, name, rank } = one;
  const newer = outlived(one, now);
  const meant = sql(`owner = ? AND name = ? AND NOT EXISTS (${newer.text})`, owner, name, ...newer.params);
  return [
    remembered(one, { rank, create_rank: null }, now),
    change(
      {
        head: IGNORE,
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
    change(
      {
        head: `UPDATE deliveries SET state = 'ignored', reason = '${outranked}'`,
        where: `uid = ? AND EXISTS (${newer.text})`,
      },
      uid,
      ...newer.params,
    ),
    change({ head: `UPDATE deliveries SET machine_uid = ${ITS_MACHINE}`, where: "uid = ? AND state = 'done'" }, uid),
  ];
}
