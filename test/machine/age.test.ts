import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { creationTime, labelTime, parseTimestamp } from "../../src/machine/age.ts";
import { LABEL } from "../../src/machine/labels.ts";
import { counterexample, CREATED, DAY, HOUR, seconds } from "./fixtures.ts";

const EARLIEST = Date.UTC(2015, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const labelled = (text: string) => ({ [LABEL.created]: text });
const timeOf = (text: string) => labelTime(labelled(text), LABEL.created);

describe("when a machine was created", () => {
  it("S160: the provider's own time wins over the label", () => {
    expect(creationTime({ createdAt: CREATED, labels: labelled(seconds(CREATED - DAY)) }, CREATED)).toBe(CREATED);
  });

  it("S161: without one, the label's unix seconds say it", () => {
    expect(creationTime({ createdAt: null, labels: labelled(seconds(CREATED)) }, CREATED)).toBe(CREATED);
    expect(creationTime({ createdAt: null, labels: { born: seconds(CREATED) } }, CREATED, "born")).toBe(CREATED);
  });

  it.each([{}, labelled(""), { "other-label": seconds(CREATED) }])("S162, P48: %j tells nothing: unknown", (labels) => {
    expect(creationTime({ createdAt: null, labels }, CREATED)).toBeNull();
  });

  it("S168: a time up to an hour ahead stays one, nobody bends it to now; one further ahead is unknown", () => {
    for (const [ahead, told] of [
      [HOUR, CREATED + HOUR],
      [HOUR + 1000, null],
    ] as const) {
      expect(creationTime({ createdAt: null, labels: labelled(seconds(CREATED + ahead)) }, CREATED)).toBe(told);
      expect(creationTime({ createdAt: CREATED + ahead, labels: {} }, CREATED)).toBe(told);
    }
  });
});

describe("a label's time", () => {
  it.each([
    "abc",
    "-5",
    "+5",
    "1.5",
    " 5",
    "5 ",
    "1e9",
    "0x65",
    "2026-07-15T10:00:00Z",
    "１７５２５７３６００",
    "1752573600\n",
    "NaN",
  ])("S163: %j is none", (text) => {
    expect(timeOf(text)).toBeNull();
  });

  it.each(["0", "1", "1420070399"])("S164: %j, before 2015, is none and not very old", (text) => {
    expect(timeOf(text)).toBeNull();
  });

  it.each(["1752573600000", "9999999999", "4102444800"])("S165: %j, as if milliseconds, is none", (text) => {
    expect(timeOf(text)).toBeNull();
  });

  it.each(["1".repeat(20), "0000000000001752573600", "9".repeat(400)])("S166: too many digits are none: %j", (text) => {
    expect(timeOf(text)).toBeNull();
  });

  it("takes both ends of what is plausible", () => {
    expect(timeOf("1420070400")).toBe(EARLIEST);
    expect(timeOf("4102444799")).toBe(LATEST - 1000);
  });

  it("is never read off what every object has", () => {
    expect(labelTime({}, "constructor")).toBeNull();
  });

  it("never lies outside 2015 to 2100, whatever the text", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[0-9]{1,25}$/),
      fc.bigInt().map(String),
      fc.double().map(String),
    );
    expect(
      counterexample(texts, (text) => {
        const time = timeOf(text);
        return time === null || (time >= EARLIEST && time < LATEST && timeOf(seconds(time)) === time);
      }),
    ).toBeNull();
  });
});

describe("a provider's time stamp", () => {
  it.each([
    ["2026-11-30T12:00:00Z", CREATED],
    ["2026-11-30T12:00:00+00:00", CREATED],
    ["2026-11-30T14:00:00+02:00", CREATED],
    ["2026-11-30T00:30:00-11:30", CREATED],
    ["2026-11-30T12:00:00.123456Z", CREATED + 123],
  ])("S62: %s is that instant, whatever the offset", (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected);
  });

  it.each([
    undefined,
    null,
    "",
    "soon",
    "2026-11-30",
    "2026-11-30T",
    "2026-13-30T12:00:00Z",
    "2026-11-30T12:00:00Z and more",
    "1970-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    1_796_040_000,
    1_796_040_000_000,
    {},
  ])("P48: %j is no time, and neither now nor 1970", (value) => {
    expect(parseTimestamp(value)).toBeNull();
  });

  it("case 24: whatever a stamp or a label says, it is a plausible time or none", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.date({ noInvalidDate: true, min: new Date(-1), max: new Date(LATEST) }).map((date) => date.toISOString()),
      fc.constantFrom("NaN", "Infinity", "-1", "1752573600", "1752573600000"),
    );
    expect(
      counterexample(fc.tuple(fc.oneof(texts, fc.anything()), texts), ([stamp, label]) => {
        const created = creationTime({ createdAt: parseTimestamp(stamp), labels: labelled(label) }, LATEST);
        return created === null || (Number.isFinite(created) && created >= EARLIEST);
      }),
    ).toBeNull();
  });
});
