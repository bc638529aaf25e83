import type { Machine, MachineRow } from "../machine/machine.ts";
import { ratesOf } from "../machine/money.ts";
import { eventsOf } from "./events.ts";
import { machineRow, RATE_COLUMNS, rateColumns } from "./machine-row.ts";
import { parseRows } from "./rows.ts";
import { change } from "./statements.ts";
import type { Db } from "./writer.ts";

export interface Sighting {
  readonly uid: string;
  readonly machine: Machine;
  /** Seen with all that it was made with. */
  readonly isComplete?: boolean;
}

/** What the provider shows of rows of `machines`. */
export function createMachineObservations(db: Db) {
  return {
    /**
     * Writes down what the provider shows, and with it that a requested machine exists. Guarded: only rows that live and are
     * not being destroyed, and that have no other provider id. Off before it ever ran is still being created. The first look's
     * prices are those of the order; a later one's only fill in what is unknown. Returns the rows that took it.
     */
    async observe(observations: readonly Sighting[], now: number): Promise<MachineRow[]> {
      if (observations.length === 0) return [];
      const seen = JSON.stringify(
        observations.map(({ uid, machine, isComplete }) => ({ ...columnsOf(machine), uid, isComplete })),
      );
      const applies = `phase IN ('requested', 'active') AND (provider_id IS NULL OR provider_id = seen.value ->> 'provider_id')`;
      const [, rows] = await db.batch([
        eventsOf(db, "created", {
          joined: "JOIN json_each(?1) AS seen ON uid = seen.value ->> 'uid'",
          where: `provider_id IS NULL AND ${applies}`,
          params: [seen, now],
        }),
        change(
          {
            head: `UPDATE machines SET phase = 'active', next_try_at = NULL, last_error = NULL, attempts = 0, observed_at = ?2,
                looked_at = ?2, missing_since = NULL, mismatched_since = NULL,
                attachments = iif(seen.value ->> 'isComplete', NULL, attachments),
                status = CASE WHEN status = 'creating' AND seen.value ->> 'status' IN ('stopped', 'unknown') THEN status
                  ELSE seen.value ->> 'status' END,
                ${OBSERVED.map((column) => `${column} = seen.value ->> '${column}'`).join(", ")},
                ${RATE_COLUMNS.map(keepingRate).join(", ")},
                created_at = coalesce(created_at, seen.value ->> 'created_at')
              FROM json_each(?1) AS seen`,
            where: `uid = seen.value ->> 'uid' AND ${applies}`,
            tail: "RETURNING *",
          },
          seen,
          now,
        ),
      ]);
      return parseRows(machineRow, rows ?? []);
    },

    /** These were seen as they are known: one row is written of each, and no index. Guarded by `active`. */
    async noteSeen(uids: readonly string[], now: number): Promise<void> {
      if (uids.length === 0) return;
      const where = "uid IN (SELECT value FROM json_each(?1)) AND phase = 'active'";
      await db.write(change({ head: "UPDATE machines SET observed_at = ?2", where }, JSON.stringify(uids), now));
    },
  };
}

const OBSERVED = ["provider_id", "arch", "public_ipv4", "public_ipv6", "private_ipv4"];

/** What a catalogue said before the machine was there gives way to what the provider says of the machine, once. */
const keepingRate = (column: string): string =>
  `${column} = iif(provider_id IS NULL, coalesce(seen.value ->> '${column}', ${column}), coalesce(${column}, seen.value ->> '${column}'))`;

const columnsOf = (machine: Machine) => ({
  provider_id: machine.providerId,
  status: machine.status,
  arch: machine.arch,
  public_ipv4: machine.publicIpv4,
  public_ipv6: machine.publicIpv6,
  private_ipv4: machine.privateIpv4,
  created_at: machine.createdAt,
  ...rateColumns(ratesOf(machine)),
});
