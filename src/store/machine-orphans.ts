import type { Machine, MachineRow } from "../machine/machine.ts";
import { ratesOf } from "../machine/money.ts";
import { bookedOnce, countedElsewhere } from "./charges.ts";
import { ENDED_FOR_ABSENCE, LIVE_MACHINE } from "./conditions.ts";
import { eventsOf } from "./events.ts";
import { RATE_COLUMNS, rateColumns } from "./machine-row.ts";
import { textOf } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A machine that was found without a row, and what its labels tell. Times unix milliseconds. */
export interface OrphanMachine extends Pick<
  MachineRow,
  | "uid"
  | "labelUid"
  | "owner"
  | "account"
  | "name"
  | "provider"
  | "installation"
  | "credential"
  | "requestedAt"
  | "expiresAt"
  | "labelExpiresAt"
  | "maxUntil"
> {
  readonly machine: Machine;
  /** The caller's own labels. */
  readonly labels: MachineRow["labels"];
}

/** Its owner has forbidden this name for a while: what is found under it goes, as he has said. */
const GIVEN_UP = `EXISTS (SELECT 1 FROM tombstones WHERE tombstones.owner = found.value ->> 'owner'
  AND tombstones.name = found.value ->> 'name' AND until > ?2)`;

/** How machines that were found without a row come to have one. */
export function createMachineOrphans(db: Db) {
  return {
    /**
     * Opens rows again that were closed only because nobody saw their machine: those that `labelUid` names, under the lease that the
     * labels tell. Guarded by just that end, by nobody else having the name, and by its owner not having forbidden it since. Their machines
     * were there all along: what is booked of them stays, and the rest is to be. Answers the uids that live again.
     */
    async reviveRows(found: readonly OrphanMachine[], now: number): Promise<ReadonlySet<string>> {
      if (found.length === 0) return new Set();
      const columns = JSON.stringify(found.map(columnsOf));
      const where = `uid = found.value ->> 'label_uid' AND ${ENDED_FOR_ABSENCE} AND NOT ${GIVEN_UP} AND NOT EXISTS (SELECT 1 FROM machines AS other
          WHERE other.owner = machines.owner AND other.name = machines.name AND other.${LIVE_MACHINE})`;
      const revived = change(
        {
          // Two of them may have had one name: the other one gets a row of its own.
          head: `UPDATE OR IGNORE machines SET phase = 'active', reason = NULL, destroyed_at = NULL, delete_accepted_at = NULL, attempts = 0,
              next_try_at = NULL, last_error = NULL, missing_since = NULL, mismatched_since = NULL, attachments = NULL,
              observed_at = ?2, looked_at = ?2, booked_at = NULL,
              booked_hours = ${bookedOnce("found.value ->> 'provider_id'")},
              ${REVIVED.map((column) => `${column} = found.value ->> '${column}'`).join(", ")}
            FROM json_each(?1) AS found`,
          where,
          tail: "RETURNING uid",
        },
        columns,
        now,
      );
      const told = eventsOf(db, "adopted", {
        joined: "JOIN json_each(?1) AS found",
        where: `machines.uid = found.value ->> 'label_uid' AND machines.provider_id = found.value ->> 'provider_id'
          AND machines.phase = 'active' AND machines.observed_at = ?2
          AND NOT EXISTS (SELECT 1 FROM events WHERE events.uid = machines.uid AND event = 'adopted' AND +at = ?2)`,
        params: [columns, now],
      });
      const foretold = query(
        `SELECT machines.uid FROM machines JOIN json_each(?1) AS found WHERE ${where} AND ?2`,
        columns,
        now,
      );
      return uidsIn(await db.claim([revived, told], foretold));
    },

    /**
     * Gives rows to machines that were found without one. A name that another live machine has by now gives way to the uid. Nothing
     * changes where a uid has a row already. Hours that another row of the machine counts are not counted again. Answers the uids that were given one.
     */
    async adoptOrphans(found: readonly OrphanMachine[], now: number): Promise<ReadonlySet<string>> {
      if (found.length === 0) return new Set();
      const columns = JSON.stringify(found.map(columnsOf));
      const inserted = change(
        {
          head: `INSERT INTO machines (${COLUMNS.join(", ")}, spec_sha256, observed_at, booked_hours, name, phase, destroy_requested_at, expires_at)
            SELECT ${COLUMNS.map((column) => `found.value ->> '${column}'`).join(", ")}, '', ?2,
              ${countedElsewhere("found.value ->> 'provider_id'", "found.value ->> 'uid'")},
              CASE WHEN EXISTS (SELECT 1 FROM machines AS other WHERE other.owner = found.value ->> 'owner'
                AND other.name = found.value ->> 'name' AND other.${LIVE_MACHINE})
              THEN found.value ->> 'uid' ELSE found.value ->> 'name' END,
              iif(${GIVEN_UP}, 'destroying', 'active'), iif(${GIVEN_UP}, ?2, NULL),
              iif(${GIVEN_UP}, min(?2, found.value ->> 'expires_at'), found.value ->> 'expires_at')
            FROM json_each(?1) AS found`,
          where: "true",
          tail: "ON CONFLICT DO NOTHING RETURNING uid",
        },
        columns,
        now,
      );
      const told = eventsOf(db, "adopted", {
        where: `uid IN (SELECT value ->> 'uid' FROM json_each(?1)) AND observed_at = ?2 AND spec_sha256 = ''
          AND NOT EXISTS (SELECT 1 FROM events WHERE events.uid = machines.uid AND event = 'adopted')`,
        params: [columns, now],
      });
      const unknown = `SELECT value ->> 'uid' AS uid FROM json_each(?1)
        WHERE value ->> 'uid' NOT IN (SELECT uid FROM machines)` as const;
      const adopted = await db.claim([inserted, told], query(unknown, columns));
      return uidsIn(adopted);
    },
  };
}

