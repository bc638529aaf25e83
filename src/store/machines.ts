import { isLive, type Machine, type MachineRow, type Status } from "../machine/machine.ts";
import { toMicroEur } from "../machine/money.ts";
import { insertInto, parseFirst, parseRows, selectPage, sql, type Sql, type Statement } from "./db.ts";
import { eventIf, eventsOfEndings } from "./events.ts";
import { LIVE, whereOf, type MachineFilter } from "./machine-filter.ts";
import { machineRow } from "./machine-row.ts";

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
>;

export interface Sighting {
  readonly uid: string;
  readonly machine: Machine;
}

/** A row's end and why; a reason that the row has already stays. */
export interface Ending {
  readonly uid: string;
  readonly reason: string;
}

export type MachineStore = ReturnType<typeof createMachineStore>;

/**
 * The `machines` table. A method that changes rows says what it is guarded by; a lost guard changes nothing. `fenced` is one
 * more condition, on what sweeps write.
 */
export function createMachineStore(db: Sql, fenced: string) {
  const first = async (statement: Statement): Promise<MachineRow | null> =>
    parseFirst(machineRow, await db.rows(statement));

  /** The last change of a row, and the event that tells of it. */
  async function end(
    phase: "destroyed" | "disowned",
    status: Status,
    ended: readonly Ending[],
    now: number,
  ): Promise<void> {
    if (ended.length === 0) return;
    const endings = JSON.stringify(ended);
    await db.batch([
      eventsOfEndings(phase, endings, now, `${LIVE}${fenced}`),
      sql(
        `UPDATE machines SET phase = '${phase}', status = '${status}', destroyed_at = ?2, next_try_at = NULL,
           reason = coalesce(reason, ending.value ->> 'reason')
         FROM json_each(?1) AS ending WHERE uid = ending.value ->> 'uid' AND ${LIVE}${fenced}`,
        endings,
        now,
      ),
    ]);
  }

  return {
    /** Holds the name and writes down the intent (I3). False when the owner has a live machine of this name already. */
    async insert(row: NewMachine, tryingUntil: number, requestId: string | null): Promise<boolean> {
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
          next_try_at: tryingUntil,
        },
        "ON CONFLICT DO NOTHING RETURNING uid",
      );
      const told = { uid: row.uid, at: row.requestedAt, event: "requested", requestId } as const;
      const [inserted] = await db.batch([insert, eventIf(told, "changes() > 0")]);
      return (inserted?.length ?? 0) > 0;
    },

    byUid: (uid: string) => first(sql("SELECT * FROM machines WHERE uid = ?", uid)),

    /** The owner's live machine of this name, else the last that had it. */
    byName: (owner: string, name: string) =>
      first(
        sql(
          `SELECT * FROM machines WHERE owner = ? AND name = ?
           ORDER BY ${LIVE} DESC, requested_at DESC, rowid DESC LIMIT 1`,
          owner,
          name,
        ),
      ),

    /**
     * The rows that machines at the provider belong to: of each the live one at its id, else the one that its uid label
     * names. Machines without a row are not in the answer.
     */
    async ofMachines(machines: readonly { providerId: string; uid: string }[]): Promise<Map<string, MachineRow>> {
      if (machines.length === 0) return new Map();
      const rows = await db.rows(
        sql(
          `SELECT * FROM machines WHERE provider_id IN (SELECT value FROM json_each(?1)) AND ${LIVE}
           UNION SELECT * FROM machines WHERE uid IN (SELECT value FROM json_each(?2))`,
          JSON.stringify(machines.map(({ providerId }) => providerId)),
          JSON.stringify(machines.map(({ uid }) => uid)),
        ),
      );
      const found = parseRows(machineRow, rows);
      const atId = new Map(found.filter(isLive).map((row) => [row.providerId, row]));
      const ofUid = new Map(found.map((row) => [row.uid, row]));
      return new Map(
        machines.flatMap(({ providerId, uid }) => {
          const row = atId.get(providerId) ?? ofUid.get(uid);
          return row ? [[providerId, row] as const] : [];
        }),
      );
    },

    /** Takes the one right to try the create of a row whose last try ended or was given up. */
    async claimCreate(uid: string, now: number, tryingUntil: number): Promise<boolean> {
      const claimed = await db.rows(
        sql(
          `UPDATE machines SET next_try_at = ?3
           WHERE uid = ?1 AND phase = 'requested' AND (next_try_at IS NULL OR next_try_at <= ?2) RETURNING uid`,
          uid,
          now,
          tryingUntil,
        ),
      );
      return claimed.length > 0;
    },

    /**
     * Writes down what the provider shows, and with it that a requested machine exists. Guarded: only rows that live and are
     * not being destroyed, and that have no other provider id. Returns the rows that took it.
     */
    async observe(sightings: readonly Sighting[], now: number): Promise<MachineRow[]> {
      if (sightings.length === 0) return [];
      const seen = JSON.stringify(sightings.map(({ uid, machine }) => ({ ...columnsOf(machine), uid })));
      const applies = `phase IN ('requested', 'active') AND (provider_id IS NULL OR provider_id = seen.value ->> 'provider_id')`;
      const [, rows] = await db.batch([
        sql(
          `INSERT INTO events (at, uid, owner, event) SELECT ?2, uid, owner, 'created'
           FROM machines JOIN json_each(?1) AS seen ON uid = seen.value ->> 'uid' WHERE provider_id IS NULL AND ${applies}`,
          seen,
          now,
        ),
        sql(
          `UPDATE machines SET phase = 'active', next_try_at = NULL, last_error = NULL, observed_at = ?2, missing_since = NULL,
             mismatched_since = NULL,
             ${OBSERVED.map((column) => `${column} = seen.value ->> '${column}'`).join(", ")},
             created_at = coalesce(created_at, seen.value ->> 'created_at'),
             price_micro_eur = coalesce(price_micro_eur, seen.value ->> 'price_micro_eur')
           FROM json_each(?1) AS seen WHERE uid = seen.value ->> 'uid' AND ${applies} RETURNING *`,
          seen,
          now,
        ),
      ]);
      return parseRows(machineRow, rows ?? []);
    },

    /** Writes down that these were looked for and not seen, which proves nothing; it only spaces the next look. */
    async looked(uids: readonly string[], now: number): Promise<void> {
      if (uids.length === 0) return;
      await db.rows(
        sql(
          `UPDATE machines SET observed_at = ?2 WHERE uid IN (SELECT value FROM json_each(?1)) AND phase = 'requested'`,
          JSON.stringify(uids),
          now,
        ),
      );
    },

    /** Ends a machine that never came to be. Guarded by `requested`. */
    async fail(uid: string, reason: string, error: string, now: number): Promise<void> {
      await db.batch([
        eventIf({ uid, at: now, event: "failed", reason }, "phase = 'requested'"),
        sql(
          `UPDATE machines SET phase = 'failed', status = 'destroyed', reason = ?2, last_error = ?3, destroyed_at = ?4,
             next_try_at = NULL
           WHERE uid = ?1 AND phase = 'requested'`,
          uid,
          reason,
          error,
          now,
        ),
      ]);
    },

    /** A call could not finish what it began: the next call, or the next sweep, may go on at once. */
    async giveBack(uid: string, error: string, now: number): Promise<void> {
      await db.rows(
        sql(`UPDATE machines SET last_error = ?2, next_try_at = ?3 WHERE uid = ?1 AND ${LIVE}`, uid, error, now),
      );
    },

    /** A sweep failed with these, and leaves each alone until its `nextTryAt`. */
    async retryLater(tries: readonly { uid: string; error: string; nextTryAt: number }[]): Promise<void> {
      if (tries.length === 0) return;
      await db.rows(
        sql(
          `UPDATE machines SET attempts = attempts + 1, last_error = try.value ->> 'error',
             next_try_at = try.value ->> 'nextTryAt'
           FROM json_each(?1) AS try WHERE uid = try.value ->> 'uid' AND ${LIVE}${fenced}`,
          JSON.stringify(tries),
        ),
      );
    },

    /**
     * The owner's word that this uid shall not live: a tombstone from now on, whatever lands later. Guarded by being live.
     * The lease ends with it, so that the sweep takes it up where this request cannot finish.
     */
    async requestDestroy(uid: string, now: number, requestId: string | null): Promise<MachineRow | null> {
      const [, rows] = await db.batch([
        eventIf({ uid, at: now, event: "destroy_requested", requestId }, `${LIVE} AND destroy_requested_at IS NULL`),
        sql(
          `UPDATE machines SET phase = 'destroying', status = 'deleting', reason = 'requested', next_try_at = NULL,
             destroy_requested_at = coalesce(destroy_requested_at, ?2), expires_at = min(expires_at, ?2)
           WHERE uid = ?1 AND ${LIVE} RETURNING *`,
          uid,
          now,
        ),
      ]);
      return parseFirst(machineRow, rows ?? []);
    },

    /** Writes down that these are about to be destroyed, and why. Guarded by being live. */
    async markDestroying(doomed: readonly Ending[]): Promise<void> {
      if (doomed.length === 0) return;
      await db.rows(
        sql(
          `UPDATE machines SET phase = 'destroying', status = 'deleting', reason = coalesce(reason, ending.value ->> 'reason')
           FROM json_each(?1) AS ending WHERE uid = ending.value ->> 'uid' AND phase IN ('requested', 'active')${fenced}`,
          JSON.stringify(doomed),
        ),
      );
    },

    /** Closes rows whose machine the provider no longer has, or has agreed to delete. Guarded by being live. */
    markDestroyed: (ended: readonly Ending[], now: number) => end("destroyed", "destroyed", ended, now),

    /** Gives up rows whose machine is no longer the one that was recorded. Guarded by being live. */
    disown: (ended: readonly Ending[], now: number) => end("disowned", "unknown", ended, now),

    /** Writes down that these were seen to be missing, or another machine, for the first time: how long has that been so? */
    async note(what: "missing" | "mismatched", uids: readonly string[], now: number): Promise<void> {
      if (uids.length === 0) return;
      await db.rows(
        sql(
          `UPDATE machines SET ${what}_since = coalesce(${what}_since, ?2)
           WHERE uid IN (SELECT value FROM json_each(?1)) AND ${LIVE}${fenced}`,
          JSON.stringify(uids),
          now,
        ),
      );
    },

    /**
     * Live rows whose end has come, from behind `after` on: oldest end first, and behind them those that failed before. Those
     * that are being tried or back off wait; a day is longer than any back-off, so a later mark is a clock's mistake.
     */
    async due(now: number, limit: number, after: MachineRow | null): Promise<MachineRow[]> {
      const rows = await db.rows(
        sql(
          `SELECT * FROM machines WHERE ${LIVE} AND expires_at <= ?1
             AND (next_try_at IS NULL OR next_try_at <= ?1 OR next_try_at > ?1 + 86400000)
             AND (attempts > 0, expires_at, uid) > (?3, ?4, ?5)
           ORDER BY attempts > 0, expires_at, uid LIMIT ?2`,
          now,
          limit,
          Number((after?.attempts ?? 0) > 0),
          after?.expiresAt ?? 0,
          after?.uid ?? "",
        ),
      );
      return parseRows(machineRow, rows);
    },

    /** One page of the machines that match, oldest first, and how many match in all. */
    list(filter: MachineFilter): Promise<{ rows: MachineRow[]; total: number }> {
      const { text, params } = whereOf(filter);
      const from = sql(`machines WHERE ${text}`, ...params);
      return selectPage(db, machineRow, { from, order: "requested_at, uid", ...filter });
    },
  };
}

const OBSERVED = ["provider_id", "status", "arch", "public_ipv4", "public_ipv6", "private_ipv4"];

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
