import { describe, expect, it } from "vitest";
import * as z from "zod";
import { behind, between, leave } from "../behind.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, NOW, OURS, SECOND, type Mayfly, servers } from "../mayfly.ts";

const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();
const FREE = { fetches: 40, statements: 40 };

async function tick(mayfly: Mayfly) {
  mayfly.advance(MINUTE);
  const report = await mayfly.tick();
  expect(report?.fetches).toBeLessThanOrEqual(FREE.fetches);
  expect(report?.statements).toBeLessThanOrEqual(FREE.statements);
  return report;
}

describe("I8: what cannot be destroyed delays nothing else", () => {
  it("reap passes over forty machines that the provider will not delete, and over forty protected ones", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 40; number++) {
      const { id } = mayfly.simulator.addServer({ name: `stuck${number}`, labels: OURS, created: ago(99 * HOUR) });
      mayfly.simulator.fault({
        method: "DELETE",
        path: `^/v1/servers/${id}$`,
        times: 9999,
        status: 423,
        code: "locked",
        message: "busy",
      });
      mayfly.simulator.addServer({
        name: `protected${number}`,
        labels: OURS,
        created: ago(98 * HOUR),
        protection: { delete: true, rebuild: true },
      });
    }
    for (let number = 0; number < 10; number++)
      mayfly.simulator.addServer({ name: `due${number}`, labels: OURS, created: ago(30 * HOUR) });
    for (let ticks = 0; ticks < 30; ticks++) await tick(mayfly);
    expect(
      servers(mayfly)
        .filter(({ name }) => name.startsWith("due"))
        .map(({ name }) => name),
    ).toEqual([]);
    expect(servers(mayfly)).toHaveLength(80);

    mayfly.simulator.clearFaults();
    for (let ticks = 0; ticks < 30; ticks++) await tick(mayfly);
    expect(servers(mayfly)).toHaveLength(40);
    // Those of which nobody had the time to prove that they are gone are forgotten within two hourly looks.
    mayfly.advance(HOUR);
    await tick(mayfly);
    mayfly.advance(HOUR);
    await tick(mayfly);
    const { results } = await mayfly.bindings.DB.prepare("SELECT * FROM reap_failures").all();
    expect(results).toEqual([]);
  });

  it("expire passes over sixty rows that cannot end", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 60; number++) {
      await mayfly.send("PUT", `/v1/machines/stuck${number}`, { ...BODY, ttl: "60s" });
      const { id } = servers(mayfly)[number] ?? { id: 0 };
      mayfly.simulator.fault({
        method: "DELETE",
        path: `^/v1/servers/${id}$`,
        times: 9999,
        status: 500,
        code: "server_error",
        message: "no",
      });
      mayfly.advance(10);
    }
    for (let number = 0; number < 10; number++)
      await mayfly.send("PUT", `/v1/machines/due${number}`, { ...BODY, ttl: "2m" });
    mayfly.advance(2 * MINUTE);
    for (let ticks = 0; ticks < 7; ticks++) await tick(mayfly);
    expect(servers(mayfly).filter(({ labels }) => labels?.["mayfly-name"]?.startsWith("due"))).toHaveLength(0);
  });

  it("expire comes to machines before rows that have none, however many of them ended earlier", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b", "c"]) await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "10m" });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 503, times: 999 });
    for (let number = 0; number < 150; number++)
      await mayfly.send("PUT", `/v1/machines/none${number}`, { ...BODY, ttl: "60s" });
    mayfly.advance(10 * MINUTE);
    await tick(mayfly);
    expect(servers(mayfly)).toEqual([]);
  });

  it("rows without end leave reap its share, and reap leaves expire its own", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 100; number++)
      await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "60s" });
    for (let number = 0; number < 30; number++)
      mayfly.simulator.addServer({ name: `old${number}`, labels: OURS, created: ago(30 * HOUR) });
    mayfly.advance(2 * MINUTE);
    await tick(mayfly);
    const left = servers(mayfly).map(({ name }) => (name.startsWith("old") ? "old" : "leased"));
    expect(left.filter((what) => what === "leased")).toHaveLength(72);
    expect(left.filter((what) => what === "old").length).toBeLessThan(30);
  });
});

