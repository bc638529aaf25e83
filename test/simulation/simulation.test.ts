import { env } from "cloudflare:workers";
import { expect, inject, it } from "vitest";
import fc from "fast-check";
import { openBooks } from "./judge/books.ts";
import { onD1, type Database } from "./world/database.ts";
import type { History } from "./history.ts";
import { SMALL } from "./kinds/small.ts";
import type { Tally } from "./order.ts";
import { play } from "./play.ts";
import { runHistories, withFakeTimers } from "./run.ts";
import { withSqlite } from "./world/sim-db.ts";

/** What no history of a run has met, though it is long enough to meet all: such a run would show nothing. */
function neverSeen({ histories, strikes, served, money, born, died }: Tally): string[] {
  if (histories < SHORT.runs) return [];
  const counts = { ...strikes, ...served, ...money, born, died };
  return [...SMALL.mustMeet, ...Object.keys(counts)].filter((what) => !new Map(Object.entries(counts)).get(what));
}

const SHORT = { seed: 1, runs: 100 };
const A_WHILE_MS = 3_600_000;

it("keeps the promises of the design under faults at every await", { timeout: A_WHILE_MS }, async ({ task }) => {
  const order = inject("histories") ?? SHORT;
  await withSqlite(async (database, transaction) => {
    const result = await runHistories(database, SMALL, order, transaction);
    task.meta.histories = result;
    expect(result.failure).toBeNull();
    expect(neverSeen(result.tally)).toEqual([]);
  });
});

it.skipIf(inject("histories"))("keeps them over real D1 too", { timeout: 60_000 }, async () => {
  const { failure } = await runHistories(onD1(env.DB), SMALL, { seed: 2, runs: 3 });
  expect(failure).toBeNull();
});

it.skipIf(inject("histories"))("plays the same history the same way", { timeout: 60_000 }, async () => {
  const traceOf = async (database: Database, whole: History) => {
    const books = openBooks();
    await withFakeTimers(() => play(database, SMALL, whole, books));
    return books;
  };
  await withSqlite(async (database) => {
    for (const whole of fc.sample(SMALL.history, { seed: 3, numRuns: 15 })) {
      const { trace, strikes, longestOverstay } = await traceOf(database, whole);
      expect(trace.length).toBeGreaterThan(0);
      expect(await traceOf(database, whole)).toMatchObject({ trace, strikes, longestOverstay });
    }
  });
});
