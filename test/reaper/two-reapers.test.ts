import { expect, it } from "vitest";
import { createMemoryDriver, emptyCloud } from "../../src/driver/memory.ts";
import { LABEL } from "../../src/machine/labels.ts";
import { reapOlderThan } from "../../src/reaper/reap-older-than.ts";
import { BODY, createMayfly, HOUR, MINUTE, NOW, OURS } from "../mayfly.ts";
import { machineOf } from "../machine/fixtures.ts";

it("S186: two reapers over one cloud both succeed, and both may name a machine", async () => {
  const cloud = emptyCloud();
  for (let number = 1; number <= 5; number++) {
    const providerId = `mem-${number}`;
    cloud.machines.set(
      providerId,
      machineOf({ providerId, name: providerId, labels: OURS, createdAt: NOW - 25 * HOUR }),
    );
  }
  const reap = () =>
    reapOlderThan(createMemoryDriver({ now: () => NOW, cloud }), {
      selector: OURS,
      createdLabel: LABEL.created,
      maxAgeMs: 24 * HOUR,
      now: NOW,
    });
  const both = await Promise.all([reap(), reap()]);
  expect(both.map(({ errors, destroyed }) => [errors.length, destroyed.length])).toEqual([
    [0, 5],
    [0, 5],
  ]);
  expect(cloud.machines.size).toBe(0);
});

it("S186: two sweeps at once are one sweep, because of the lock", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "60s" });
  mayfly.advance(2 * MINUTE);
  const both = await Promise.all([mayfly.tick(), mayfly.tick(), mayfly.tick()]);
  expect(both.filter((report) => report !== null)).toHaveLength(1);
  expect(mayfly.simulator.requests().filter(({ method }) => method === "DELETE")).toHaveLength(1);
});

it("S187: a run is bounded, and what it leaves is reported and taken up by the next", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 40; number++)
    await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "60s" });
  mayfly.advance(2 * MINUTE);
  const outcomes = async () => {
    const report = await mayfly.tick();
    const items = report?.phases[0]?.items ?? [];
    const those = (...all: string[]) => items.filter(({ outcome }) => all.includes(outcome)).length;
    return [those("accepted", "destroyed"), those("remaining")];
  };
  expect(await outcomes()).toEqual([28, 2]);
  expect(await outcomes()).toEqual([12, 0]);
  expect(mayfly.simulator.state().servers).toEqual([]);
});
