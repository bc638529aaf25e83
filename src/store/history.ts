import { monthOf } from "../machine/money.ts";
import { ADDING } from "./ledger.ts";
import { change, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What is old: what was over `before`, unix milliseconds, of it so much. */
export interface Old {
  readonly before: number;
  readonly now: number;
  readonly limit: number;
}

/**
 * Rows of machines that ended, are in the ledger, and whose machine could be promised no more: should it be seen once more, its labels and its
 * age say the same as the row did.
 */
const OLD_MACHINES = `SELECT uid FROM machines WHERE destroyed_at < ?1 AND booked_at IS NOT NULL AND max_until <= ?3
  ORDER BY destroyed_at LIMIT ?2`;
/** What was given up stands at the provider still: only its row keeps it from being tried again. */
const OLD_RESOURCES =
  "SELECT uid FROM resources WHERE deleted_at < ?1 AND reason IS NOT 'given_up' ORDER BY deleted_at LIMIT ?2";
/** Days of months that were over. */
const DAY = "length(period) = 10";
const KEY = "period, account, owner, server_type";
const OLD_DAYS = `SELECT ${KEY} FROM charges WHERE ${DAY} AND period < ?1 ORDER BY ${KEY} LIMIT ?2`;

/** How what is old is forgotten, kind by kind: each answers how many rows went. Whatever is added here is done by the sweep too. */
export function createHistory(db: Db) {
  const last = async (changes: readonly Change[]): Promise<number> => (await db.batch(changes)).at(-1)?.length ?? 0;
  const deleted = (table: string, where: string, { before, limit }: Old): Promise<number> =>
    last([change({ head: `DELETE FROM ${table}`, where, tail: "RETURNING 1" }, before, limit)]);

  return {
    /** With what they used. */
    machines: ({ before, now, limit }: Old): Promise<number> =>
      last([
        change({ head: "DELETE FROM resource_uses", where: `machine_uid IN (${OLD_MACHINES})` }, before, limit, now),
        change(
          { head: "DELETE FROM machines", where: `uid IN (${OLD_MACHINES})`, tail: "RETURNING 1" },
          before,
          limit,
          now,
        ),
      ]),

    /** Those of a machine are kept for as long as its row. */
    events: (old: Old): Promise<number> =>
      deleted(
        "events",
        `id IN (SELECT id FROM events WHERE at < ?1 AND NOT EXISTS (SELECT 1 FROM machines WHERE machines.uid = events.uid)
          ORDER BY at LIMIT ?2)`,
        old,
      ),

    /** Reports: their numbers rise with time. */
    sweeps: (old: Old): Promise<number> =>
      deleted(
        "sweeps",
        "id IN (SELECT id FROM (SELECT id, finished_at FROM sweeps ORDER BY id LIMIT ?2) WHERE finished_at < ?1)",
        old,
      ),

    /** Firewalls, networks and keys that are gone. */
    resources: ({ before, limit }: Old): Promise<number> =>
      last([
        change({ head: "DELETE FROM resource_uses", where: `resource_uid IN (${OLD_RESOURCES})` }, before, limit),
        change(
          { head: "DELETE FROM resources", where: `uid IN (${OLD_RESOURCES})`, tail: "RETURNING 1" },
          before,
          limit,
        ),
      ]),

    /** Names that are forbidden no longer. */
    tombstones: (old: Old): Promise<number> =>
      deleted(
        "tombstones",
        "(owner, name) IN (SELECT owner, name FROM tombstones WHERE until < ?1 ORDER BY until LIMIT ?2)",
        { ...old, before: old.now },
      ),

    /** Those that have expired; one that was revoked stays until it would have. */
    tokens: (old: Old): Promise<number> =>
      deleted("tokens", "id IN (SELECT id FROM tokens WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)", old),

    /** Of events what was carried out, or never will be. */
    deliveries: (old: Old): Promise<number> =>
      deleted(
        "deliveries",
        "uid IN (SELECT uid FROM deliveries WHERE received_at < ?1 AND state <> 'pending' ORDER BY received_at LIMIT ?2)",
        old,
      ),

    /** Facts that keep nothing from being made any more. */
    ranks: (old: Old): Promise<number> =>
      deleted(
        "hook_ranks",
        "(owner, name) IN (SELECT owner, name FROM hook_ranks WHERE until < ?1 ORDER BY until LIMIT ?2)",
        { ...old, before: old.now },
      ),

    /** Nothing of them is lost: days are added to their month once all of it is old. */
    days: ({ before, limit }: Old): Promise<number> =>
      last([
        change(
          {
            head: `INSERT INTO charges (${KEY}, hours, micro_eur, estimated_micro_eur)
              SELECT substr(period, 1, 7), account, owner, server_type, sum(hours), sum(micro_eur), sum(estimated_micro_eur)
              FROM charges`,
            where: `(${KEY}) IN (${OLD_DAYS})`,
            tail: `GROUP BY 1, 2, 3, 4 ${ADDING}`,
          },
          monthOf(before),
          limit,
        ),
        change(
          { head: "DELETE FROM charges", where: `(${KEY}) IN (${OLD_DAYS})`, tail: "RETURNING 1" },
          monthOf(before),
          limit,
        ),
      ]),
  };
}
