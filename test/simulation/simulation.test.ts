import { env } from "cloudflare:workers";
import { expect, inject, it } from "vitest";
import fc from "fast-check";
import { openBooks } from "./judge/books.ts";
import { onD1, type Database } from "./world/database.ts";
import type { History } from "./history.ts";
import { KINDS } from "./kinds/kinds.ts";
import { SMALL } from "./kinds/small.ts";
import { play } from "./play.ts";
import { runHistories, withFakeTimers } from "./run.ts";
import { neverMet } from "./tally.ts";
import { withSqlite } from "./world/sim-db.ts";

const SHORT = Object.values(KINDS).map(({ name, enough }) => ({ kind: name, seed: 1, runs: enough }));
const A_WHILE_MS = 3_600_000;

it.for(inject("histories") ?? SHORT)(
  "keeps the promises of the design under faults at every await: $kind, from seed $seed",
  { timeout: A_WHILE_MS },
  async (order, { task }) => {
    await withSqlite(async (database, transaction) => {
      const result = await runHistories(database, KINDS[order.kind], order, transaction);
      task.meta.histories = result;
      expect(result.failure).toBeNull();
      const { enough, words } = result.mustMeet;
      // Such a run would show nothing.
      expect(result.tally.histories < enough ? [] : neverMet(result.tally, words)).toEqual([]);
    });
  },
);

it.skipIf(inject("histories"))("keeps them over real D1 too", { timeout: A_WHILE_MS }, async () => {
  const { failure } = await runHistories(onD1(env.DB), SMALL, { seed: 2, runs: 3 });
  expect(failure).toBeNull();
});

it.skipIf(inject("histories"))("plays the same history the same way", { timeout: A_WHILE_MS }, async () => {
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
