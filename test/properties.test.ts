import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { againOf, parametersOf } from "./properties.ts";
import type { PropertyOrder } from "./property-order.ts";

const AGAIN =
  /PROPERTY_SEED=(?<seed>-?\d+) PROPERTY_PATH=(?<path>[\d:]+) npx vitest run test\/a\.test\.ts -t "a suite says .what.."$/;
const THIS = { file: "test/a.test.ts", name: "a suite > says (what)?" };

/** What a property was given, as numbers, and why it failed. */
function play(order: PropertyOrder, most = Infinity) {
  const seen: number[] = [];
  const property = fc.property(fc.integer({ min: 0, max: 1_000_000 }), (number) => {
    seen.push(number);
    if (number > most) throw new Error("too large");
  });
  try {
    fc.assert(
      property,
      parametersOf(order, () => THIS),
    );
    return { seen, why: null };
  } catch (error) {
    return { seen, why: error instanceof Error ? error.message : "" };
  }
}

describe("a property", () => {
  it("tries the same under the same seed, and something else under another", () => {
    expect(play({ seed: 7 }).seen).toEqual(play({ seed: 7 }).seen);
    expect(play({ seed: 7 }).seen).not.toEqual(play({ seed: 8 }).seen);
  });

  it("that fails says its seed, and the command that tries the same again, and that alone", () => {
    const failed = play({}, 1000);
    expect(failed.why).toMatch(AGAIN);
    const { seed, path = "" } = AGAIN.exec(failed.why ?? "")?.groups ?? {};
    expect(failed.why).toContain("Counterexample: [1001]");
    const again = play({ seed: Number(seed), path }, 1000);
    expect(again.seen[0]).toBe(1001);
  });

  it("needs no path where none is known", () => {
    expect(againOf({ seed: -3 }, { file: "test/b.test.ts", name: "b" })).toBe(
      'PROPERTY_SEED=-3 npx vitest run test/b.test.ts -t "b"',
    );
  });

  it("goes by what whoever runs the tests has asked for", () => {
    const { reporter, ...order } = fc.readConfigureGlobal();
    expect(reporter).toBeDefined();
    expect(order).toEqual(inject("property"));
  });
});
