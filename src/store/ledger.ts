import type { Booking, Unbooked } from "../machine/ledger.ts";
import type { UsageEntry, UsagePart } from "../machine/usage.ts";
import { intOf, intOrNull, textOf, textOrNull, type Reader } from "./columns.ts";
import type { Param } from "./db.ts";
import { RATE_COLUMNS, ratesIn } from "./machine-row.ts";
import { parseRows } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A row of `machines`, as far as the ledger goes. */
export const unbookedRow: Reader<Unbooked> = (row) => ({
  uid: textOf(row, "uid"),
  account: textOf(row, "account"),
  owner: textOf(row, "owner"),
  serverType: textOf(row, "server_type"),
  providerId: textOrNull(row, "provider_id"),
  requestedAt: intOf(row, "requested_at"),
  createdAt: intOrNull(row, "created_at"),
  expiresAt: intOf(row, "expires_at"),
  destroyedAt: intOrNull(row, "destroyed_at"),
  bookedHours: intOf(row, "booked_hours"),
  hasIpv4: intOf(row, "has_ipv4") === 1,
  ...ratesIn(row),
  dearestMicroEur: intOrNull(row, "dearest_micro_eur"),
  dearestIpv4MicroEur: intOrNull(row, "dearest_ipv4_micro_eur"),
});

const OF_MACHINE = [
  "uid",
  "account",
  "owner",
  "server_type",
  "provider_id",
  "requested_at",
  "created_at",
  "expires_at",
  "destroyed_at",
  "booked_hours",
  "has_ipv4",
  ...RATE_COLUMNS,
].map((column) => `machines.${column}`);
/** Such rows, with the dearest prices that are known; a condition follows. */
const SELECT_UNBOOKED = `SELECT ${OF_MACHINE.join(", ")}, dearest_micro_eur, dearest_ipv4_micro_eur
  FROM machines LEFT JOIN catalogues ON catalogues.provider = machines.provider` as const;

/** It can be told what the machine is charged, if only by the dearest price; or it never was one. */
const HAS_PRICE = `((coalesce(price_micro_eur, dearest_micro_eur) IS NOT NULL
    AND (has_ipv4 = 0 OR coalesce(ipv4_micro_eur, dearest_ipv4_micro_eur) IS NOT NULL))
  OR (created_at IS NULL AND provider_id IS NULL))`;

/** Holds each row of a booking to what was read of it: nobody has booked it, opened it again or seen another end since. */
const AS_READ = `machines.uid = booking.value ->> 'uid' AND machines.booked_at IS NULL
  AND machines.booked_hours = booking.value ->> 'bookedHours' AND machines.destroyed_at = booking.value ->> 'destroyedAt'`;
/** What of each day is to be added, with the row that it comes from. */
const CHARGES = "FROM json_each(?1) AS booking, json_each(booking.value -> 'charges') AS charge, machines";
const sumOf = (field: string): string => `sum(charge.value ->> '${field}')`;

/** Whose sums of which month are meant, by what they are divided. */
export interface LedgerFilter {
  /** As `2026-11`. */
  readonly month: string;
  /** Unix milliseconds. */
  readonly ends: number;
  /** Null = everybody's. */
  readonly account: string | null;
  readonly owner: string | null;
  readonly part: UsagePart;
}

const COLUMN_OF = { owner: "owner", day: "period", server_type: "server_type" } as const;
const sumRow: Reader<UsageEntry> = (row) => ({
  key: textOf(row, "key"),
  hours: intOf(row, "hours"),
  microEur: intOf(row, "micro_eur"),
  estimatedMicroEur: intOf(row, "estimated_micro_eur"),
});

/** The tables `charges` and `charged_months`: what machines were charged. */
export function createLedger(db: Db) {
  return {
    /** Rows that have ended, that the sums do not tell of and that have a price by now: the first that ended before the others. */
    async toBook(limit: number): Promise<Unbooked[]> {
      const asked = query(
        `${SELECT_UNBOOKED} WHERE booked_at IS NULL AND destroyed_at IS NOT NULL AND ${HAS_PRICE} ORDER BY destroyed_at LIMIT ?`,
        limit,
      );
      return parseRows(unbookedRow, await db.read(asked));
    },

    /**
     * What is booked of a month, and the rows that it does not tell of yet, `most` of them: both as they are at one moment, so that no hour is in
     * both or in neither.
     */
    async ofMonth(
      { month, ends, account, owner, part }: LedgerFilter,
      most: number,
    ): Promise<{ booked: UsageEntry[]; rows: Unbooked[] }> {
      const meant = Object.entries({ account, owner }).filter(([, value]) => value !== null);
      // Of the unbooked ones' index, and not of all that an owner ever had (the plus keeps SQLite from that).
      const conditions = (prefix: string) => meant.map(([column]) => ` AND ${prefix}${column} = ?`).join("");
      const values: readonly Param[] = meant.map(([, value]) => value);
      const [booked, rows] = await db.batch([
        query(
          `SELECT ${COLUMN_OF[part]} AS key, sum(hours) AS hours, sum(micro_eur) AS micro_eur,
            sum(estimated_micro_eur) AS estimated_micro_eur
           FROM charges WHERE period >= ? AND period < ? || '.'${conditions("")} GROUP BY 1`,
          month,
          month,
          ...values,
        ),
        query(
          `${SELECT_UNBOOKED} WHERE machines.booked_at IS NULL AND coalesce(machines.created_at, machines.requested_at) < ?
           ${conditions("+machines.")} LIMIT ?`,
          ends,
          ...values,
          most,
        ),
      ]);
      return { booked: parseRows(sumRow, booked ?? []), rows: parseRows(unbookedRow, rows ?? []) };
    },

    /**
     * Adds what rows were charged to the sums, by day and by month, and marks them, all or none. Guarded row by row, by the row being as it was read:
     * of two who book it one does.
     */
    async book(bookings: readonly Booking[], now: number): Promise<void> {
      if (bookings.length === 0) return;
      const asJson = JSON.stringify(bookings);
      await db.batch([
        change(
          {
            head: `INSERT INTO charges (period, account, owner, server_type, hours, micro_eur, estimated_micro_eur)
              SELECT charge.value ->> 'day', account, owner, server_type,
                ${sumOf("hours")}, ${sumOf("microEur")}, ${sumOf("estimatedMicroEur")} ${CHARGES}`,
            where: AS_READ,
            tail: `GROUP BY 1, 2, 3, 4 ${ADDING}`,
          },
          asJson,
        ),
        change(
          {
            head: `INSERT INTO charged_months (month, account, micro_eur)
              SELECT substr(charge.value ->> 'day', 1, 7), account, ${sumOf("microEur")} ${CHARGES}`,
            where: AS_READ,
            tail: "GROUP BY 1, 2 ON CONFLICT (month, account) DO UPDATE SET micro_eur = micro_eur + excluded.micro_eur",
          },
          asJson,
        ),
        change(
          {
            head: `UPDATE machines SET booked_at = ?2, booked_hours = booking.value ->> 'hours' FROM json_each(?1) AS booking`,
            where: AS_READ,
          },
          asJson,
          now,
        ),
      ]);
    },
  };
}

/** Where a sum is there, it grows. */
export const ADDING = `ON CONFLICT (period, account, owner, server_type) DO UPDATE SET hours = hours + excluded.hours,
  micro_eur = micro_eur + excluded.micro_eur, estimated_micro_eur = estimated_micro_eur + excluded.estimated_micro_eur`;
