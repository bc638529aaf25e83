import type { ResourceRow } from "../machine/resource.ts";
import type { RowReason } from "../machine/reason.ts";
import type { Param } from "./db.ts";
import { FREE, LIVE_MACHINE, LIVE_RESOURCE, OF_ANY_KIND } from "./conditions.ts";
import { DUE_COLUMNS, dueResource, resourceRow, specText, type DueResource } from "./resource-row.ts";
import { intOf, type Reader } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { change, query, type Change, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** No machine uses it for which a condition holds. */
const unusedBy = (machine: string): string =>
  `NOT EXISTS (SELECT 1 FROM resource_uses JOIN machines ON machines.uid = machine_uid
    WHERE resource_uid = resources.uid AND ${machine})`;
const IDLE = unusedBy(`machines.${LIVE_MACHINE}`);
/** Nor did one when this tick began: `?1` is now. */
const IDLE_BEFORE = unusedBy(`(machines.${LIVE_MACHINE} OR machines.destroyed_at >= ?1)`);
/** Of live ones past their end that no machine uses, nor one that ended just now; `?1` is now. */
export const TO_END = `${LIVE_RESOURCE} AND expires_at <= ?1 AND ${FREE} AND ${IDLE_BEFORE}`;
/** Another row stands for the same key, and nobody has ended it or a machine still uses it. `?2` = the uids that are being ended. */
const SHARED = `EXISTS (SELECT 1 FROM resources AS other WHERE other.kind = 'ssh_key' AND other.spec = resources.spec
  AND other.uid NOT IN (SELECT value FROM json_each(?2)) AND other.provider = resources.provider
  AND other.${LIVE_RESOURCE} AND other.phase <> 'deleting'
  AND (other.delete_requested_at IS NULL OR NOT ${IDLE.replace("resources.uid", "other.uid")}))`;
/** Servers come first, and are machines; then these in turn (S52). */
const IN_ORDER = "CASE kind WHEN 'firewall' THEN 1 WHEN 'network' THEN 2 ELSE 3 END";

/** An owner's live ones that meet a condition, in the order in which they go, `most` of them. */
const ofOwner = (owner: string, most: number, only: string): Query =>
  query(
    `SELECT * FROM resources WHERE ${OF_ANY_KIND} AND owner = ? AND ${LIVE_RESOURCE} AND ${only} ORDER BY ${IN_ORDER}, requested_at, uid LIMIT ?`,
    owner,
    most,
  );

/** The owner's word, under a condition. */
const deleteWord = (where: string, tail: string, now: number, ...params: Param[]): Change =>
  change(
    {
      head: `UPDATE resources SET delete_requested_at = coalesce(delete_requested_at, ?1), expires_at = min(expires_at, ?1),
        reason = 'requested', next_try_at = CASE WHEN phase = 'requested' THEN next_try_at END`,
      where: `${where} AND ${LIVE_RESOURCE}`,
      tail,
    },
    now,
    ...params,
  );

/** A row whose deletion was won. */
export interface ClaimedResource {
  readonly row: ResourceRow;
  /** Another owner's row stands for the same key: this one closes, and the key stays. */
  readonly isShared: boolean;
}

const isSameKey = (a: ResourceRow, b: ResourceRow): boolean =>
  a.spec.kind === "ssh_key" && a.provider === b.provider && specText(a.spec) === specText(b.spec);

const hasSharers: Reader<boolean> = (row) => intOf(row, "shared") === 1;

/** How rows of `resources` end. */
export function createResourceEndings(db: Db) {
  return {
    /** One that never came to be. Guarded by `requested`. */
    async fail(uid: string, reason: RowReason, now: number): Promise<void> {
      const head = "UPDATE resources SET phase = 'failed', reason = ?2, deleted_at = ?3, next_try_at = NULL";
      await db.write(change({ head, where: "uid = ?1 AND phase = 'requested'" }, uid, reason, now));
    },

    /** The owner's word that these shall go as soon as no machine uses them. Guarded by being live; answers those that took it. */
    async requestDelete(uids: readonly string[], now: number): Promise<ResourceRow[]> {
      if (uids.length === 0) return [];
      const where = "uid IN (SELECT value FROM json_each(?2))";
      return parseRows(resourceRow, await db.write(deleteWord(where, "RETURNING *", now, JSON.stringify(uids))));
    },

    /** The same of all that an owner has, however much; nothing is written where it stands already and nothing backs off. */
    async requestDeleteAll(owner: string, now: number, most: number): Promise<ResourceRow[]> {
      const where = `${OF_ANY_KIND} AND owner = ?2 AND (delete_requested_at IS NULL OR (phase <> 'requested' AND next_try_at IS NOT NULL))`;
      const [, rows] = await db.batch([
        deleteWord(where, "", now, owner),
        ofOwner(owner, most, "delete_requested_at IS NOT NULL"),
      ]);
      return parseRows(resourceRow, rows ?? []);
    },

    /** What an owner has, in the order in which it goes, `most` of it. */
    async ofOwner(owner: string, most: number): Promise<ResourceRow[]> {
      return parseRows(resourceRow, await db.read(ofOwner(owner, most, "true")));
    },

    /**
     * Live ones past their end that no live machine uses, nor one that ended just now, in the order in which they go; those that failed
     * before come last.
     */
    async ended(now: number, limit: number): Promise<DueResource[]> {
      const statement = query(
        `SELECT ${DUE_COLUMNS} FROM resources WHERE ${TO_END}
         ORDER BY attempts > 0, ${IN_ORDER}, expires_at, uid LIMIT ?2`,
        now,
        limit,
      );
      return parseRows(dueResource, await db.read(statement));
    },

    /** Writes down that these were found past their end and used by nobody, for the first time. */
    async noteIdle(uids: readonly string[], now: number): Promise<void> {
      if (uids.length === 0) return;
      const head = "UPDATE resources SET idle_since = coalesce(idle_since, ?2)";
      const where = `uid IN (SELECT value FROM json_each(?1)) AND ${LIVE_RESOURCE}`;
      await db.write(change({ head, where }, JSON.stringify(uids), now));
    },

    /**
     * Claims these for deletion. Guarded by being live, past their end and used by no live machine, so that of a use and a claim
     * exactly one wins. Answers those that were won.
     */
    async claimDelete(rows: readonly Pick<ResourceRow, "uid">[], now: number): Promise<ClaimedResource[]> {
      if (rows.length === 0) return [];
      const uids = JSON.stringify(rows.map(({ uid }) => uid));
      const where = `uid IN (SELECT value FROM json_each(?2)) AND ${LIVE_RESOURCE} AND expires_at <= ?1 AND ${IDLE}`;
      const columns = `*, ${SHARED} AS shared`;
      const head = "UPDATE resources SET phase = 'deleting'";
      const won = await db.claim(
        [change({ head, where, tail: `RETURNING ${columns}` }, now, uids)],
        query(`SELECT ${columns} FROM resources WHERE ${where}`, now, uids),
      );
      const shared = parseRows(hasSharers, won);
      const order = new Map(rows.map(({ uid }, index) => [uid, index]));
      const claims = parseRows(resourceRow, won)
        .map((row, index) => ({ row, isShared: shared[index] === true }))
        .sort((a, b) => (order.get(a.row.uid) ?? 0) - (order.get(b.row.uid) ?? 0));
      // Of several that stand for one key the last deletes it.
      return claims.map(({ row, isShared }, index) => ({
        row,
        isShared: isShared || claims.slice(index + 1).some((later) => isSameKey(row, later.row)),
      }));
    },

    /**
     * Closes rows that nothing stands for any more. What is given up stands there still, which its reason tells whatever it was before.
     * Guarded by being live.
     */
    async close(ended: readonly { uid: string; reason: RowReason }[], now: number): Promise<void> {
      if (ended.length === 0) return;
      const closed = change(
        {
          head: `UPDATE resources SET
              phase = CASE WHEN provider_id IS NULL OR ending.value ->> 'reason' = 'given_up' THEN 'failed' ELSE 'deleted' END,
              reason = CASE WHEN ending.value ->> 'reason' = 'given_up' THEN 'given_up'
                ELSE coalesce(reason, ending.value ->> 'reason') END, deleted_at = ?2, next_try_at = NULL
            FROM json_each(?1) AS ending`,
          where: `uid = ending.value ->> 'uid' AND ${LIVE_RESOURCE}`,
        },
        JSON.stringify(ended),
        now,
      );
      await db.write(closed);
    },

    /** Leaves each alone until its `nextTryAt`; a failed try counts, one that only missed it is remembered. */
    async postpone(
      tries: readonly { uid: string; error: string; nextTryAt: number; failed: boolean; missing: boolean }[],
      now: number,
    ): Promise<void> {
      if (tries.length === 0) return;
      const postponed = change(
        {
          head: `UPDATE resources SET attempts = attempts + (try.value ->> 'failed'), last_error = try.value ->> 'error',
              next_try_at = try.value ->> 'nextTryAt',
              missing_since = iif(try.value ->> 'missing', coalesce(missing_since, ?2), missing_since)
            FROM json_each(?1) AS try`,
          where: `uid = try.value ->> 'uid' AND ${LIVE_RESOURCE}`,
        },
        JSON.stringify(tries),
        now,
      );
      await db.write(postponed);
    },
  };
}
