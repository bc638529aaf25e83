import type { MachineRow } from "../machine/machine.ts";
import type { Rates } from "../machine/money.ts";
import type { Candidate } from "../machine/spec.ts";
import { ENDED_MACHINE, LIVE_MACHINE, revoked } from "./conditions.ts";
import { eventsOf } from "./events.ts";
import { createMachineReads } from "./machine-reads.ts";
import { createMachineObservations } from "./machine-observations.ts";
import { BEYOND_LIMITS, limitParams, type Limits } from "./machine-limits.ts";
import { machineRow, RATE_COLUMNS, rateColumns } from "./machine-row.ts";
import { usesOf } from "./resource-uses.ts";
import { parseFirst } from "./rows.ts";
import { change, insertInto } from "./statements.ts";
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
  | "specFields"
  | "serverType"
  | "region"
  | "image"
  | "labels"
  | "requestedAt"
  | "expiresAt"
  | "maxUntil"
  | "keepOnFailureMs"
  | "hasIpv4"
  | keyof Rates
> &
  Partial<Pick<MachineRow, "attachments">>;

/** What must hold at the insert besides. */
interface Conditions {
  /** The minted token that asks for it. */
  readonly tokenId?: string | null;
  /** Null = none: it is there, and is counted. */
  readonly limits?: Limits | null;
  /** No machine of that name may have ended since; null = no matter. */
  readonly onceSince?: number | null;
}

/** What is written with a row: the uids of what its machine uses. */
interface Using extends Conditions {
  readonly uses: readonly string[];
}

/** What is tried for a row. */
export interface Chosen
  extends Candidate, Pick<MachineRow, "image" | "credential" | "labels" | "keepOnFailureMs" | "attachments"> {}

/**
 * The `machines` table: here how rows come to be; beside it how they are read and seen, how leases change, how they end, and what
 * is to be worked on. A method that changes rows says what it is guarded by; a lost guard changes nothing.
 */
