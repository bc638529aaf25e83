import fc from "fast-check";
import { expect, it } from "vitest";
import { inPace } from "../../src/reaper/in-pace.ts";
import { createPace, type StopReason } from "../../src/reaper/pace.ts";

/** What one may cost at most, and what it does cost; null = it asks for nothing. */
const one = fc.option(
  fc.record({
    fetches: fc.nat({ max: 3 }),
    statements: fc.nat({ max: 3 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { freq: 6, nil: null },
);
type One = { readonly fetches: number; readonly statements: number; readonly share: number } | null;
const limits = fc.record({ fetches: fc.nat({ max: 40 }), statements: fc.nat({ max: 40 }) });
const spentOf = (most: number, share: number): number => Math.floor(most * share);
const NO_END = { isLeft: () => true, isLeftToList: () => true };

/** Those that one after the other would begin, and what they would spend. */
function inTurn(
  all: readonly One[],
  limit: { fetches: number; statements: number },
  rest: { fetches: number; statements: number },
) {
  const spent = { fetches: 0, statements: 0 };
  const begun = all.map((each) => {
    if (each === null) return true;
    const fits =
      spent.fetches + each.fetches + rest.fetches <= limit.fetches &&
      spent.statements + each.statements + rest.statements <= limit.statements;
    if (fits) {
      spent.fetches += spentOf(each.fetches, each.share);
      spent.statements += spentOf(each.statements, each.share);
    }
    return fits;
  });
  return { begun, spent };
}

it("begins exactly those that one after the other would begin, within every budget, whichever ends first", () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(one, { maxLength: 20 }),
      limits,
      fc.record({ fetches: fc.nat({ max: 4 }), statements: fc.nat({ max: 4 }) }),
      async (scheduler, all, limit, rest) => {
        const meter = { fetches: 0, statements: 0, entries: 0 };
        const pace = createPace(meter, limit, async () => true, NO_END);
        const told: boolean[] = [];
        const working = inPace(pace, [...all.keys()], {
          costOf: (index) => all[index] ?? null,
          rest: () => rest,
          async act(index) {
            const each = all[index] ?? null;
            if (each === null) return true;
            const [fetches, statements] = [spentOf(each.fetches, each.share), spentOf(each.statements, each.share)];
            for (let call = 0; call < Math.max(fetches, statements); call++) {
              await scheduler.schedule(Promise.resolve(), `call ${call} of ${index}`);
              if (call < fetches) meter.fetches += 1;
              if (call < statements) meter.statements += 1;
            }
            return true;
          },
          stopped: (_index, stop) => {
            expect(stop).toBe("budget");
            return false;
          },
          tell: (_index, isBegun) => void told.push(isBegun),
        });
        await scheduler.waitFor(working);
        const expected = inTurn(all, limit, rest);
        expect({ begun: told, spent: meter }).toMatchObject(expected);
      },
    ),
    { numRuns: 300 },
  ));

it("begins nothing more once the provider refuses, the lock is lost or the time is up; what is under way is told", () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 0, max: 11 }),
      fc.constantFrom<StopReason>("refused", "lock_lost", "time"),
      async (scheduler, at, why) => {
        let isOver = false;
        const isOn = () => !isOver;
        const time = { isLeft: () => why !== "time" || isOn(), isLeftToList: () => true };
        const pace = createPace(
          { fetches: 0, statements: 0, entries: 0 },
          { fetches: 99, statements: 99 },
          async () => why !== "lock_lost" || isOn(),
          time,
        );
        const begun: number[] = [];
        const told: string[] = [];
        let begunLate = 0;
        const working = inPace(pace, [...Array(12).keys()], {
          costOf: () => ({ fetches: 1, statements: 0 }),
          rest: () => ({ fetches: 0, statements: 0 }),
          async act(index) {
            begun.push(index);
            if (isOver) begunLate += 1;
            await scheduler.schedule(Promise.resolve(), `end of ${index}`);
            if (index === at) {
              isOver = true;
              if (why === "refused") pace.refuse("no");
            }
            return "begun";
          },
          stopped: (_index, stop) => stop,
          tell: (_index, what) => void told.push(what),
        });
        await scheduler.waitFor(working);
        expect(begunLate).toBe(0);
        expect(told).toEqual([...begun.map(() => "begun"), ...Array<string>(12 - begun.length).fill(why)]);
      },
    ),
  ));
