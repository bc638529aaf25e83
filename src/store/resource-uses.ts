import { ENDED_FOR_ABSENCE, ENDED_MACHINE, LIVE_MACHINE, LIVE_RESOURCE } from "./conditions.ts";
import { textOf, type Row } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { change, query, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** May be used by a machine, and may still be made. */
export const USABLE = "phase IN ('requested', 'active') AND delete_requested_at IS NULL";

/** Notes that a machine that has a row uses those of these that may be used. */
export const useOf = (machineUid: string, uids: readonly string[]): Change =>
  change(
    {
      head: "INSERT INTO resource_uses (resource_uid, machine_uid) SELECT uid, ?1 FROM resources",
      where: `uid IN (SELECT value FROM json_each(?2)) AND ${USABLE} AND ${HAS_ROW}`,
      tail: "ON CONFLICT DO UPDATE SET machine_uid = excluded.machine_uid RETURNING resource_uid",
    },
    machineUid,
    JSON.stringify(uids),
  );

const HAS_ROW = "EXISTS (SELECT 1 FROM machines WHERE machines.uid = ?1)";

/** The same, and that they are idle no longer. */
export const usesOf = (machineUid: string, uids: readonly string[]): readonly Change[] => [
  useOf(machineUid, uids),
  change(
    {
      head: "UPDATE resources SET idle_since = NULL",
      where: `uid IN (SELECT value FROM json_each(?2)) AND ${USABLE} AND ${HAS_ROW}`,
    },
    machineUid,
    JSON.stringify(uids),
  ),
];

const pair = (row: Row) => ({ resourceUid: textOf(row, "resource_uid"), machineUid: textOf(row, "machine_uid") });

/** The `resource_uses` table: which machine uses which resource. */
export function createResourceUses(db: Db) {
  return {
    /** Notes that a machine uses these, which keeps them. Answers how many of them may be used. */
    async use(machineUid: string, uids: readonly string[]): Promise<number> {
      if (uids.length === 0) return 0;
      const [used] = await db.batch(usesOf(machineUid, uids));
      return used?.length ?? 0;
    },

    /**
     * Forgets what machines used that have ended: a resource that is used for years would have a use of each of them. One that ended
     * only because nobody saw it may come back, and keeps what it used.
     */
    async forgetUses(now: number): Promise<void> {
      const where = `EXISTS (SELECT 1 FROM machines WHERE machines.uid = machine_uid AND ${ENDED_MACHINE} AND destroyed_at < ?1
        AND (${ENDED_FOR_ABSENCE}) IS NOT TRUE)`;
      await db.write(change({ head: "DELETE FROM resource_uses", where }, now));
    },

    /** These machines use it no longer. */
    async release(uid: string, machineUids: readonly string[]): Promise<void> {
      const where = "resource_uid = ?1 AND machine_uid IN (SELECT value FROM json_each(?2))";
      await db.write(change({ head: "DELETE FROM resource_uses", where }, uid, JSON.stringify(machineUids)));
    },

    /**
     * The same of a firewall that is none of these machines' last: where it is one's, nothing changes. One transaction, so that of two
     * that are taken off at once one stays. Answers the machines whose last it is, and those that did use it and do no longer.
     */
    async releaseUnlessLast(
      uid: string,
      machineUids: readonly string[],
    ): Promise<{ readonly bare: readonly string[]; readonly released: readonly string[] }> {
      const bare = `FROM json_each(?2) AS machine WHERE NOT EXISTS (SELECT 1 FROM resource_uses AS other
        JOIN resources ON resources.uid = other.resource_uid WHERE other.machine_uid = machine.value
        AND other.resource_uid <> ?1 AND +kind = 'firewall' AND ${USABLE})`;
      const where = `resource_uid = ?1 AND machine_uid IN (SELECT value FROM json_each(?2)) AND NOT EXISTS (SELECT 1 ${bare})`;
      const list = JSON.stringify(machineUids);
      const [last = [], released = []] = await db.batch([
        query(`SELECT machine.value AS machine_uid ${bare}`, uid, list),
        change({ head: "DELETE FROM resource_uses", where, tail: "RETURNING machine_uid" }, uid, list),
      ]);
      const uidsIn = (rows: readonly unknown[]) => parseRows((row) => textOf(row, "machine_uid"), rows);
      return { bare: uidsIn(last), released: uidsIn(released) };
    },

    /**
     * Takes back that these machines use it no longer. Guarded by its being live alone: one that is to be deleted stays as long as
     * it is on a machine.
     */
    async restoreUses(uid: string, machineUids: readonly string[]): Promise<void> {
      if (machineUids.length === 0) return;
      const head = `INSERT INTO resource_uses (resource_uid, machine_uid) SELECT resources.uid, machine.value
        FROM resources, json_each(?2) AS machine` as const;
      const where = `resources.uid = ?1 AND ${LIVE_RESOURCE}`;
      await db.write(change({ head, where, tail: "ON CONFLICT DO NOTHING" }, uid, JSON.stringify(machineUids)));
    },

    /** The uids of the live machines that use each of these. */
    async users(uids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
      if (uids.length === 0) return new Map();
      const statement = query(
        `SELECT resource_uid, machine_uid FROM resource_uses JOIN machines ON machines.uid = machine_uid
         WHERE resource_uid IN (SELECT value FROM json_each(?1)) AND machines.${LIVE_MACHINE} ORDER BY machine_uid`,
        JSON.stringify(uids),
      );
      const pairs = parseRows(pair, await db.read(statement));
      return new Map(
        uids.map((uid) => [uid, pairs.filter((one) => one.resourceUid === uid).map((one) => one.machineUid)]),
      );
    },
  };
}
