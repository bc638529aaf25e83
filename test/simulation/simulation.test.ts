import { env } from "cloudflare:workers";
import { expect, inject, it } from "vitest";
import { onD1 } from "./database.ts";
import { runHistories } from "./run.ts";
import { withSqlite } from "./sim-db.ts";

const A_WHILE_MS = 3_600_000;

it("keeps the promises of the design under faults at every await", { timeout: A_WHILE_MS }, async ({ task }) => {
  const order = inject("histories") ?? { seed: 1, runs: 100 };
  await withSqlite(async (database) => {
    const result = await runHistories(database, order);
    task.meta.histories = result;
    expect(result.failure).toBeNull();
  });
});

it.skipIf(inject("histories"))("keeps them over real D1 too", { timeout: 60_000 }, async () => {
  const { failure } = await runHistories(onD1(env.DB), { seed: 2, runs: 3 });
  expect(failure).toBeNull();
});
