import type { Attachments, Machine, MachineRow } from "../machine/machine.ts";
import { ratesOf } from "../machine/money.ts";
import type { RowReason } from "../machine/reason.ts";
import { bookedOnce } from "./charges.ts";
import { ENDED_FOR_ABSENCE, LIVE_MACHINE } from "./conditions.ts";
import { sql, type Statement } from "./db.ts";
import { eventsMeant, eventsOfEndings } from "./events.ts";
import { whereOf, type MeantMachines } from "./machine-filter.ts";
import { machineRow, RATE_COLUMNS, rateColumns } from "./machine-row.ts";
import { textOf } from "./columns.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { change, query, type Change } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A row's end and why; a reason that the row has already stays. */
export interface Ending {
  readonly uid: string;
  readonly reason: RowReason;
}

/** The phase in which a row's end leaves it. */
export interface ClosedRow extends Ending {
  readonly phase: "destroyed" | "failed" | "disowned";
}

/** Of a row whose end is `failed`: it was never seen, and nobody is trying just now. `?2` is now. */
const MAY_FAIL = "phase = 'requested' AND coalesce(next_try_at, 0) <= ?2";

/** An end that was decided over a lease as it was read: if it has been renewed since, it is not decided. */
export interface Doom extends Ending {
  readonly expiresAt: number;
  /** Where it was decided over what is missing on a machine: what it was to have, as it was read. */
  readonly lacking?: Attachments | null;
  /** Of the machine that was seen, what the row may not know yet: it is charged for from its creation. */
  readonly providerId?: string;
  readonly createdAt?: number | null;
}

/** Marks the live rows that a condition means, and tells of each that was not marked before; `tail` ends the UPDATE. */
export const marksOf = (db: Db, { text, params }: Statement, now: number, tail = ""): readonly Change[] => [
  eventsMeant(
    db,
    "destroy_requested",
    now,
    sql(`${text} AND ${LIVE_MACHINE} AND destroy_requested_at IS NULL`, ...params),
  ),
  change(
    {
      head: `UPDATE machines SET phase = 'destroying', status = 'deleting', reason = 'requested', next_try_at = NULL,
        destroy_requested_at = coalesce(destroy_requested_at, ?), expires_at = min(expires_at, ?)`,
      where: `${text} AND ${LIVE_MACHINE}`,
      tail,
    },
    now,
    now,
    ...params,
  ),
];

/** Keeps rows that were closed only because nobody saw their machine from being opened again. */
export const forbidding = ({ text, params }: Statement, now: number): Change =>
  change(
    { head: "UPDATE machines SET destroy_requested_at = ?", where: `${ENDED_FOR_ABSENCE} AND ${text}` },
    now,
    ...params,
  );