export function createMachineStore(db: Db) {
  /**
   * Holds the name and writes down the intent (I3, I6), and what the machine uses. Null when a live machine has it already, its owner
   * gave it up, one of that name has ended since `onceSince`, the minted token that asks for it has been revoked since it was looked at,
   * or it would be beyond a limit; else how many of what it is to use may be used.
   */
  async function insertUsing(
    row: NewMachine,
    tryingUntil: number,
    { tokenId = null, limits = null, onceSince = null, uses }: Using,
  ): Promise<number | null> {
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
        spec_fields: row.specFields && JSON.stringify(row.specFields),
        server_type: row.serverType,
        region: row.region,
        image: row.image,
        labels: JSON.stringify(row.labels),
        requested_at: row.requestedAt,
        expires_at: row.expiresAt,
        max_until: row.maxUntil,
        keep_on_failure_ms: row.keepOnFailureMs,
        ...rateColumns(row),
        has_ipv4: Number(row.hasIpv4),
        attachments: row.attachments ? JSON.stringify(row.attachments) : null,
        // The create call carries the label.
        label_expires_at: row.expiresAt,
        next_try_at: tryingUntil,
        tried_at: row.requestedAt,
      },
      {
        unless: `${NAME_GIVEN_UP} UNION ALL ${revoked("?")} UNION ALL ${BEYOND_LIMITS}${onceSince === null ? "" : ` UNION ALL ${ENDED_SINCE}`}`,
        params: [tokenId, ...limitParams(limits), ...(onceSince === null ? [] : [onceSince])],
        tail: "ON CONFLICT DO NOTHING RETURNING uid",
      },
    );
    const told = { where: "uid = ?1 AND changes() > 0", params: [row.uid, row.requestedAt] };
    const noted = uses.length === 0 ? [] : usesOf(row.uid, uses);
    const [inserted = [], , used = []] = await db.batch([insert, eventsOf(db, "requested", told), ...noted]);
    return inserted.length > 0 ? used.length : null;
  }

  return {
    ...createMachineReads(db),
    ...createMachineObservations(db),

    /** Holds the name and writes down the intent, as {@link insertUsing} does, of a machine that uses nothing. */
    insert: async (row: NewMachine, tryingUntil: number, conditions: Conditions = {}): Promise<boolean> =>
      (await insertUsing(row, tryingUntil, { ...conditions, uses: [] })) !== null,
    insertUsing,

    /** Says what is being tried for a row now, and owns it for as long. False when it is no longer `requested`. */
    async choose(uid: string, chosen: Chosen, now: number, tryingUntil: number): Promise<boolean> {
      const rows = await db.write(
        change(
          {
            head: `UPDATE machines SET server_type = ?2, region = ?3, image = ?6, attachments = ?7, credential = ?8,
              labels = ?9, keep_on_failure_ms = ?10, next_try_at = ?4, tried_at = ?5, missing_since = NULL`,
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
          JSON.stringify(chosen.labels),
          chosen.keepOnFailureMs,
        ),
      );
      return rows.length > 0;
    },

    /**
     * Makes a row of ours the row of a machine that was found at the provider without one: same owner and name, its own uid,
     * account and lease, and with what is charged for it still to be seen. Guarded by `requested`, and by that uid being nobody's.
     * Answers the row under its new uid, or null; what was told of it before stays under the uid that it had.
     */
    async adopt(
      uid: string,
      found: Pick<MachineRow, "uid" | "account" | "requestedAt" | "expiresAt" | "maxUntil" | "credential" | "hasIpv4">,
      now: number,
    ): Promise<MachineRow | null> {
      const [rows] = await db.batch([
        change(
          {
            head: `UPDATE OR IGNORE machines SET uid = ?2, requested_at = ?3, expires_at = ?4, max_until = ?5,
              label_expires_at = ?4, attachments = NULL, credential = ?6, account = ?7, has_ipv4 = ?8, spec_fields = NULL,
              ${RATE_COLUMNS.map((column) => `${column} = NULL`).join(", ")}`,
            where: "uid = ?1 AND phase = 'requested'",
            tail: "RETURNING *",
          },
          uid,
          found.uid,
          found.requestedAt,
          found.expiresAt,
          found.maxUntil,
          found.credential,
          found.account,
          Number(found.hasIpv4),
        ),
        eventsOf(db, "adopted", { where: "uid = ?1 AND changes() > 0", params: [found.uid, now] }),
        change(
          { head: "UPDATE OR IGNORE resource_uses SET machine_uid = ?2", where: "machine_uid = ?1 AND changes() > 0" },
          uid,
          found.uid,
        ),
      ]);
      return parseFirst(machineRow, rows ?? []);
    },

    /** Gives a live row the name that its machine's label tells. False where another live machine of the owner has it. */
    async rename(uid: string, name: string): Promise<boolean> {
      const rows = await db.write(
        change(
          {
            head: "UPDATE OR IGNORE machines SET name = ?2",
            where: `uid = ?1 AND ${LIVE_MACHINE}`,
            tail: "RETURNING uid",
          },
          uid,
          name,
        ),
      );
      return rows.length > 0;
    },
  };
}

/** Decided in the insert itself, as a revocation is, so that of a create and a tombstone exactly one wins. */
const NAME_GIVEN_UP = `SELECT 1 FROM tombstones
  WHERE tombstones.owner = new.owner AND tombstones.name = new.name AND until > new.requested_at`;

/** The last of its name was there, or may have been, and has ended since: as the use case's own look has it. */
const ENDED_SINCE = `SELECT 1 FROM machines AS last WHERE last.rowid = (SELECT rowid FROM machines
    WHERE owner = new.owner AND name = new.name AND ${ENDED_MACHINE} ORDER BY requested_at DESC LIMIT 1)
  AND last.destroyed_at > ? AND (last.phase <> 'failed' OR last.reason = 'never_seen')`;
