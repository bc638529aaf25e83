import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costMicroEur, startedHours, toEur, toMicroEur } from "../../src/machine/money.ts";
import { counterexample, CREATED, DAY, HOUR, MINUTE } from "./fixtures.ts";

const PRICE = 8000;
const cost = (lived: number, priceMicroEur: number | null = PRICE) =>
  costMicroEur({ createdAt: CREATED, destroyedAt: CREATED + lived, priceMicroEur }, CREATED + 30 * DAY);

describe("case 36: the provider bills started hours", () => {
  it.each([
    [0, 1],
    [1, 1],
    [2 * MINUTE, 1],
    [HOUR, 1],
    [HOUR + 1, 2],
    [61 * MINUTE, 2],
    [DAY, 24],
  ])("%d ms are %d", (lived, hours) => {
    expect(startedHours(CREATED, CREATED + lived)).toBe(hours);
    expect(cost(lived)).toBe(hours * PRICE);
  });

  it("S84: an unknown price is never free: what it cost is unknown as well", () => {
    expect(cost(2 * HOUR, null)).toBeNull();
  });

  it("ten machines of two minutes cost ten hours", () => {
    const costs = Array.from({ length: 10 }, () => cost(2 * MINUTE) ?? 0);
    expect(costs.reduce((sum, one) => sum + one, 0)).toBe(10 * PRICE);
  });

  it("a clock that runs backwards makes nothing free", () => {
    expect(startedHours(CREATED, CREATED - DAY)).toBe(1);
  });

  it("never falls as time goes by", () => {
    const lives = fc.tuple(fc.nat(60 * DAY), fc.nat(60 * DAY));
    expect(
      counterexample(lives, ([lived, longer]) => {
        const hours = startedHours(CREATED, CREATED + lived);
        return hours * HOUR >= lived && hours <= startedHours(CREATED, CREATED + lived + longer);
      }),
    ).toBeNull();
  });
});

describe("the cost of a machine", () => {
  it("goes on until it is confirmed destroyed, and then stops", () => {
    const row = { createdAt: CREATED, destroyedAt: null, priceMicroEur: PRICE };
    expect(costMicroEur(row, CREATED + 90 * MINUTE)).toBe(2 * PRICE);
    expect(costMicroEur({ ...row, destroyedAt: CREATED + MINUTE }, CREATED + DAY)).toBe(PRICE);
  });

  it("is unknown while the price is, and never nothing", () => {
    expect(cost(HOUR, null)).toBeNull();
  });

  it("is nothing while the provider has not said that the machine exists", () => {
    expect(costMicroEur({ createdAt: null, destroyedAt: null, priceMicroEur: null }, CREATED)).toBe(0);
  });
});

it("prices are whole micro-EUR, there and back", () => {
  expect(toMicroEur(0.008)).toBe(8000);
  expect(toMicroEur(0.0079999999)).toBe(8000);
  expect(toMicroEur(null)).toBeNull();
  expect(counterexample(fc.nat(1_000_000_000), (micro) => toMicroEur(toEur(micro)) === micro)).toBeNull();
});