const uidsIn = (rows: readonly unknown[]): ReadonlySet<string> => new Set(parseRows((row) => textOf(row, "uid"), rows));

/** What a row learns anew when its machine is seen again. */
const REVIVED = [
  "provider_id",
  "credential",
  "status",
  "arch",
  "public_ipv4",
  "public_ipv6",
  "private_ipv4",
  "created_at",
  "expires_at",
  "label_expires_at",
  "max_until",
];

const COLUMNS = [
  "uid",
  "label_uid",
  "owner",
  "account",
  "provider",
  "provider_name",
  "provider_id",
  "installation",
  "credential",
  "status",
  "server_type",
  "region",
  "image",
  "arch",
  "labels",
  "public_ipv4",
  "public_ipv6",
  "private_ipv4",
  ...RATE_COLUMNS,
  "has_ipv4",
  "requested_at",
  "created_at",
  "label_expires_at",
  "max_until",
];

const columnsOf = ({ machine, ...row }: OrphanMachine) => ({
  uid: row.uid,
  name: row.name,
  label_uid: row.labelUid,
  owner: row.owner,
  account: row.account,
  provider: row.provider,
  provider_name: machine.name,
  provider_id: machine.providerId,
  installation: row.installation,
  credential: row.credential,
  status: machine.status,
  server_type: machine.serverType,
  region: machine.region,
  image: "",
  arch: machine.arch,
  labels: JSON.stringify(row.labels),
  public_ipv4: machine.publicIpv4,
  public_ipv6: machine.publicIpv6,
  private_ipv4: machine.privateIpv4,
  ...rateColumns(ratesOf(machine)),
  has_ipv4: Number(machine.publicIpv4 !== ""),
  requested_at: row.requestedAt,
  created_at: machine.createdAt,
  expires_at: row.expiresAt,
  label_expires_at: row.labelExpiresAt,
  max_until: row.maxUntil,
});
