import { expect, describe, it } from "vitest";
import { between } from "../behind.ts";
import { BODY, createMayfly, HOUR, machineIn, MINUTE, minutes, SECOND, servers, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string) => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "60s" });
const lose = (mayfly: Mayfly) => mayfly.bindings.DB.prepare("DELETE FROM locks").run();
const rows = async (mayfly: Mayfly) => (await mayfly.bindings.DB.prepare("SELECT * FROM locks").all()).results;
/** The numbers under which sweeps have reported, the first one first. */
const numbers = async (mayfly: Mayfly) => (await mayfly.store.sweeps.list(1, 50)).rows.map(({ id }) => id).reverse();

describe("where the row of the lock is gone", () => {
  it("health says so, and the next sweep makes it anew and does its work", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await lose(mayfly);
    const health = await mayfly.send("GET", "/healthz", undefined, null);
    expect([health.status, health.text]).toEqual([503, expect.stringContaining("has lost its lock row")]);
    mayfly.advance(2 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({ reason: "expired" });
    expect(await rows(mayfly)).toMatchObject([{ name: "sweep", held_until: 0, last_good_cron_at: mayfly.now() }]);
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(200);
  });

  it("health knows of no good sweep until one was that", async () => {
    const mayfly = createMayfly();
    await lose(mayfly);
    mayfly.simulator.fault({ path: "^/v1/servers", times: 9, status: 500 });
    await mayfly.tick();
    expect(await mayfly.send("GET", "/healthz", undefined, null)).toMatchObject({ body: { last_good_sweep_at: null } });
    mayfly.simulator.clearFaults();
    await mayfly.tick();
    expect(await mayfly.send("GET", "/healthz", undefined, null)).toMatchObject({
      body: { last_good_sweep_at: "2026-11-30T12:00:00.000Z" },
    });
  });

  it("health is red again three minutes after that if no other sweep comes", async () => {
    const mayfly = createMayfly();
    await lose(mayfly);
    await mayfly.tick();
    mayfly.advance(3 * MINUTE + SECOND);
    expect((await mayfly.send("GET", "/healthz", undefined, null)).text).toContain("no good sweep for 181 s");
  });

  it("numbers go on to rise, so that reports are kept and no earlier sweep's writes count", async () => {
    const mayfly = createMayfly();
    for (let lost = 0; lost < 3; lost++) {
      for (const name of ["a", "b"]) {
        await put(mayfly, `${name}${lost}`);
        await minutes(mayfly, 2);
      }
      await lose(mayfly);
    }
    const known = await numbers(mayfly);
    expect(known.length).toBeGreaterThan(5);
    expect(known).toEqual([...new Set(known)].sort((one, other) => one - other));
    expect(servers(mayfly)).toEqual([]);
  });

  it("of two sweeps that come at once one runs", async () => {
    const mayfly = createMayfly();
    await lose(mayfly);
    const reports = await Promise.all([mayfly.tick(), mayfly.tick(), mayfly.tick()]);
    expect(reports.filter((report) => report !== null)).toHaveLength(1);
    expect(await rows(mayfly)).toHaveLength(1);
  });

  it("the sweep that had it writes nothing more, and the next one sees to the rest", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b", "c"]) await put(mayfly, name);
    mayfly.advance(2 * MINUTE);
    let deletes = 0;
    between(mayfly, async (request, real) => {
      if (request.method === "DELETE" && ++deletes === 1) await lose(mayfly);
      return real(request);
    });
    await mayfly.tick();
    expect(await rows(mayfly)).toEqual([]);
    const { results } = await mayfly.bindings.DB.prepare("SELECT DISTINCT phase FROM machines").all();
    expect(results).toEqual([{ phase: "destroying" }]);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    for (const name of ["a", "b", "c"])
      expect(machineIn(await mayfly.send("GET", `/v1/machines/${name}`))).toMatchObject({ status: "destroyed" });
  });

  it("a create says that machines may outlive their leases, and runs the sweep that makes it", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "old");
    mayfly.advance(2 * MINUTE);
    await lose(mayfly);
    const made = await mayfly.send("PUT", "/v1/machines/new", BODY);
    expect(made.text).toContain("machines may outlive their leases");
    expect(servers(mayfly).map(({ name }) => name.replace(/-.*/, ""))).toEqual(["new"]);
    expect(await rows(mayfly)).toHaveLength(1);
  });
});

describe("a lock", () => {
  it("that is held for longer than any sweep holds it is free: it is a clock's mistake", async () => {
    const mayfly = createMayfly();
    await mayfly.bindings.DB.prepare("UPDATE locks SET held_until = ?")
      .bind(mayfly.now() + 24 * HOUR)
      .run();
    expect(await mayfly.tick()).not.toBeNull();
    await mayfly.bindings.DB.prepare("UPDATE locks SET held_until = ?")
      .bind(mayfly.now() + 90 * SECOND)
      .run();
    expect(await mayfly.tick()).toBeNull();
  });
});
