import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeOf, timeOrNull } from "../../src/http/edge/times.ts";

describe("a time in an answer", () => {
  it("is what ISO 8601 says of any moment", () => {
    const moment = fc.date({ noInvalidDate: true }).map((date) => date.getTime());
    const ofNow = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(fc.oneof(moment, ofNow), (ms) => {
        expect(timeOf(ms)).toBe(new Date(ms).toISOString());
      }),
      { numRuns: 2000 },
    );
  });

  it("is null where there is none, and no text for what is no moment", () => {
    expect(timeOrNull(null)).toBeNull();
    expect(() => timeOf(Number.MAX_SAFE_INTEGER)).toThrow(RangeError);
  });
});
