/**
 * What machines are charged, in SQL, by the rule of `machine/money.ts`: limits in euro are decided in the statement that acts, so what
 * they are held against must be known there.
 *
 * A month is a row of `json_each` over a list of {@link MonthLimits}; the statements below read it as `month`.
 */
import { HOUR_MS, OVERDUE_MS, OVERSTAY_MS, type Month } from "../machine/money.ts";
import { LIVE_MACHINE } from "./conditions.ts";

/** A month, and what its charges are held against, micro-EUR; null = no such limit. */
export interface MonthLimits extends Month {
  /** Unix milliseconds. */
  readonly now: number;
  readonly account: number | null;
  readonly installation: number | null;
}

/** Beyond every limit: as what a price counts that is unknown, while no price at all is known. */
const BEYOND_ALL = 1_000_000_000_000;
/** No month's price caps that. */
const UNCAPPED = Number.MAX_SAFE_INTEGER;

const ofMonth = (key: keyof MonthLimits): string => `(month.value ->> '${key}')`;
/** The dearest price that is known. */
const dearest = (column: "dearest_micro_eur" | "dearest_ipv4_micro_eur", row: string): string =>
  `(SELECT ${column} FROM catalogues WHERE catalogues.provider = ${row}.provider)`;
const hourOf = (row: string): string =>
  `coalesce(${row}.price_micro_eur, ${dearest("dearest_micro_eur", row)}, ${BEYOND_ALL})`;
const ipv4HourOf = (row: string): string =>
  `coalesce(${row}.ipv4_micro_eur, ${dearest("dearest_ipv4_micro_eur", row)}, ${BEYOND_ALL})`;

/** What an hour of a row's machine costs, its IPv4 address included; `row` is the name of its table. */
export const hourlyOf = (row: string): string => `(${hourOf(row)} + iif(${row}.has_ipv4, ${ipv4HourOf(row)}, 0))`;

/** Since when a row's machine is charged: `chargedSince` of `machine/ledger.ts`; `row` is the name of its table. */
export const chargedSince = (row: string): string => `coalesce(${row}.created_at, ${row}.requested_at)`;

/** Until when a machine that ends at `expiresAt` is to be paid for: `reservedUntil` of `machine/money.ts`. */
const reservedUntil = (expiresAt: string): string =>
  `iif(${expiresAt} > ${ofMonth("now")}, ${expiresAt} + ${OVERSTAY_MS}, ${ofMonth("now")} + ${OVERDUE_MS})`;

/** A life, of which some hours may have been booked: the SQL of each part. */
interface Life {
  readonly since: string;
  readonly until: string;
  readonly bookedHours: string;
  /** The name of the table that has its prices. */
  readonly row: string;
}

const selectLife = ({ since, until, bookedHours, row }: Life): string =>
  `SELECT ${since} AS since, ${until} AS until, ${bookedHours} AS booked_hours,
    ${hourOf(row)} AS hour, coalesce(${row}.price_month_micro_eur, ${UNCAPPED}) AS hour_most,
    ${row}.has_ipv4 AS has_ipv4, ${ipv4HourOf(row)} AS ipv4, coalesce(${row}.ipv4_month_micro_eur, ${UNCAPPED}) AS ipv4_most`;

/** Started hours of a time; what is bound from outside may be a real number, which would not be divided as a whole one. */
const hoursOf = (milliseconds: string): string => `CAST(${milliseconds} + ${HOUR_MS - 1} AS INTEGER) / ${HOUR_MS}`;

/** Hours of a machine that are counted with another row of it, which has ended. Both are SQL. */
export const countedElsewhere = (providerId: string, uid: string): string => `coalesce(
  (SELECT max(max(1, ${hoursOf(`before.destroyed_at - ${chargedSince("before")}`)}))
    FROM machines AS before WHERE before.provider_id = ${providerId} AND before.destroyed_at IS NOT NULL AND before.uid <> ${uid}), 0)`;

/** `booked_hours` of a row that is to be booked once more: what is booked of it, or of its machine with another row, stays. */
export const bookedOnce = (providerId: string): string =>
  `iif(booked_at IS NULL, booked_hours, max(booked_hours, ${countedElsewhere(providerId, "machines.uid")}))`;

/** What lives are charged in `month` beside their booked hours: what {@link selectLife} selects, from any number of rows. */
const chargedOf = (lives: string): string => `coalesce((
  SELECT sum(min(till * hour, hour_most) - min(booked * hour, hour_most)
    + has_ipv4 * (min(till * ipv4, ipv4_most) - min(booked * ipv4, ipv4_most)))
  FROM (SELECT *, max(0, min(hours, ending) - beginning) AS till, max(0, min(booked_hours, ending) - beginning) AS booked
    FROM (SELECT *, max(1, ${hoursOf("until - since")}) AS hours,
        ${hoursOf(`max(0, ${ofMonth("begins")} - since)`)} AS beginning,
        ${hoursOf(`max(0, ${ofMonth("ends")} - since)`)} AS ending
      FROM (${lives})))), 0)`;

/**
 * What `month` comes to, for all rows of an account (`account` is its SQL) or of all: what is booked, what ended since, and what live
 * machines will have cost at their ends. A create that nobody has seen the end of counts from when it was asked for.
 */
export const spentIn = (account: string | null): string => {
  const its = (table: string): string => (account === null ? "" : `AND ${table}.account = ${account}`);
  const life = selectLife({
    row: "counted",
    since: chargedSince("counted"),
    until: `iif(counted.${LIVE_MACHINE}, ${reservedUntil("counted.expires_at")}, counted.destroyed_at)`,
    bookedHours: "counted.booked_hours",
  });
  return `(coalesce((SELECT sum(micro_eur) FROM charged_months AS booked
      WHERE booked.month = ${ofMonth("month")} ${its("booked")}), 0)
    + ${chargedOf(`${life} FROM machines AS counted WHERE counted.booked_at IS NULL ${its("counted")}
      AND (counted.${LIVE_MACHINE} OR coalesce(counted.created_at, counted.provider_id) IS NOT NULL)`)})`;
};

/** What a row comes to in `month` if it ends at `expiresAt`, all SQL; `row` is the name of its table, `from` where it comes from. */
export const chargeOf = (row: string, since: string, expiresAt: string, from = ""): string =>
  chargedOf(
    `${selectLife({ row, since, until: reservedUntil(`CAST(${expiresAt} AS INTEGER)`), bookedHours: "0" })} ${from}`,
  );

/**
 * Finds a month in which `asked`, SQL of what is wanted more in it, would be beyond a limit; `months` is the parameter that lists them
 * as JSON, null = none. What asks for nothing more is beyond none.
 */
export const beyondMoney = (months: `?${number | ""}`, asked: string, account: string): string =>
  `SELECT 1 FROM (SELECT value, ${asked} AS asked FROM json_each(${months}) AS month) AS month
    WHERE asked > 0 AND (asked + ${spentIn(account)} > ${ofMonth("account")} OR asked + ${spentIn(null)} > ${ofMonth("installation")})`;
