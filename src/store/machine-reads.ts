import { uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { byNumber, ENDED_MACHINE, LIVE_MACHINE } from "./conditions.ts";
import { isOfLive, machinesOf, type MachineFilter } from "./machine-filter.ts";
import { machineRow } from "./machine-row.ts";
import { lastOf, parseFirst, parseRows, selectCounted, selectPage, type Page } from "./rows.ts";
import { query, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

const PHASES = { live: LIVE_MACHINE, ended: ENDED_MACHINE };

/** How rows of `machines` are found: by uid, by name, by the machines that they stand for. */
export function createMachineReads(db: Db) {
  const first = async (asked: Query): Promise<MachineRow | null> => parseFirst(machineRow, await db.read(asked));

  return {
    byUid: (uid: string) => first(query("SELECT * FROM machines WHERE uid = ?", uid)),

    /** The owner's live machine of this name, else the last that had it. */
    byName: (owner: string, name: string) =>
      first(
        query(
          `SELECT * FROM machines WHERE rowid = ${lastOf("machines WHERE owner = ?1 AND name = ?2", PHASES)}`,
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
          `SELECT * FROM machines WHERE ${byNumber("provider_id")} IN (SELECT ${byNumber("value")} FROM json_each(?1)) AND ${LIVE_MACHINE}
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

    /** One page of the machines that match: live ones first, of which the oldest, then ended ones, of which the last. Live ones are counted. */
    list(filter: MachineFilter): Promise<Page<MachineRow>> {
      const asked = { ...machinesOf(filter), page: filter.page, perPage: filter.perPage };
      return isOfLive(filter) ? selectCounted(db, machineRow, asked) : selectPage(db, machineRow, asked);
    },
  };
}
