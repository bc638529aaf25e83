import fc from "fast-check";
import { expect, it } from "vitest";
import { AT_ONCE, atMostFive } from "../../src/lifecycle/at-most-five.ts";

const COUNT = { maxLength: 14 };

/** Each with how it ends, in any order of the ends; answers what was seen on the way. */
async function play(
  scheduler: fc.Scheduler,
  all: readonly ("done" | "fails")[],
  more: { width?: number; failsToBegin?: number; failsToTell?: number } = {},
) {
  const { width = AT_ONCE, failsToBegin = -1, failsToTell = -1 } = more;
  const begun: number[] = [];
  const told: number[] = [];
  const failures: number[] = [];
  const running = new Set<number>();
  let most = 0;
  let begunAfterFailure = 0;
  const working = atMostFive([...all.keys()], {
    async begin(index) {
      await Promise.resolve();
      if (index === failsToBegin) throw new Error(`begin ${index}`);
      if (running.size >= width) return "later";
      return async () => {
        begun.push(index);
        running.add(index);
        most = Math.max(most, running.size);
        if (failures.length > 0) begunAfterFailure += 1;
        await scheduler.schedule(Promise.resolve(), `end of ${index}`);
        running.delete(index);
        if (all[index] === "done") return `came of ${index}`;
        failures.push(index);
        throw new Error(`act ${index}`);
      };
    },
    async tell(index, came) {
      await Promise.resolve();
      expect(came).toBe(`came of ${index}`);
      if (index === failsToTell) throw new Error(`tell ${index}`);
      told.push(index);
    },
  });
  const result = working.then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : "no error"),
  );
  await scheduler.waitFor(result);
  return { error: await result, begun, told, most, begunAfterFailure, left: running.size };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const isRising = (list: readonly number[]): boolean => list.every((one, index) => one > (list[index - 1] ?? -1));

it("begins and tells each in order, whichever ends first, and five are under way whenever there are as many", () =>
  fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.nat({ max: 14 }), async (scheduler, count) => {
      const { error, begun, told, most } = await play(scheduler, Array<"done">(count).fill("done"));
      expect({ error, begun, told, most }).toEqual({
        error: null,
        begun: upTo(count),
        told: upTo(count),
        most: Math.min(count, AT_ONCE),
      });
    }),
  ));

it("lets one that may not begin beside others wait for them, and leaves none out", () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.nat({ max: 14 }),
      fc.integer({ min: 1, max: 4 }),
      async (scheduler, count, width) => {
        const { error, begun, told, most } = await play(scheduler, Array<"done">(count).fill("done"), { width });
        expect({ error, begun, told, most }).toEqual({
          error: null,
          begun: upTo(count),
          told: upTo(count),
          most: Math.min(count, width),
        });
      },
    ),
  ));

it("begins no more once an act has failed; what is under way ends and is told, and then the first failure is thrown", () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom("done" as const, "done" as const, "done" as const, "fails" as const), COUNT),
      async (scheduler, all) => {
        const { error, begun, told, begunAfterFailure, left } = await play(scheduler, all);
        expect(begunAfterFailure).toBe(0);
        expect(left).toBe(0);
        expect(begun).toEqual(upTo(begun.length));
        expect(told).toEqual(begun.filter((index) => all[index] === "done"));
        const first = begun.find((index) => all[index] === "fails");
        expect(error).toBe(first === undefined ? null : `act ${first}`);
      },
    ),
  ));

it("ends in the same way where one cannot be begun, or cannot be told", () =>
  fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.nat({ max: 9 }),
      fc.constantFrom("failsToBegin" as const, "failsToTell" as const),
      async (scheduler, index, what) => {
        const { error, begun, told, left } = await play(scheduler, Array<"done">(10).fill("done"), { [what]: index });
        expect(error).toBe(`${what === "failsToBegin" ? "begin" : "tell"} ${index}`);
        expect(left).toBe(0);
        expect(isRising(told)).toBe(true);
        expect(told).toEqual(begun.filter((one) => one !== index));
      },
    ),
  ));

it("does not wait for ever for one that nothing is under way beside", async () => {
  const waits = atMostFive([1], { begin: async () => "later", tell: () => {} });
  await expect(waits).rejects.toThrow("nothing is under way");
});
