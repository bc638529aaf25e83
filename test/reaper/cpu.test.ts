import { describe, expect, it } from "vitest";
import { readSweepConfig } from "../../src/config.ts";
import { openInvocation, openSweep, runSweep } from "../../src/invocation.ts";
import { createProviders } from "../../src/providers.ts";
import { cpuOf, PLANS, type Plan } from "../../src/reaper/budget.ts";
import { BODY, createMayfly, HOUR, MINUTE, NOW, OURS, SECOND, servers, type Mayfly } from "../mayfly.ts";

/** One sweep, and what it has cost in CPU by the table. */
async function sweepOf(mayfly: Mayfly): Promise<number> {
  const { runtime, bindings } = mayfly;
  const invocation = openInvocation(runtime, createProviders(), bindings.DB);
  await runSweep(runtime, openSweep(invocation, readSweepConfig(bindings), mayfly.now()), {
    startedBy: "cron",
    dryRun: false,
  });
  return cpuOf(invocation.meter);
}

async function due(count: number, PLAN: Plan): Promise<Mayfly> {
  const mayfly = createMayfly({ PLAN });
  for (let number = 0; number < count; number++)
    await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "60s" });
  mayfly.advance(2 * MINUTE);
  return mayfly;
}

describe("what a sweep does in the CPU that a free plan allows", () => {
  const most = PLANS.free.cpuUs ?? expect.fail("the free plan has no limit");

  it("of thirty machines that are due fifteen at least die in one tick, and the others in the next", async () => {
    const mayfly = await due(30, "free");
    expect(await sweepOf(mayfly)).toBeLessThanOrEqual(most);
    expect(servers(mayfly).length).toBeLessThanOrEqual(15);
    expect(servers(mayfly).length).toBeGreaterThan(0);
    mayfly.advance(MINUTE);
    expect(await sweepOf(mayfly)).toBeLessThanOrEqual(most);
    expect(servers(mayfly)).toEqual([]);
  });

  it("an inventory of many is read page by page over several ticks, beside what is due", async () => {
    const mayfly = await due(30, "free");
    for (let number = 0; number < 300; number++)
      mayfly.simulator.addServer({ name: `s${number}`, labels: OURS, created: new Date(NOW - HOUR).toISOString() });
    mayfly.advance(20 * MINUTE);
    for (let ticks = 0; ticks < 12; ticks++) {
      mayfly.advance(MINUTE);
      // A pass looks for its last page first, by one page more.
      expect(await sweepOf(mayfly)).toBeLessThanOrEqual(most + cpuOf({ fetches: 1, statements: 0, entries: 50 }));
    }
    expect(servers(mayfly)).toHaveLength(300);
  });

  it("machines that are too old are read a few at a time, as more could not be destroyed", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 60; number++)
      mayfly.simulator.addServer({
        name: `old${number}`,
        labels: OURS,
        created: new Date(NOW - 30 * HOUR + number * SECOND).toISOString(),
      });
    for (let left = 60; left > 0; left = servers(mayfly).length) {
      mayfly.advance(MINUTE);
      expect(await sweepOf(mayfly)).toBeLessThanOrEqual(most);
      expect(servers(mayfly).length).toBeLessThan(left);
    }
  });

  it("nothing of that holds under the paid plan: all of thirty die at once", async () => {
    const mayfly = await due(30, "paid");
    await sweepOf(mayfly);
    expect(servers(mayfly)).toEqual([]);
  });
});
