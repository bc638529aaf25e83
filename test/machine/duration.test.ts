import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "../../src/machine/duration.ts";
import { counterexample, DAY, HOUR, MINUTE, SECOND } from "./fixtures.ts";

describe("parseDuration", () => {
  it.each([
    ["0s", 0],
    ["90s", 90 * SECOND],
    ["30m", 30 * MINUTE],
    ["2h", 2 * HOUR],
    ["1d", DAY],
    ["007m", 7 * MINUTE],
    ["36500d", 36_500 * DAY],
  ])("reads %s", (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(["", "5", "m", "-5m", "+5m", " 5m", "5m ", "5 m", "1.5h", "1e3s", "5M", "5w", "1h30m", "5m\n", "٥m", "NaNs"])(
    "has one spelling only: %j is none",
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );

  it.each(["36501d", "999999999d", "1000000000s", "99999999999999999999s"])("refuses %s: no date holds it", (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it("reads any text without throwing, and only into a length that a date can hold", () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^\d{0,30}[smhd]?$/));
    const isLength = (length: number) => Number.isSafeInteger(length) && length >= 0 && length <= 36_500 * DAY;
    expect(
      counterexample(texts, (text) => {
        const length = parseDuration(text);
        return length === null || isLength(length);
      }),
    ).toBeNull();
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0s"],
    [59 * SECOND, "59s"],
    [90 * SECOND, "90s"],
    [90 * MINUTE, "90m"],
    [36 * HOUR, "36h"],
    [DAY, "1d"],
    [1499, "1s"],
    [-SECOND, "0s"],
  ])("spells %d ms as %s", (milliseconds, expected) => {
    expect(formatDuration(milliseconds)).toBe(expected);
  });

  it("is read back as the length that it spells", () => {
    const lengths = fc
      .record({ count: fc.nat(999_999_999), unit: fc.constantFrom("s", "m", "h", "d") })
      .map(({ count, unit }) => parseDuration(`${count}${unit}`))
      .filter((length) => length !== null);
    expect(counterexample(lengths, (length) => parseDuration(formatDuration(length)) === length)).toBeNull();
  });
});