describe("settle", () => {
  it("comes to everybody in turn: forty deletions that never end do not hide eight that did nothing", async () => {
    const mayfly = createMayfly();
    const names = Array.from({ length: 48 }, (_, number) => `n${number}`);
    for (const name of names) await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "10m" });
    const ids = servers(mayfly).map(({ id }) => id);
    const [dying, undone] = [ids.slice(0, 40), new Set(ids.slice(40))];
    const { simulator } = mayfly;
    const real = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      const id = Number(/\/servers\/(\d+)$/.exec(new URL(request.url).pathname)?.[1]);
      const isDying = dying.includes(id);
      if (request.method === "DELETE" && (isDying || undone.delete(id))) return Response.json({ action: {} });
      const answer = await real(request);
      if (request.method !== "GET" || !isDying) return answer;
      return Response.json({ server: Object.assign(await serverIn(answer), { status: "deleting" }) });
    };
    mayfly.advance(10 * MINUTE);
    for (let ticks = 0; ticks < 20; ticks++) await tick(mayfly);
    expect(servers(mayfly).map(({ id }) => id)).toEqual(dying);
  });
});

const serverIn = async (answer: Response) => z.object({ server: z.looseObject({}) }).parse(await answer.json()).server;

describe("a large fleet", () => {
  it("of 10,000 live machines, 20 of them due, costs at most six list calls", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 9980; number++)
      mayfly.simulator.addServer({ name: `m${number}`, labels: OURS, created: ago(HOUR + number * SECOND) });
    for (let number = 0; number < 20; number++)
      await mayfly.send("PUT", `/v1/machines/due${number}`, { ...BODY, ttl: "60s" });
    const before = mayfly.simulator.requests().length;
    const report = await tick(mayfly);
    expect(report?.phases[0]?.items.filter(({ outcome }) => /^(accepted|destroyed)$/.test(outcome))).toHaveLength(20);
    expect(servers(mayfly)).toHaveLength(9980);
    const lists = mayfly.simulator
      .requests()
      .slice(before)
      .filter(({ method, path }) => method === "GET" && path === "/v1/servers");
    expect(lists.length).toBeLessThanOrEqual(6);
  });

  it("of 120 due machines is gone in one tick under the paid plan", async () => {
    const mayfly = createMayfly({ PLAN: "paid" });
    for (let number = 0; number < 120; number++)
      await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "60s" });
    mayfly.advance(2 * MINUTE);
    const report = await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    expect(report?.phases[0]?.items).toHaveLength(120);
  });
});

it("deletes come before proofs: of sixty that are due all die with the sixty-four calls that the provider's limit has left", async () => {
  const mayfly = createMayfly({ PLAN: "paid" });
  for (let number = 0; number < 60; number++)
    await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "60s" });
  mayfly.advance(2 * MINUTE);
  let left = 64;
  between(mayfly, async (request, real) => {
    left -= 1;
    if (left >= 0) return real(request);
    const error = { error: { code: "rate_limit_exceeded", message: "slow down", details: null } };
    return Response.json(error, { status: 429 });
  });
  const report = await mayfly.tick();
  expect(servers(mayfly)).toEqual([]);
  // And the refusal ends what would meet it again: each phase finds out by one call, and makes no second one.
  expect(report?.fetches).toBeLessThanOrEqual(64 + 5);
});

it("an inventory whose missing rows can never be looked up makes health red, though its pages can be read", async () => {
  const mayfly = createMayfly();
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "20h" });
  await minutes(mayfly, 2);
  await behind(mayfly, "DELETE", `/servers/${servers(mayfly)[0]?.id}`);
  between(mayfly, async (request, real) =>
    request.url.includes("mayfly-uid")
      ? Response.json({ error: { code: "unavailable" } }, { status: 503 })
      : real(request),
  );
  await minutes(mayfly, 120);
  expect((await mayfly.send("GET", "/healthz")).text).toContain("the inventory is not read");
});

it("a settle and an inventory pass that are overdue for three of their intervals make health red, whatever keeps them", async () => {
  const mayfly = createMayfly();
  const reasons = async () => (await mayfly.send("GET", "/healthz")).text;
  for (let ticks = 0; ticks < 40; ticks++) await tick(mayfly);
  expect(await reasons()).toContain("green");
  leave(mayfly, 20);
  for (let ticks = 0; ticks < 3; ticks++) await tick(mayfly);
  expect(await reasons()).not.toContain("not followed");
  for (let ticks = 0; ticks < 3; ticks++) await tick(mayfly);
  expect(await reasons()).toContain("are not followed");
  expect(await reasons()).not.toContain("the inventory");
  for (let ticks = 0; ticks < 45; ticks++) await tick(mayfly);
  expect(await reasons()).toContain("the inventory is not read");
});
