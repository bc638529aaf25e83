import * as z from "zod";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { toMicroEur } from "../machine/money.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { parseRows } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A machine that was found without a row, and what its labels tell. Times unix milliseconds. */
export interface OrphanMachine extends Pick<
  MachineRow,
  | "uid"
  | "labelUid"
  | "owner"
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
     * Gives rows to machines that were found without one. A name that another live machine has by now gives way to the uid. Nothing
     * changes where a uid has a row already. Answers the uids that were given one.
     */
    async adoptOrphans(found: readonly OrphanMachine[], now: number): Promise<ReadonlySet<string>> {
      if (found.length === 0) return new Set();
      const columns = JSON.stringify(found.map(columnsOf));
      const inserted = change(
        {
          head: `INSERT INTO machines (${COLUMNS.join(", ")}, spec_sha256, observed_at, name, phase, destroy_requested_at, expires_at)
            SELECT ${COLUMNS.map((column) => `found.value ->> '${column}'`).join(", ")}, '', ?2,
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
      const told = change(
        {
          head: "INSERT INTO events (at, uid, owner, event) SELECT ?2, uid, owner, 'adopted' FROM machines",
          where: `uid IN (SELECT value ->> 'uid' FROM json_each(?1)) AND observed_at = ?2 AND spec_sha256 = ''
            AND NOT EXISTS (SELECT 1 FROM events WHERE events.uid = machines.uid AND event = 'adopted')`,
        },
        columns,
        now,
      );
      const unknown = `SELECT value ->> 'uid' AS uid FROM json_each(?1)
        WHERE value ->> 'uid' NOT IN (SELECT uid FROM machines)` as const;
      const adopted = await db.claim([inserted, told], query(unknown, columns));
      return new Set(parseRows(z.object({ uid: z.string() }), adopted).map(({ uid }) => uid));
    },
  };
}

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
  "price_micro_eur",
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
  account: row.owner,
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
  price_micro_eur: toMicroEur(machine.priceEurPerHour),
  requested_at: row.requestedAt,
  created_at: machine.createdAt,
  expires_at: row.expiresAt,
  label_expires_at: row.labelExpiresAt,
  max_until: row.maxUntil,
});