/** How rows of `machines` end. Every method says what it is guarded by; a lost guard changes nothing. */
export function createMachineEndings(db: Db) {
  /** The last change of rows, and the events that tell of it. */
  async function end(ended: readonly ClosedRow[], now: number, guard: string): Promise<void> {
    if (ended.length === 0) return;
    const endings = JSON.stringify(ended);
    await db.batch([
      eventsOfEndings(db, endings, now, guard),
      change(
        {
          head: `UPDATE machines SET phase = ending.value ->> 'phase', destroyed_at = ?2, next_try_at = NULL,
              status = iif(ending.value ->> 'phase' = 'disowned', 'unknown', 'destroyed'),
              reason = coalesce(reason, ending.value ->> 'reason')
            FROM json_each(?1) AS ending`,
          where: `uid = ending.value ->> 'uid' AND ${guard}`,
        },
        endings,
        now,
      ),
    ]);
  }

  const close = (endings: readonly ClosedRow[], now: number) =>
    end(endings, now, `${LIVE_MACHINE} AND (ending.value ->> 'phase' <> 'failed' OR (${MAY_FAIL}))`);
  const as = (phase: ClosedRow["phase"], ended: readonly Ending[]) => ended.map((one) => ({ ...one, phase }));

  const marks = (meant: Statement, now: number, tail?: string) => marksOf(db, meant, now, tail);
  const forbid = async (meant: Statement, now: number): Promise<void> => void (await db.write(forbidding(meant, now)));

  return {
    /**
     * Ends rows for good, with the event that tells of each: `destroyed` is proven gone, `disowned` is no longer the one that was
     * recorded, `failed` never came to be, on the word of somebody who only looked. Guarded by being live, and of `failed` by
     * nobody having seen it or trying it just now.
     */
    close,

    /** Ends machines that never came to be, on the word of whoever tried. Guarded by `requested`. */
    fail: (ended: readonly Ending[], now: number) => end(as("failed", ended), now, "phase = 'requested'"),

    /**
     * The owner's word that this uid shall not live: a tombstone from now on, whatever lands later. Guarded by being live.
     * The lease ends with it, so that the sweep takes it up where this request cannot finish.
     */
    async requestDestroy(uid: string, now: number): Promise<MachineRow | null> {
      const [, marked] = await db.batch(marks(sql("uid = ?", uid), now, "RETURNING *"));
      return parseFirst(machineRow, marked ?? []);
    },

    /**
     * The same of all that are meant, however many. Nothing is written where it stands already and nothing backs off. Answers those that
     * it holds of, the oldest `most`.
     */
    async requestDestroyAll(meant: MeantMachines, now: number, most: number): Promise<MachineRow[]> {
      const asked = whereOf(meant);
      const live = { ...asked, text: `${LIVE_MACHINE} AND ${asked.text}` };
      const open = { ...live, text: `${live.text} AND (destroy_requested_at IS NULL OR next_try_at IS NOT NULL)` };
      const going = query(
        `SELECT * FROM machines WHERE ${live.text} AND destroy_requested_at IS NOT NULL ORDER BY requested_at, uid LIMIT ?`,
        ...live.params,
        most,
      );
      const [, , rows] = await db.batch([...marks(open, now), going]);
      return parseRows(machineRow, rows ?? []);
    },

    /** The owner's word that a row that was closed only because nobody saw its machine is not to be opened again. */
    forbidReturn: (uid: string, now: number): Promise<void> => forbid(sql("uid = ?", uid), now),

    /** The same of all that are meant. */
    forbidReturns: (meant: MeantMachines, now: number): Promise<void> => forbid(whereOf(meant), now),

    /**
     * Claims machines for destruction, writing down why; the lease ends with it. Guarded by being live, and by the lease as it
     * was decided over, so that of a renewal and a claim exactly one wins. Answers the uids that were won.
     */
    async claimDestroy(doomed: readonly Doom[], now: number): Promise<ReadonlySet<string>> {
      if (doomed.length === 0) return new Set();
      const dooms = JSON.stringify(doomed);
      const where = `uid = doom.value ->> 'uid' AND expires_at = doom.value ->> 'expiresAt' AND ${LIVE_MACHINE}
        AND (doom.value ->> 'lacking' IS NULL OR json(attachments) = json(doom.value ->> 'lacking'))`;
      const head = `UPDATE machines SET phase = 'destroying', status = 'deleting', expires_at = min(expires_at, ?2),
          reason = coalesce(reason, doom.value ->> 'reason'),
          provider_id = coalesce(provider_id, doom.value ->> 'providerId'),
          created_at = coalesce(created_at, doom.value ->> 'createdAt')
        FROM json_each(?1) AS doom` as const;
      const won = await db.claim(
        [change({ head, where, tail: "RETURNING uid" }, dooms, now)],
        query(`SELECT uid FROM machines, json_each(?1) AS doom WHERE ${where}`, dooms),
      );
      return new Set(parseRows((row) => textOf(row, "uid"), won));
    },

    /** The provider has agreed to delete these; that they are gone is to be proven from the next tick on. Guarded by `destroying`. */
    async markAccepted(accepted: readonly { uid: string; providerId: string }[], now: number): Promise<void> {
      if (accepted.length === 0) return;
      await db.write(
        change(
          {
            head: `UPDATE machines SET delete_accepted_at = ?2, next_try_at = ?2 + 1, last_error = NULL,
                provider_id = coalesce(provider_id, accepted.value ->> 'providerId')
              FROM json_each(?1) AS accepted`,
            where: "uid = accepted.value ->> 'uid' AND phase = 'destroying'",
          },
          JSON.stringify(accepted),
          now,
        ),
      );
    },

    /**
     * Machines that were there although their rows had ended, and are proven gone by now: they are charged until then. Guarded by that end, and
     * by the row not being another machine's.
     */
    async endLater(ended: readonly { uid: string; machine: Machine }[], now: number): Promise<void> {
      if (ended.length === 0) return;
      const machines = ended.map(({ uid, machine: { providerId, createdAt, ...prices } }) => ({
        uid,
        provider_id: providerId,
        created_at: createdAt,
        ...rateColumns(ratesOf(prices)),
      }));
      const learnt = ["provider_id", "created_at", ...RATE_COLUMNS];
      const columns = learnt.map((column) => `${column} = coalesce(${column}, gone.value ->> '${column}')`);
      await db.write(
        change(
          {
            head: `UPDATE machines SET destroyed_at = ?2, booked_at = NULL,
                booked_hours = ${bookedOnce("gone.value ->> 'provider_id'")}, ${columns.join(", ")} FROM json_each(?1) AS gone`,
            where: `uid = gone.value ->> 'uid' AND destroyed_at < ?2
              AND coalesce(provider_id, gone.value ->> 'provider_id') = gone.value ->> 'provider_id'`,
          },
          JSON.stringify(machines),
          now,
        ),
      );
    },

    /**
     * Tombstones whose machines turned out to exist, and are not proven to be gone: the sweep shall destroy them, or see that they are; a `reason` is why by
     * now. Nothing changes where another row holds the name by now.
     */
    async reopen(
      seen: readonly { uid: string; machine: Pick<Machine, "providerId" | "createdAt">; reason?: RowReason }[],
      now: number,
    ): Promise<void> {
      if (seen.length === 0) return;
      const machines = seen.map(({ uid, machine: { providerId, createdAt }, reason = null }) => ({
        uid,
        providerId,
        createdAt,
        reason,
      }));
      await db.write(
        change(
          {
            head: `UPDATE OR IGNORE machines SET phase = 'destroying', status = 'deleting',
              reason = coalesce(seen.value ->> 'reason', reason), provider_id = seen.value ->> 'providerId',
              created_at = coalesce(created_at, seen.value ->> 'createdAt'), destroyed_at = NULL, booked_at = NULL,
              booked_hours = ${bookedOnce("seen.value ->> 'providerId'")}, expires_at = min(expires_at, ?2), next_try_at = ?2
              FROM json_each(?1) AS seen`,
            where: "uid = seen.value ->> 'uid' AND phase IN ('failed', 'destroyed', 'destroying')",
          },
          JSON.stringify(machines),
          now,
        ),
      );
    },
  };
}
