import { uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { sql } from "./db.ts";
import { isOfEnded, whereOf, type MachineFilter } from "./machine-filter.ts";
import { machineRow } from "./machine-row.ts";
import { parseFirst, parseRows, selectPage } from "./rows.ts";
import { query, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** How rows of `machines` are found: by uid, by name, by the machines that they stand for. */
export function createMachineReads(db: Db) {
  const first = async (asked: Query): Promise<MachineRow | null> => parseFirst(machineRow, await db.read(asked));

  return {
    byUid: (uid: string) => first(query("SELECT * FROM machines WHERE uid = ?", uid)),

    /** The owner's live machine of this name, else the last that had it. */
    byName: (owner: string, name: string) =>
      first(
        query(
          `SELECT * FROM machines WHERE owner = ? AND name = ?
           ORDER BY ${LIVE_MACHINE} DESC, requested_at DESC, rowid DESC LIMIT 1`,
          owner,
          name,
        ),
      ),

    /**
     * The rows that machines at the provider belong to: of each the live one at its id, else the one that its uid label
     * names. Machines without a row are not in the answer.
     */
    async ofMachines(machines: readonly Pick<Machine, "providerId" | "labels">[]): Promise<Map<string, MachineRow>> {
      if (machines.length === 0) return new Map();
      const rows = await db.read(
        query(
          `SELECT * FROM machines WHERE provider_id IN (SELECT value FROM json_each(?1)) AND ${LIVE_MACHINE}
           UNION SELECT * FROM machines WHERE uid IN (SELECT value FROM json_each(?2))`,
          JSON.stringify(machines.map(({ providerId }) => providerId)),
          JSON.stringify(machines.map(({ labels }) => uidIn(labels))),
        ),
      );
      const found = parseRows(machineRow, rows);
      const atId = new Map(found.filter(isLive).map((row) => [row.providerId, row]));
      const ofUid = new Map(found.map((row) => [row.uid, row]));
      return new Map(
        machines.flatMap(({ providerId, labels }) => {
          const row = atId.get(providerId) ?? ofUid.get(uidIn(labels));
          return row ? [[providerId, row] as const] : [];
        }),
      );
    },

    /** One page of the machines that match, and how many match in all: oldest first, and of ended ones the last that ended. */
    list(filter: MachineFilter): Promise<{ rows: MachineRow[]; total: number }> {
      const { text, params } = whereOf(filter);
      const from = sql(`machines WHERE ${text}`, ...params);
      const order = isOfEnded(filter) ? "destroyed_at DESC, uid" : "requested_at, uid";
      return selectPage(db, machineRow, { from, order, ...filter });
    },
  };
}
