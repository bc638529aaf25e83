import fc from "fast-check";
import { expect, it } from "vitest";
import { sql } from "../../src/store/db.ts";
import { openBooks } from "./judge/books.ts";
import { eventAct } from "./events.ts";
import { mishap, step, tell, type Step } from "./history.ts";
import { SMALL } from "./kinds/small.ts";
import { play } from "./play.ts";
import { withFakeTimers } from "./run.ts";
import { withSqlite } from "./world/sim-db.ts";

const RUNS = 30;

/** What can happen, and events beside it: by themselves, and while something else goes on. */
const eventStep: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.tuple(eventAct, mishap).map(([act, own]): Step => Object.assign({ mishap: own }, act)), weight: 5 },
  {
    arbitrary: fc.record({
      do: fc.constant("together" as const),
      first: eventAct,
      second: fc.oneof(eventAct, fc.constant({ do: "tick" as const })),
      order: fc.nat({ max: 2 ** 24 }),
      mishap,
    }),
    weight: 2,
  },
);
const history = fc.array(fc.oneof({ arbitrary: eventStep, weight: 3 }, { arbitrary: step, weight: 2 }), {
  minLength: 1,
  maxLength: 30,
  size: "max",
});

it(
  "keeps the promises while events are lost, doubled, late and replayed, under faults at every await",
  { timeout: 3_600_000 },
  async () => {
    await withSqlite(async (database, transaction) => {
      let [sent, done, born] = [0, 0, 0];
      const property = fc.asyncProperty(history, async (steps) => {
        const books = openBooks();
        await transaction(async () => {
          await withFakeTimers(() => play(database, SMALL, { minutesLeft: 720, steps }, books));
          const rows = await database.rows(sql("SELECT state, reason FROM deliveries"));
          expect(rows.filter(({ state }) => state === "pending")).toEqual([]);
          sent += rows.length;
          done += rows.filter(({ state }) => state === "done").length;
        });
        born += books.born.size;
      });
      const details = await fc.check(property, { seed: 1, numRuns: RUNS });
      const why = details.errorInstance instanceof Error ? (details.errorInstance.stack ?? "") : "";
      expect(details.failed ? [why, ...(details.counterexample?.[0] ?? []).map(tell)].join("\n") : null).toBeNull();
      // Else such a run would show nothing.
      expect(Math.min(sent, done, born)).toBeGreaterThan(RUNS);
    });
  },
);
