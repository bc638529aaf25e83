import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  chargesByDay,
  chargesByMonth,
  costMicroEur,
  hourMicroEur,
  ratesOf,
  startedHours,
  sumEur,
  toEur,
  toMicroEur,
  UNKNOWN_PRICES,
  type Priced,
} from "../../src/machine/money.ts";
import { counterexample, CREATED, DAY, HOUR, MINUTE, SECOND } from "./fixtures.ts";

/** cx23 as Hetzner sells it: gross 0.010472 an hour and 6.5331 a month in Falkenstein, IPv4 0.000952 and 0.595. */
const FSN1: Priced = {
  priceMicroEur: 10_472,
  priceMonthMicroEur: 6_533_100,
  ipv4MicroEur: 952,
  ipv4MonthMicroEur: 595_000,
  hasIpv4: true,
};
/** The same in Helsinki, 0.009996 and 6.2356. */
const HEL1: Priced = { ...FSN1, priceMicroEur: 9996, priceMonthMicroEur: 6_235_600 };
const bare = (priced: Priced): Priced => ({ ...priced, hasIpv4: false });
const cost = (lived: number, priced: Priced = FSN1, createdAt = CREATED): number | null =>
  costMicroEur({ ...priced, providerId: "1", createdAt, destroyedAt: createdAt + lived }, CREATED + 400 * DAY);

describe("case 36: the provider bills started hours", () => {
  it.each([
    [0, 1, 11_424],
    [1, 1, 11_424],
    [SECOND, 1, 11_424],
    [2 * MINUTE, 1, 11_424],
    [HOUR - SECOND, 1, 11_424],
    [HOUR, 1, 11_424],
    [HOUR + 1, 2, 22_848],
    [HOUR + SECOND, 2, 22_848],
    [61 * MINUTE, 2, 22_848],
    [12 * HOUR, 12, 137_088],
  ])("%d ms are %d: %d micro-EUR", (lived, hours, microEur) => {
    expect(startedHours(CREATED, CREATED + lived)).toBe(hours);
    expect(cost(lived)).toBe(microEur);
  });

  it("ten machines of two minutes cost ten hours", () => {
    const costs = Array.from({ length: 10 }, () => cost(2 * MINUTE) ?? 0);
    expect(costs.reduce((total, one) => total + one, 0)).toBe(114_240);
  });

  it("a clock that runs backwards makes nothing free", () => {
    expect(startedHours(CREATED, CREATED - DAY)).toBe(1);
    expect(cost(-DAY)).toBe(11_424);
  });

  it("never falls as time goes by, in no month", () => {
    const lives = fc.tuple(fc.nat(90 * DAY), fc.nat(90 * DAY), fc.nat(60 * DAY));
    expect(
      counterexample(lives, ([lived, longer, later]) => {
        const hours = startedHours(CREATED, CREATED + lived);
        const [a, b] = [cost(lived, FSN1, CREATED + later), cost(lived + longer, FSN1, CREATED + later)];
        return (
          hours * HOUR >= lived && hours <= startedHours(CREATED, CREATED + lived + longer) && (a ?? 0) <= (b ?? 0)
        );
      }),
    ).toBeNull();
  });
});

describe("a public IPv4 address", () => {
  it("is charged beside the machine that has one, by the same hours", () => {
    expect([cost(2 * HOUR), cost(2 * HOUR, bare(FSN1))]).toEqual([22_848, 20_944]);
    expect([hourMicroEur(FSN1), hourMicroEur(bare(FSN1))]).toEqual([11_424, 10_472]);
  });

  it("in another region goes with that region's price of the type", () => {
    expect([cost(3 * HOUR, HEL1), cost(3 * HOUR, bare(HEL1))]).toEqual([32_844, 29_988]);
  });
});

