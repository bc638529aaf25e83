import { describe, expect, it } from "vitest";
import { slow } from "../behind.ts";
import { BODY, createMayfly, HOUR, minutes, NOW, OURS, SECOND, servers, type Mayfly } from "../mayfly.ts";

const isList = ({ method, url }: Request): boolean => method === "GET" && new URL(url).pathname === "/v1/servers";

function addOverdue(mayfly: Mayfly, count: number): void {
  const created = new Date(NOW - 50 * HOUR).toISOString();
  for (let number = 0; number < count; number++)
    mayfly.simulator.addServer({ name: `old${number}`, labels: OURS, created });
}

describe("a provider that takes long", () => {
  it.each([
    ["lists", 26],
    ["calls", 29],
  ] as const)("over its %s, %i s each, keeps nothing alive that is past its end", async (which, seconds) => {
    const mayfly = createMayfly();
    for (const name of ["one", "two", "three"])
      await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5m" });
    await minutes(mayfly, 5);
    slow(mayfly, seconds * SECOND, () => {}, which === "lists" ? isList : () => true);
    await minutes(mayfly, 10);
    expect(servers(mayfly)).toEqual([]);
  });

  it("over each page of four hundred overdue machines has some of them destroyed in each sweep", async () => {
    const mayfly = createMayfly();
    addOverdue(mayfly, 400);
    slow(mayfly, 4100, () => {}, isList);
    let left = 400;
    for (let ticks = 0; ticks < 5; ticks++) {
      await minutes(mayfly, 1);
      expect(servers(mayfly).length).toBeLessThan(left);
      left = servers(mayfly).length;
    }
  });

  it("over each of its calls, 25 s, lets no second sweep run beside the first, which is over within three minutes", async () => {
    const mayfly = createMayfly();
    addOverdue(mayfly, 400);
    const others: unknown[] = [];
    slow(mayfly, 25 * SECOND, async () =>
      others.push(await mayfly.store.lock.acquire("other", mayfly.now(), mayfly.now() + 90 * SECOND)),
    );
    const began = mayfly.now();
    await mayfly.tick();
    expect(others.length).toBeGreaterThan(2);
    expect(others.every((lock) => lock === null)).toBe(true);
    expect(mayfly.now() - began).toBeLessThanOrEqual(180 * SECOND);
    expect(servers(mayfly).length).toBeLessThan(400);
  });
});
