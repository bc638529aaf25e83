import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BODY, createMayfly, HOUR, MINUTE, NOW, OURS, SECOND, type Mayfly } from "../mayfly.ts";

const swept = z.object({
  sweep: z.object({
    phases: z.array(
      z.object({ phase: z.string(), remaining: z.array(z.unknown()), why_remaining: z.string().nullable() }),
    ),
  }),
});
/** Why each phase of a sweep left something, those that left nothing without a word. */
async function sweep(mayfly: Mayfly): Promise<Record<string, string>> {
  const { phases } = swept.parse((await mayfly.send("POST", "/v1/sweeps", {})).body).sweep;
  return Object.fromEntries(phases.flatMap(({ phase, why_remaining: why }) => (why === null ? [] : [[phase, why]])));
}

describe("a phase's report says why something remains", () => {
  it("and nothing where nothing does", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "60s" });
    mayfly.advance(2 * MINUTE);
    expect(await sweep(mayfly)).toEqual({});
  });

  it("of what is due: the budget", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 40; number++)
      mayfly.simulator.addServer({
        name: `m${number}`,
        labels: OURS,
        created: new Date(NOW - 30 * HOUR + number * SECOND).toISOString(),
      });
    expect(await sweep(mayfly)).toMatchObject({ reap: "budget" });
  });

  it("of an inventory that is not read to its end: the budget, until it is", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 450; number++)
      mayfly.simulator.addServer({ name: `foreign${number}`, labels: { ...OURS, "mayfly-owner": "x" }, created: null });
    mayfly.advance(HOUR);
    let sweeps = 0;
    while ((await sweep(mayfly))["reconcile"] === "budget") sweeps += 1;
    expect(sweeps).toBeGreaterThan(1);
    expect((await mayfly.store.lock.read())?.memory.reconcile.pass).toBeNull();
  });
});
