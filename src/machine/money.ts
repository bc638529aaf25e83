/**
 * Money: what a provider says a machine costs, and what has been charged for it. As Hetzner bills: started hours, in a calendar
 * month at most the month's price, and a public IPv4 address beside the machine by the same rule.
 */

export const HOUR_MS = 3_600_000;
const MICRO = 1_000_000;

/** What a provider asks for a machine at one place, EUR, gross. Null is unknown, which is never free. */
export interface Prices {
  /** For the server type alone (S63, S65). */
  readonly priceEurPerHour: number | null;
  /** The most that the hours of a calendar month come to. */
  readonly priceEurPerMonth: number | null;
  /** For the machine's public IPv4 address, where it has one. */
  readonly ipv4EurPerHour: number | null;
  readonly ipv4EurPerMonth: number | null;
}

export const UNKNOWN_PRICES: Prices = {
  priceEurPerHour: null,
  priceEurPerMonth: null,
  ipv4EurPerHour: null,
  ipv4EurPerMonth: null,
};

/** The same as a row keeps it, whole micro-EUR: as it was when the machine was ordered. */
export interface Rates {
  readonly priceMicroEur: number | null;
  readonly priceMonthMicroEur: number | null;
  readonly ipv4MicroEur: number | null;
  readonly ipv4MonthMicroEur: number | null;
}

/** What is charged for one machine. */
export interface Priced extends Rates {
  /** Whether it was made with a public IPv4 address. */
  readonly hasIpv4: boolean;
}

/** A sweep comes by the minute, and the proof of a deletion takes a while: so long a machine may outlive its end. */
export const OVERSTAY_MS = 2 * 60_000;
/** What is past its end and not proven gone counts for so long more. */
export const OVERDUE_MS = HOUR_MS;

/** Until when a machine that ends at `expiresAt` is to be paid for, as far as can be told at `now`; unix milliseconds. */
export const reservedUntil = (expiresAt: number, now: number): number =>
  expiresAt > now ? expiresAt + OVERSTAY_MS : now + OVERDUE_MS;

/** A calendar month, UTC: from when to when, unix milliseconds. */
export interface Month {
  /** As `2026-11`. */
  readonly month: string;
  readonly begins: number;
  readonly ends: number;
}

/** The months from one moment to a later one, both unix milliseconds, those of both among them. */
export function monthsBetween(from: number, until: number): Month[] {
  const first = monthNamed(monthOf(from));
  const months = [first];
  for (let at = first.ends; at <= until; at = monthEnd(new Date(at))) months.push(monthNamed(monthOf(at)));
  return months;
}

/** The month of that name, as `2026-11`. */
export function monthNamed(month: string): Month {
  const begins = Date.parse(`${month}-01T00:00:00Z`);
  return { month, begins, ends: monthEnd(new Date(begins)) };
}

/** A machine's row, as far as money goes. Times unix milliseconds. */
export interface Charged extends Priced {
  readonly providerId: string | null;
  /** The provider's own stamp. */
  readonly createdAt: number | null;
  /** When it was proven to be gone. */
  readonly destroyedAt: number | null;
}

/** What one calendar month, UTC, is charged for a machine, micro-EUR; null where the price of an hour is unknown. */
export interface MonthCharge {
  /** As `2026-11`. */
  readonly month: string;
  readonly serverMicroEur: number | null;
  /** 0 where it has none. */
  readonly ipv4MicroEur: number | null;
}

/** EUR as a provider's number, to whole micro-EUR; null stays null: unknown is never free. */
export const toMicroEur = (eur: number | null): number | null => (eur === null ? null : Math.round(eur * MICRO));

/** The way back; null stays null here too. */
export const toEur = (microEur: number | null): number | null => (microEur === null ? null : microEur / MICRO);

export const ratesOf = (prices: Prices): Rates => ({
  priceMicroEur: toMicroEur(prices.priceEurPerHour),
  priceMonthMicroEur: toMicroEur(prices.priceEurPerMonth),
  ipv4MicroEur: toMicroEur(prices.ipv4EurPerHour),
  ipv4MonthMicroEur: toMicroEur(prices.ipv4EurPerMonth),
});

/** The highest of each rate: what one of several machines costs at most. Null where one of them is unknown. */
export const dearest = (prices: readonly Rates[]): Rates => {
  const most = (rate: keyof Rates): number | null =>
    prices.reduce<number | null>((high, one) => maxOf(high, one[rate]), 0) || null;
  return {
    priceMicroEur: most("priceMicroEur"),
    priceMonthMicroEur: most("priceMonthMicroEur"),
    ipv4MicroEur: most("ipv4MicroEur"),
    ipv4MonthMicroEur: most("ipv4MonthMicroEur"),
  };
};

/** Arithmetic over sums of which one may be unknown: then so is what comes of them. */
const overKnown =
  (work: (a: number, b: number) => number) =>
  (a: number | null, b: number | null): number | null =>
    a === null || b === null ? null : work(a, b);
export const plus = overKnown((a, b) => a + b);
export const minus = overKnown((a, b) => a - b);
const maxOf = overKnown(Math.max);

