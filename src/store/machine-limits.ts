import type { MachineRow } from "../machine/machine.ts";
import type { DearestKnown } from "../machine/money.ts";
import { beyondMoney, chargedSince, chargeOf, hourlyOf, spentIn, type MonthLimits } from "./charges.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { machineRow, RATE_COLUMNS } from "./machine-row.ts";
import { intOf, intOrNull, odd, textOf, type Reader } from "./columns.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { query } from "./statements.ts";
import type { Db } from "./writer.ts";

/**
 * What there may be of machines. Live ones count: all that is not confirmed gone. Of an account null = no limit of its own; of the
 * installation likewise.
 */
export interface Limits {
  readonly machines: { readonly account: number | null; readonly installation: number };
  /** What an hour of the account's live machines may cost, micro-EUR. */
  readonly microEurPerHour: number | null;
  /** The months that a lease touches, and what they may cost; empty where nothing limits them. */
  readonly months: readonly MonthLimits[];
}

/** The parameters of {@link BEYOND_LIMITS}, in their order; without limits nothing is beyond them. */
export const limitParams = (limits: Limits | null) => [
  limits?.machines.account ?? null,
  limits?.machines.installation ?? null,
  limits?.microEurPerHour ?? null,
  monthsParam(limits?.months ?? []),
];
/** The parameter of statements that move an end or a price. */
export const monthsParam = (months: readonly MonthLimits[]): string | null =>
  months.length === 0 ? null : JSON.stringify(months);

/**
 * Finds something where one more machine, `new`, would be beyond a limit. Decided in the insert itself, so that of many creates at
 * once only as many as fit are written.
 */
export const BEYOND_LIMITS = `SELECT 1 WHERE
  (SELECT count(*) FROM machines WHERE account = new.account AND ${LIVE_MACHINE}) >= ?
  OR (SELECT count(*) FROM machines WHERE ${LIVE_MACHINE}) >= ?
  OR ${hourlyOf("new")}
    + (SELECT coalesce(sum(${hourlyOf("machines")}), 0) FROM machines WHERE account = new.account AND ${LIVE_MACHINE}) > ?
  OR EXISTS (${beyondMoney("?", chargeOf("new", "new.requested_at", "new.expires_at"), "new.account")})`;

const SINCE = chargedSince("machines");
const NOW = chargeOf("machines", SINCE, "machines.expires_at");

/** Finds something where a row of `machines` would be beyond a limit of its months if it ended at `to`, the SQL of that end. */
export const beyondByMove = (months: `?${number}`, to: `?${number}`): string =>
  beyondMoney(months, `${chargeOf("machines", SINCE, to)} - ${NOW}`, "machines.account");

/**
 * The same if it cost what the parameters say, which stand for those of {@link rateColumns} and `has_ipv4`, and, of `perHour`, if an hour of
 * its account's machines came to more than that.
 */
export function beyondByPrice(
  rates: readonly string[],
  { months, perHour }: { months: `?${number}`; perHour: `?${number}` },
): string {
  const columns = [...RATE_COLUMNS, "has_ipv4"].map((column, index) => `${rates[index]} AS ${column}`);
  const from = `FROM (SELECT machines.provider AS provider, ${columns.join(", ")}) AS new`;
  const more = `(SELECT ${hourlyOf("new")} ${from}) - ${hourlyOf("machines")}`;
  const perHourNow = `(SELECT sum(${hourlyOf("others")}) FROM machines AS others
    WHERE others.account = machines.account AND others.${LIVE_MACHINE})`;
  return `SELECT 1 WHERE ${more} > 0 AND ${more} + ${perHourNow} > ${perHour}
    UNION ALL ${beyondMoney(months, `${chargeOf("new", SINCE, "machines.expires_at", from)} - ${NOW}`, "machines.account")}`;
}

/** Many that are beyond every limit come to more than a number can tell exactly. */
const readable = (sum: string): string => `min(${sum}, ${Number.MAX_SAFE_INTEGER})`;

/** So many machines a refusal names. */
const MOST_NAMED = 25;

/** Of an account, and of all. */
interface Counted {
  readonly account: number;
  readonly installation: number;
}
const counted: Reader<Counted> = (row) => ({
  account: intOf(row, "account"),
  installation: intOf(row, "installation"),
});

/** What of a month is spent or reserved, micro-EUR. */
export interface Spent extends Counted {
  readonly month: string;
}
const spent: Reader<Spent> = (row) => ({ ...counted(row), month: textOf(row, "month") });

const dearestKnown: Reader<DearestKnown> = (row) => ({
  dearestMicroEur: intOrNull(row, "dearest_micro_eur"),
  dearestIpv4MicroEur: intOrNull(row, "dearest_ipv4_micro_eur"),
});

/** What the limits of an account are held against. */
export function createMachineLimits(db: Db) {
  return {
    /** How many live machines there are, of the account and of all. */
    async count(account: string): Promise<Counted> {
      const rows = await db.read(
        query(
          `SELECT (SELECT count(*) FROM machines WHERE account = ? AND ${LIVE_MACHINE}) AS account,
            (SELECT count(*) FROM machines WHERE ${LIVE_MACHINE}) AS installation`,
          account,
        ),
      );
      return parseFirst(counted, rows) ?? odd("no count");
    },

    /** What an hour of an account's live machines costs, micro-EUR. */
    async perHour(account: string): Promise<number> {
      const rows = await db.read(
        query(
          `SELECT ${readable(`coalesce(sum(${hourlyOf("machines")}), 0)`)} AS hour FROM machines WHERE account = ? AND ${LIVE_MACHINE}`,
          account,
        ),
      );
      return parseFirst((row) => intOf(row, "hour"), rows) ?? 0;
    },

    /** What months come to by now, of the account and of all: booked, charged since, and reserved to the ends of leases. */
    async spent(account: string, months: readonly MonthLimits[]): Promise<Spent[]> {
      const asked = query(
        `SELECT month.value ->> 'month' AS month, ${readable(spentIn("?1"))} AS account, ${readable(spentIn(null))} AS installation
          FROM json_each(?2) AS month`,
        account,
        JSON.stringify(months),
      );
      return parseRows(spent, await db.read(asked));
    },

    /** The dearest prices that are known of a provider, micro-EUR an hour; null where none is. */
    async dearest(provider: string): Promise<DearestKnown> {
      const asked = query(
        "SELECT dearest_micro_eur, dearest_ipv4_micro_eur FROM catalogues WHERE provider = ?",
        provider,
      );
      return parseFirst(dearestKnown, await db.read(asked)) ?? { dearestMicroEur: null, dearestIpv4MicroEur: null };
    },

    /** An account's live machines, or those of one of its owners, those that end first before the others; at most 25. */
    async ofAccount(account: string, owner: string | null): Promise<MachineRow[]> {
      const rows = await db.read(
        query(
          `SELECT * FROM machines WHERE account = ?1 AND (?2 IS NULL OR owner = ?2) AND ${LIVE_MACHINE}
            ORDER BY expires_at, uid LIMIT ${MOST_NAMED}`,
          account,
          owner,
        ),
      );
      return parseRows(machineRow, rows);
    },
  };
}