describe("a calendar month", () => {
  const EVE = Date.UTC(2026, 10, 30, 22, 30);

  it("is charged the hours that begin in it, counted from the machine's creation, not from the full hour", () => {
    // Hours begin at 22:30 and 23:30 in November, at 0:30 and 1:30 in December.
    expect(chargesByMonth(EVE, EVE + 3 * HOUR + SECOND, FSN1)).toEqual([
      { month: "2026-11", serverMicroEur: 20_944, ipv4MicroEur: 1904 },
      { month: "2026-12", serverMicroEur: 20_944, ipv4MicroEur: 1904 },
    ]);
  });

  it("that a machine sees only the end of an hour of is charged nothing", () => {
    const [only, ...more] = chargesByMonth(EVE, Date.UTC(2026, 11, 1, 0, 20), bare(FSN1));
    expect([only, more]).toEqual([{ month: "2026-11", serverMicroEur: 20_944, ipv4MicroEur: 0 }, []]);
  });

  it("has an hour that begins just when it does", () => {
    const begin = Date.UTC(2026, 10, 30, 23);
    expect(chargesByMonth(begin, begin + HOUR + 1, FSN1).map(({ month }) => month)).toEqual(["2026-11", "2026-12"]);
    expect(chargesByMonth(begin, begin + HOUR, FSN1).map(({ month }) => month)).toEqual(["2026-11"]);
  });

  it("is charged the month's price at most, the type and IPv4 each its own", () => {
    // In fsn1 623 hours come to 6.524056 and 624 to 6.534528; of IPv4 625 are just 0.595 and 626 would be more.
    const begin = Date.UTC(2026, 11, 1);
    const after = (hours: number) => chargesByMonth(begin, begin + hours * HOUR, FSN1);
    expect(after(623)).toEqual([{ month: "2026-12", serverMicroEur: 6_524_056, ipv4MicroEur: 593_096 }]);
    expect(after(624)).toEqual([{ month: "2026-12", serverMicroEur: 6_533_100, ipv4MicroEur: 594_048 }]);
    expect(after(626)).toEqual([{ month: "2026-12", serverMicroEur: 6_533_100, ipv4MicroEur: 595_000 }]);
    expect(after(744)).toEqual([{ month: "2026-12", serverMicroEur: 6_533_100, ipv4MicroEur: 595_000 }]);
  });

  it("begins anew after one that was full, in a short month and over the year's end too", () => {
    const begin = Date.UTC(2026, 11, 1);
    expect(chargesByMonth(begin, Date.UTC(2027, 2, 1, 2), HEL1)).toEqual([
      { month: "2026-12", serverMicroEur: 6_235_600, ipv4MicroEur: 595_000 },
      { month: "2027-01", serverMicroEur: 6_235_600, ipv4MicroEur: 595_000 },
      { month: "2027-02", serverMicroEur: 6_235_600, ipv4MicroEur: 595_000 },
      { month: "2027-03", serverMicroEur: 19_992, ipv4MicroEur: 1904 },
    ]);
  });

  it("whose price is unknown is charged every hour: never too little", () => {
    const capless = { ...FSN1, priceMonthMicroEur: null, ipv4MonthMicroEur: null };
    const begin = Date.UTC(2026, 11, 1);
    expect(chargesByMonth(begin, begin + 700 * HOUR, capless)).toEqual([
      { month: "2026-12", serverMicroEur: 7_330_400, ipv4MicroEur: 666_400 },
    ]);
  });
});