/** The same with what is not known of its price at the dearest that is known of any, micro-EUR an hour. */
export const atDearest = <P extends Priced>(priced: P, dearestKnown: DearestKnown): P => ({
  ...priced,
  priceMicroEur: priced.priceMicroEur ?? dearestKnown.dearestMicroEur,
  ipv4MicroEur: priced.ipv4MicroEur ?? dearestKnown.dearestIpv4MicroEur,
});

/** The dearest known prices of an hour, micro-EUR, as which an unknown one counts; null while none is known. */
export interface DearestKnown {
  readonly dearestMicroEur: number | null;
  readonly dearestIpv4MicroEur: number | null;
}

/** Two prices in EUR as one, without a rest beyond micro-EUR; null where one is unknown. */
export const sumEur = (a: number | null, b: number | null): number | null => toEur(plus(toMicroEur(a), toMicroEur(b)));

/** What an hour of a machine costs, its IPv4 address included, micro-EUR. */
export const hourMicroEur = ({ priceMicroEur, ipv4MicroEur, hasIpv4 }: Priced): number | null =>
  plus(priceMicroEur, hasIpv4 ? ipv4MicroEur : 0);

/** Hours as Hetzner bills them: every started hour counts, and there is no hour zero. */
export const startedHours = (from: number, until: number): number => Math.max(1, Math.ceil((until - from) / HOUR_MS));

/** Hours of a machine's life that begin in one stretch of time: the first, and the one behind the last; hour 0 begins at its creation. */
interface Stretch {
  readonly begins: number;
  readonly first: number;
  readonly end: number;
}

/** Those hours of a life, stretch by stretch; `endOf` tells when the stretch ends that a moment, unix milliseconds, belongs to. */
function* stretches(
  createdAt: number,
  hours: { readonly first: number; readonly end: number },
  endOf: (begins: Date) => number,
): Generator<Stretch> {
  for (let { first } = hours; first < hours.end;) {
    const begins = createdAt + first * HOUR_MS;
    const end = Math.min(hours.end, Math.ceil((endOf(new Date(begins)) - createdAt) / HOUR_MS));
    yield { begins, first, end };
    first = end;
  }
}

const monthEnd = (at: Date): number => Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
const dayEnd = (at: Date): number => Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1);
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The month, UTC, that a moment belongs to, unix milliseconds: as `2026-11`. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** So many hours of one month. */
const charge = (hours: number, perHour: number | null, perMonth: number | null): number | null =>
  perHour === null ? null : Math.min(hours * perHour, perMonth ?? Infinity);

/**
 * What a machine that was created at `createdAt` is charged until `until`, unix milliseconds, month by month. Its hours count from its
 * creation, and each belongs to the month in which it begins. Of a month whose price is unknown every hour is charged: that is never
 * too little.
 */
export function chargesByMonth(createdAt: number, until: number, priced: Priced): MonthCharge[] {
  const months = stretches(createdAt, { first: 0, end: startedHours(createdAt, until) }, monthEnd);
  return [...months].map(({ begins, first, end }) => ({
    month: monthOf(begins),
    serverMicroEur: charge(end - first, priced.priceMicroEur, priced.priceMonthMicroEur),
    ipv4MicroEur: priced.hasIpv4 ? charge(end - first, priced.ipv4MicroEur, priced.ipv4MonthMicroEur) : 0,
  }));
}

/** What one day, UTC, is charged for a machine; null where the price of an hour is unknown. */
export interface DayCharge extends Omit<MonthCharge, "month"> {
  /** As `2026-11-30`. */
  readonly day: string;
  /** How many of the machine's hours begin in it. */
  readonly hours: number;
}

/**
 * The same day by day, without the first `bookedHours` hours. What a month's price caps is taken from the month's last days, so that the days of
 * a month come to exactly what the month does, however often a life was cut into booked and unbooked hours.
 */
export function chargesByDay(createdAt: number, until: number, priced: Priced, bookedHours = 0): DayCharge[] {
  const charges: DayCharge[] = [];
  for (const month of stretches(createdAt, { first: 0, end: startedHours(createdAt, until) }, monthEnd)) {
    const first = Math.max(month.first, bookedHours);
    for (const day of stretches(createdAt, { first, end: month.end }, dayEnd)) {
      const ofDay = (perHour: number | null, perMonth: number | null): number | null =>
        minus(charge(day.end - month.first, perHour, perMonth), charge(day.first - month.first, perHour, perMonth));
      charges.push({
        day: dayOf(day.begins),
        hours: day.end - day.first,
        serverMicroEur: ofDay(priced.priceMicroEur, priced.priceMonthMicroEur),
        ipv4MicroEur: priced.hasIpv4 ? ofDay(priced.ipv4MicroEur, priced.ipv4MonthMicroEur) : 0,
      });
    }
  }
  return charges;
}

/**
 * What a machine has cost by `now`, or by its proven end, micro-EUR: null while a price or its age is unknown, 0 while the provider has
 * not said that it exists.
 */
export function costMicroEur(row: Charged, now: number): number | null {
  if (row.createdAt === null) return row.providerId === null ? 0 : null;
  return chargesByMonth(row.createdAt, row.destroyedAt ?? now, row).reduce<number | null>(
    (total, { serverMicroEur, ipv4MicroEur }) => plus(total, plus(serverMicroEur, ipv4MicroEur)),
    0,
  );
}
