import { uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow, type ShownMachine } from "../machine/machine.ts";
import type { Ref } from "../machine/name.ts";
import { intOf } from "./columns.ts";
import { idOrder, ENDED_MACHINE, LIVE_MACHINE } from "./conditions.ts";
import { sql, type Statement } from "./db.ts";
import { isOfLive, machinesOf, type MachineFilter } from "./machine-filter.ts";
import { machineRow, SHOWN_COLUMNS, shownMachine } from "./machine-row.ts";
import { lastOf, parseFirst, parseRows, selectCounted, selectPage, type Page } from "./rows.ts";
import { query, type Query } from "./statements.ts";
import { ownedBy, type Whose } from "./whose.ts";
import type { Db } from "./writer.ts";

const PHASES = { live: LIVE_MACHINE, ended: ENDED_MACHINE };

/** Finds the owner's live machine of a name, else the last that had it. */
function ofName(whose: Whose, name: string): Statement {
  const owned = ownedBy(whose);
  const params = [...owned.params, name];
  return sql(`rowid = ${lastOf(`machines WHERE ${owned.text} AND name = ?`, PHASES)}`, ...params, ...params);
}

/** It runs, is in a network of its owner's, and has not been seen with an address in it. */
const IS_JOINING = `phase = 'active' AND private_ipv4 = '' AND EXISTS (SELECT 1 FROM resource_uses
  JOIN resources ON resources.uid = resource_uid WHERE machine_uid = machines.uid AND kind = 'network')`;

/** A machine, and whether it still lacks the address that it is to get in a network. */
export interface Shown {
  readonly row: MachineRow;
  readonly isJoining: boolean;
}

/** How rows of `machines` are found: by uid, by name, by the machines that they stand for. */
export function createMachineReads(db: Db) {
  const first = async (asked: Query): Promise<MachineRow | null> => parseFirst(machineRow, await db.read(asked));

  return {
    byUid: (uid: string) => first(query("SELECT * FROM machines WHERE uid = ?", uid)),

    /** The owner's live machine of this name, else the last that had it. */
    byName: (whose: Whose, name: string) => {
      const { text, params } = ofName(whose, name);
      return first(query(`SELECT * FROM machines WHERE ${text}`, ...params));
    },

    /** The live machine that the provider knows by this id. */
    liveAt: (providerId: string) =>
      first(
        query(
          `SELECT * FROM machines WHERE ${idOrder("provider_id")} = ${idOrder("?1")} AND ${LIVE_MACHINE}`,
          providerId,
        ),
      ),

    /** The machine that a ref means, as it is shown to somebody; one that is meant by its uid is not held against an owner. */
    async toShow(whose: Whose, ref: Ref): Promise<Shown | null> {
      const { text, params } = ref.by === "name" ? ofName(whose, ref.name) : sql("uid = ?", ref.uid);
      const rows = await db.read(
        query(`SELECT *, (${IS_JOINING}) AS is_joining FROM machines WHERE ${text}`, ...params),
      );
      return parseFirst((row) => ({ row: machineRow(row), isJoining: intOf(row, "is_joining") === 1 }), rows);
    },

    /**
     * The rows that machines at the provider belong to: of each the live one at its id, else the one that its uid label
     * names. Machines without a row are not in the answer.
     */
    async ofMachines(machines: readonly Pick<Machine, "providerId" | "labels">[]): Promise<Map<string, MachineRow>> {
      if (machines.length === 0) return new Map();
      const rows = await db.read(
        query(
          `SELECT * FROM machines WHERE ${idOrder("provider_id")} IN (SELECT ${idOrder("value")} FROM json_each(?1)) AND ${LIVE_MACHINE}
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
    list(filter: MachineFilter): Promise<Page<ShownMachine>> {
      const { page, perPage } = filter;
      const asked = { columns: SHOWN_COLUMNS, ...machinesOf(filter), page, perPage };
      return isOfLive(filter) ? selectCounted(db, shownMachine, asked) : selectPage(db, shownMachine, asked);
    },
  };
}