describe("a day", () => {
  const EVE = Date.UTC(2026, 10, 30, 22, 30);
  const microEur = (charges: readonly { serverMicroEur: number | null; ipv4MicroEur: number | null }[]): number =>
    charges.reduce((total, one) => total + (one.serverMicroEur ?? NaN) + (one.ipv4MicroEur ?? NaN), 0);

  it("is charged the hours that begin in it", () => {
    expect(chargesByDay(EVE, EVE + 3 * HOUR + SECOND, FSN1)).toEqual([
      { day: "2026-11-30", hours: 2, serverMicroEur: 20_944, ipv4MicroEur: 1904 },
      { day: "2026-12-01", hours: 2, serverMicroEur: 20_944, ipv4MicroEur: 1904 },
    ]);
  });

  it("at a month's end that was full is charged what is left of the month's price, and then nothing", () => {
    const begin = Date.UTC(2026, 11, 1);
    // 623 hours of the type are below its month's price and 624 above; of the address 625 hours are just the price.
    const days = chargesByDay(begin, begin + 28 * 24 * HOUR, FSN1);
    expect(days.slice(-3)).toEqual([
      { day: "2026-12-26", hours: 24, serverMicroEur: 249_900, ipv4MicroEur: 22_848 },
      { day: "2026-12-27", hours: 24, serverMicroEur: 0, ipv4MicroEur: 952 },
      { day: "2026-12-28", hours: 24, serverMicroEur: 0, ipv4MicroEur: 0 },
    ]);
    expect(microEur(days)).toBe(6_533_100 + 595_000);
  });

  it("leaves out the hours that are booked, also where they are more than there are", () => {
    expect(chargesByDay(EVE, EVE + 4 * HOUR, FSN1, 3)).toEqual([
      { day: "2026-12-01", hours: 1, serverMicroEur: 10_472, ipv4MicroEur: 952 },
    ]);
    expect(chargesByDay(EVE, EVE + 4 * HOUR, FSN1, 4)).toEqual([]);
    expect(chargesByDay(EVE, EVE + 4 * HOUR, FSN1, 9)).toEqual([]);
  });

  it("adds up to its month and to the machine's cost, wherever the life is cut into booked and unbooked hours", () => {
    const lives = fc.record({
      later: fc.nat(60 * DAY),
      lived: fc.nat(90 * DAY),
      cuts: fc.array(fc.nat(90 * 24), { maxLength: 4 }),
      hasIpv4: fc.boolean(),
    });
    expect(
      counterexample(lives, ({ later, lived, cuts, hasIpv4 }) => {
        const [createdAt, until] = [CREATED + later, CREATED + later + lived];
        const priced = { ...FSN1, hasIpv4 };
        const hours = startedHours(createdAt, until);
        const ends = [...cuts.filter((cut) => cut > 0 && cut < hours), hours].toSorted((a, b) => a - b);
        const parts = ends.flatMap((end, index) =>
          chargesByDay(createdAt, createdAt + end * HOUR, priced, ends[index - 1] ?? 0),
        );
        const months = chargesByMonth(createdAt, until, priced);
        return (
          parts.reduce((total, part) => total + part.hours, 0) === hours &&
          microEur(parts) === cost(lived, priced, createdAt) &&
          months.every(
            (month) => microEur(parts.filter(({ day }) => day.startsWith(month.month))) === microEur([month]),
          )
        );
      }),
    ).toBeNull();
  });

  it("of an unknown price is unknown, part by part", () => {
    expect(chargesByDay(EVE, EVE + HOUR, { ...FSN1, priceMicroEur: null })).toEqual([
      { day: "2026-11-30", hours: 1, serverMicroEur: null, ipv4MicroEur: 952 },
    ]);
  });
});

describe("the cost of a machine", () => {
  it("goes on until it is confirmed destroyed, and then stops", () => {
    const row = { ...FSN1, providerId: "1", createdAt: CREATED, destroyedAt: null };
    expect(costMicroEur(row, CREATED + 90 * MINUTE)).toBe(22_848);
    expect(costMicroEur({ ...row, destroyedAt: CREATED + MINUTE }, CREATED + DAY)).toBe(11_424);
  });

  it("is the sum of its months", () => {
    // 12 hours in November, 31 days of December at their most, one hour in January.
    expect(cost(12 * HOUR + 31 * DAY + MINUTE)).toBe(137_088 + 6_533_100 + 595_000 + 11_424);
  });

  it("S84: is unknown while the price of an hour is, and never nothing", () => {
    expect(cost(HOUR, { ...FSN1, priceMicroEur: null })).toBeNull();
    expect(cost(HOUR, { ...FSN1, ipv4MicroEur: null })).toBeNull();
    expect(cost(HOUR, { ...bare(FSN1), ipv4MicroEur: null })).toBe(10_472);
    expect(hourMicroEur({ ...FSN1, ipv4MicroEur: null })).toBeNull();
  });

  it("is nothing while the provider has not said that the machine exists, and unknown where it has not said since when", () => {
    const unseen = { ...ratesOf(UNKNOWN_PRICES), hasIpv4: true, providerId: null, createdAt: null, destroyedAt: null };
    expect(costMicroEur(unseen, CREATED)).toBe(0);
    expect(costMicroEur({ ...unseen, ...FSN1, providerId: "1" }, CREATED)).toBeNull();
  });
});

describe("prices", () => {
  it("are whole micro-EUR, there and back", () => {
    expect(toMicroEur(0.008)).toBe(8000);
    expect(toMicroEur(0.0079999999)).toBe(8000);
    expect(toMicroEur(null)).toBeNull();
    expect(counterexample(fc.nat(1_000_000_000), (micro) => toMicroEur(toEur(micro)) === micro)).toBeNull();
  });

  it("of type and IPv4 add up without the rest of floating point, and not at all where one is unknown", () => {
    expect(sumEur(0.1, 0.2)).toBe(0.3);
    expect([sumEur(0.1, null), sumEur(null, 0.2)]).toEqual([null, null]);
  });
});
