import * as z from "zod";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { toMicroEur } from "../machine/money.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { machineRow } from "./machine-row.ts";
import { parseFirst, parseRows } from "./rows.ts";
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

/** Rows that the provider has shown once, and that are not at their end: what is due is asked for by expire. */
const SHOWN = `${LIVE_MACHINE} AND provider_id IS NOT NULL AND delete_accepted_at IS NULL AND expires_at > ?1`;

/** Its owner has forbidden this name for a while: what is found under it goes, as he has said. */
const GIVEN_UP = `EXISTS (SELECT 1 FROM tombstones WHERE tombstones.owner = found.value ->> 'owner'
  AND tombstones.name = found.value ->> 'name' AND until > ?2)`;

/** What a reconcile of `machines` with the provider's inventory reads and writes. */
export function createMachineInventory(db: Db) {
  async function mark(
    column: "missing_since" | "mismatched_since",
    uids: readonly string[],
    now: number,
  ): Promise<void> {
    if (uids.length === 0) return;
    await db.write(
      change(
        {
          head: `UPDATE machines SET ${column} = coalesce(${column}, ?2)`,
          where: `uid IN (SELECT value FROM json_each(?1)) AND ${LIVE_MACHINE}`,
        },
        JSON.stringify(uids),
        now,
      ),
    );
  }

  return {
    /**
     * Gives rows to machines that were found without one. A name that another live machine has by now gives way to the uid. Nothing
     * changes where a uid has a row already. Answers the uids that have one now.
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

    /** Rows that the provider has shown once and that live on, by uid, from behind `after` on. */
    async shownAfter(after: string, limit: number, now: number): Promise<MachineRow[]> {
      const statement = query(
        `SELECT * FROM machines WHERE ${SHOWN} AND uid > ?2 ORDER BY uid LIMIT ?3`,
        now,
        after,
        limit,
      );
      return parseRows(machineRow, await db.read(statement));
    },

    /** How many such rows there are. */
    async countShown(now: number): Promise<number> {
      const rows = await db.read(query(`SELECT count(*) AS shown FROM machines WHERE ${SHOWN}`, now));
      return parseFirst(z.object({ shown: z.int() }), rows)?.shown ?? 0;
    },

    /** How many machines may exist. */
    async countLive(): Promise<number> {
      const rows = await db.read(query(`SELECT count(*) AS live FROM machines WHERE ${LIVE_MACHINE}`));
      return parseFirst(z.object({ live: z.int() }), rows)?.live ?? 0;
    },

    /** Dates the first look that did not see these. Guarded by being live; a date that is there stays. */
    markMissing: (uids: readonly string[], now: number) => mark("missing_since", uids, now),

    /** The same of looks that saw another machine at their ids. */
    markMismatched: (uids: readonly string[], now: number) => mark("mismatched_since", uids, now),

    /** The old way to say so; expire and settle still do. */
    note: (what: "missing" | "mismatched", uids: readonly string[], now: number) => mark(`${what}_since`, uids, now),

    /** Looks that found these missing since then count for nothing. */
    async forgetMissing(since: number): Promise<void> {
      const where = `${LIVE_MACHINE} AND provider_id IS NOT NULL AND missing_since >= ?`;
      await db.write(change({ head: "UPDATE machines SET missing_since = NULL", where }, since));
    },

    /** What was made under one credential of the provider is seen under another: both are the same project's. */
    async adoptCredential(from: readonly string[], to: string): Promise<void> {
      if (from.length === 0) return;
      const where = `${LIVE_MACHINE} AND credential IN (SELECT value FROM json_each(?1))`;
      await db.write(change({ head: "UPDATE machines SET credential = ?2", where }, JSON.stringify(from), to));
    },

    /** An admin's word that every live row belongs to the credential in use. */
    async adoptCredentialForAll(to: string): Promise<void> {
      const where = `${LIVE_MACHINE} AND credential <> ?1`;
      await db.write(change({ head: "UPDATE machines SET credential = ?1", where }, to));
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
