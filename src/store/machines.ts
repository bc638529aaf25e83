import { uidIn } from "../machine/labels.ts";
import { isLive, type Attachments, type Machine, type MachineRow } from "../machine/machine.ts";
import type { Candidate } from "../machine/spec.ts";
import { toMicroEur } from "../machine/money.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { sql } from "./db.ts";
import { eventIf } from "./events.ts";
import { whereOf, type MachineFilter } from "./machine-filter.ts";
import { machineRow } from "./machine-row.ts";
import { parseFirst, parseRows, selectPage } from "./rows.ts";
import { change, insertInto, query, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A row before the provider knows of it. */
export type NewMachine = Pick<
  MachineRow,
  | "uid"
  | "owner"
  | "account"
  | "name"
  | "provider"
  | "providerName"
  | "installation"
  | "credential"
  | "specSha256"
  | "serverType"
  | "region"
  | "image"
  | "labels"
  | "requestedAt"
  | "expiresAt"
  | "maxUntil"
  | "keepOnFailureMs"
>;

export interface Sighting {
  readonly uid: string;
  readonly machine: Machine;
  /** Seen with all that it was made with. */
  readonly isComplete?: boolean;
}

/**
 * The `machines` table: here how rows come to be and are read; beside it how they end, how leases change, and what is to be
 * worked on. A method that changes rows says what it is guarded by; a lost guard changes nothing.
 */
export function createMachineStore(db: Db) {
  const first = async (asked: Query): Promise<MachineRow | null> => parseFirst(machineRow, await db.read(asked));

  return {
    /** Holds the name and writes down the intent (I3). False when a live machine has it already, or its owner gave it up. */
    async insert(
      row: NewMachine & Partial<Pick<MachineRow, "attachments">>,
      tryingUntil: number,
      requestId: string | null,
    ): Promise<boolean> {
      const insert = insertInto(
        "machines",
        {
          uid: row.uid,
          owner: row.owner,
          account: row.account,
          name: row.name,
          provider: row.provider,
          provider_name: row.providerName,
          installation: row.installation,
          credential: row.credential,
          phase: "requested",
          status: "creating",
          spec_sha256: row.specSha256,
          server_type: row.serverType,
          region: row.region,
          image: row.image,
          labels: JSON.stringify(row.labels),
          requested_at: row.requestedAt,
          expires_at: row.expiresAt,
          max_until: row.maxUntil,
          keep_on_failure_ms: row.keepOnFailureMs,
          attachments: row.attachments ? JSON.stringify(row.attachments) : null,
          // The create call carries the label.
          label_expires_at: row.expiresAt,
          next_try_at: tryingUntil,
          tried_at: row.requestedAt,
        },
        { unless: NAME_GIVEN_UP, tail: "ON CONFLICT DO NOTHING RETURNING uid" },
      );
      const told = { uid: row.uid, at: row.requestedAt, event: "requested", requestId } as const;
      const [inserted] = await db.batch([insert, eventIf(told, "changes() > 0")]);
      return (inserted?.length ?? 0) > 0;
    },

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

    /** Says what is being tried for a row now, and owns it for as long. False when it is no longer `requested`. */
    async choose(
      uid: string,
      chosen: Candidate & { image: string; attachments: Attachments | null; credential: string },
      now: number,
      tryingUntil: number,
    ): Promise<boolean> {
      const rows = await db.write(
        change(
          {
            head: `UPDATE machines SET server_type = ?2, region = ?3, image = ?6, attachments = ?7, credential = ?8,
              next_try_at = ?4, tried_at = ?5, missing_since = NULL`,
            where: "uid = ?1 AND phase = 'requested'",
            tail: "RETURNING uid",
          },
          uid,
          chosen.serverType,
          chosen.region,
          tryingUntil,
          now,
          chosen.image,
          chosen.attachments && JSON.stringify(chosen.attachments),
          chosen.credential,
        ),
      );
      return rows.length > 0;
    },

    /**
     * Makes a row of ours the row of a machine that was found at the provider without one: same owner and name, its own uid and
     * lease. Guarded by `requested`, and by that uid being nobody's. Answers the row under its new uid, or null.
     */
    async adopt(
      uid: string,
      found: { uid: string; requestedAt: number; expiresAt: number; maxUntil: number; credential: string },
    ): Promise<MachineRow | null> {
      const [rows] = await db.batch([
        change(
          {
            head: `UPDATE OR IGNORE machines SET uid = ?2, requested_at = ?3, expires_at = ?4, max_until = ?5,
              label_expires_at = ?4, attachments = NULL, credential = ?6`,
            where: "uid = ?1 AND phase = 'requested'",
            tail: "RETURNING *",
          },
          uid,
          found.uid,
          found.requestedAt,
          found.expiresAt,
          found.maxUntil,
          found.credential,
        ),
        change(
          { head: "UPDATE OR IGNORE resource_uses SET machine_uid = ?2", where: "machine_uid = ?1 AND changes() > 0" },
          uid,
          found.uid,
        ),
      ]);
      return parseFirst(machineRow, rows ?? []);
    },

    /**
     * Writes down what the provider shows, and with it that a requested machine exists. Guarded: only rows that live and are
     * not being destroyed, and that have no other provider id. Off before it ever
     * ran is still being created. Returns the rows that took it.
     */
    async observe(sightings: readonly Sighting[], now: number): Promise<MachineRow[]> {
      if (sightings.length === 0) return [];
      const seen = JSON.stringify(
        sightings.map(({ uid, machine, isComplete }) => ({ ...columnsOf(machine), uid, isComplete })),
      );
      const applies = `phase IN ('requested', 'active') AND (provider_id IS NULL OR provider_id = seen.value ->> 'provider_id')`;
      const [, rows] = await db.batch([
        change(
          {
            head: `INSERT INTO events (at, uid, owner, event) SELECT ?2, uid, owner, 'created'
              FROM machines JOIN json_each(?1) AS seen ON uid = seen.value ->> 'uid'`,
            where: `provider_id IS NULL AND ${applies}`,
          },
          seen,
          now,
        ),
        change(
          {
            head: `UPDATE machines SET phase = 'active', next_try_at = NULL, last_error = NULL, attempts = 0, observed_at = ?2,
                looked_at = ?2, missing_since = NULL, mismatched_since = NULL,
                attachments = iif(seen.value ->> 'isComplete', NULL, attachments),
                status = CASE WHEN status = 'creating' AND seen.value ->> 'status' IN ('stopped', 'unknown') THEN status
                  ELSE seen.value ->> 'status' END,
                ${OBSERVED.map((column) => `${column} = seen.value ->> '${column}'`).join(", ")},
                created_at = coalesce(created_at, seen.value ->> 'created_at'),
                price_micro_eur = coalesce(price_micro_eur, seen.value ->> 'price_micro_eur')
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

    /** Gives a live row the name that its machine's label tells. False where another live machine of the owner has it. */
    async rename(uid: string, name: string): Promise<boolean> {
      const head = "UPDATE OR IGNORE machines SET name = ?2";
      return (
        (await db.write(change({ head, where: `uid = ?1 AND ${LIVE_MACHINE}`, tail: "RETURNING uid" }, uid, name)))
          .length > 0
      );
    },

    /** One page of the machines that match, oldest first, and how many match in all. */
    list(filter: MachineFilter): Promise<{ rows: MachineRow[]; total: number }> {
      const { text, params } = whereOf(filter);
      const from = sql(`machines WHERE ${text}`, ...params);
      return selectPage(db, machineRow, { from, order: "requested_at, uid", ...filter });
    },
  };
}

/** Decided in the insert itself, so that of a create and a tombstone exactly one wins. */
const NAME_GIVEN_UP = `SELECT 1 FROM tombstones
  WHERE tombstones.owner = new.owner AND tombstones.name = new.name AND until > new.requested_at`;

const OBSERVED = ["provider_id", "arch", "public_ipv4", "public_ipv6", "private_ipv4"];

const columnsOf = (machine: Machine) => ({
  provider_id: machine.providerId,
  status: machine.status,
  arch: machine.arch,
  public_ipv4: machine.publicIpv4,
  public_ipv6: machine.publicIpv6,
  private_ipv4: machine.privateIpv4,
  created_at: machine.createdAt,
  price_micro_eur: toMicroEur(machine.priceEurPerHour),
});
