import { describe, expect, it } from "vitest";
import {
  LOCAL,
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  MINUTE,
  minutes,
  NOW,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string, ttl = "60s") => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl });

describe("expire", () => {
  it("destroys a machine from the moment its lease ends, and not before", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await mayfly.tick(NOW + MINUTE - 1);
    expect(servers(mayfly)).toHaveLength(1);
    const report = await mayfly.tick(NOW + MINUTE);
    expect(report?.phases[0]?.items).toMatchObject([{ outcome: "destroyed", reason: "expired" }]);
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "expired",
      destroyed_at: "2026-11-30T12:01:00.000Z",
    });
  });

  it("takes a tick at now + 2 minutes for a ttl of 60 s", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", "60s");
    await mayfly.tick(NOW + 2 * MINUTE);
    expect(servers(mayfly)).toEqual([]);
  });

  it("waits for the later of row and label, within max_until", async () => {
    const mayfly = createMayfly(LOCAL);
    await put(mayfly, "box");
    const [server] = servers(mayfly);
    const relabel = (labels: Record<string, string>) =>
      mayfly.simulator.fetch(
        new Request(`http://sim/v1/servers/${server?.id}`, {
          method: "PUT",
          headers: { Authorization: "Bearer x" },
          body: JSON.stringify({ labels: { ...server?.labels, ...labels } }),
        }),
      );
    await relabel({ "mayfly-expires": String(NOW / 1000 + 600) });
    expect((await mayfly.tick(NOW + 2 * MINUTE))?.phases[0]?.items).toMatchObject([
      { outcome: "kept", reason: "live" },
    ]);
    await mayfly.tick(NOW + 10 * MINUTE - SECOND);
    expect(servers(mayfly)).toHaveLength(1);
    await relabel({ "mayfly-expires": String(NOW / 1000 + 30 * 86_400) });
    await mayfly.tick(NOW + 24 * HOUR);
    expect(servers(mayfly)).toEqual([]);
  });

  it.each([120, 500])(
    "S75, case 17, case 23: %i due machines are gone in as few ticks as the budget allows, oldest end first",
    async (count) => {
      const mayfly = createMayfly();
      for (let number = 0; number < count; number++) {
        await put(mayfly, `m${number}`);
        mayfly.advance(SECOND);
      }
      mayfly.advance(10 * MINUTE);
      let ticks = 0;
      for (let left = count; left > 0; ticks++) {
        mayfly.advance(MINUTE);
        const report = await mayfly.tick();
        expect(report?.fetches).toBeLessThanOrEqual(40);
        expect(report?.statements).toBeLessThanOrEqual(40);
        left = servers(mayfly).length;
        const numbers = servers(mayfly).map(({ labels }) => Number(labels?.["mayfly-name"]?.slice(1)));
        expect(Math.min(...numbers, count)).toBe(count - left);
      }
      // Of 10 ms of CPU a list and the phases behind leave expire twenty-eight deletes, and fewer where an inventory pass is due.
      expect(ticks).toBeLessThanOrEqual(Math.ceil(count / 16));
    },
  );

  it("case 15: one machine that cannot be destroyed delays no other, and is tried less and less often", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 10; number++) await put(mayfly, `m${number}`);
    const stuck = servers(mayfly)[2]?.id;
    mayfly.simulator.fault({
      method: "DELETE",
      path: `^/v1/servers/${stuck}$`,
      times: 1000,
      status: 500,
      code: "server_error",
      message: "no",
    });
    await minutes(mayfly, 1);
    expect(servers(mayfly).map(({ id }) => id)).toEqual([stuck]);
    await minutes(mayfly, 60);
    const tries = mayfly.simulator.requests().filter(({ method }) => method === "DELETE").length - 9;
    expect(tries).toBeGreaterThan(4);
    expect(tries).toBeLessThan(12);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 16);
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 8: concludes nothing from an empty or failing list", async () => {
    for (const fault of [
      {
        status: 200,
        body: {
          servers: [],
          meta: {
            pagination: { page: 1, per_page: 50, previous_page: null, next_page: null, last_page: 1, total_entries: 0 },
          },
        },
      },
      { status: 500, code: "server_error", message: "no" },
      { drop: "before" as const },
    ]) {
      const mayfly = createMayfly();
      await put(mayfly, "box");
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 1000, ...fault });
      await mayfly.tick(NOW + 2 * MINUTE);
      // Its id was asked for, which is proof enough: it is there and past its end.
      expect(servers(mayfly)).toEqual([]);
      await mayfly.bindings.DB.batch([
        mayfly.bindings.DB.prepare("DELETE FROM machines"),
        mayfly.bindings.DB.prepare("UPDATE locks SET held_until = 0"),
      ]);
    }
  });

  it("S10: a refused token is no proof of absence: the row stays, the sweep has failed and health will say so", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    await put(mayfly, "box");
    mayfly.simulator.fault({
      method: "GET",
      path: ".*",
      times: 1000,
      status: 401,
      code: "unauthorized",
      message: "no",
    });
    await minutes(mayfly, 4);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).toBe("creating");
    expect(await mayfly.send("GET", "/healthz")).toMatchObject({ status: 503, body: { status: "red" } });
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 10);
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/healthz")).status).toBe(200);
  });

  it.each([
    ["rate_limited", { status: 429, code: "rate_limit_exceeded", message: "slow down" }, "error"],
    ["unauthorized", { status: 401, code: "unauthorized", message: "no" }, "alert"],
  ])("ends at a refusal that would meet every machine, %s, and says so of the rest", async (reason, fault, outcome) => {
    const mayfly = createMayfly();
    for (let number = 0; number < 8; number++) await put(mayfly, `m${number}`);
    mayfly.advance(2 * MINUTE);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", times: 9, ...fault });
    const report = await mayfly.tick();
    const items = report?.phases[0]?.items ?? [];
    // Five were under way when the first of them was refused.
    expect(items.map((item) => [item.outcome, item.reason])).toEqual([
      ...Array.from({ length: 5 }, () => [outcome, reason]),
      ...Array.from({ length: 3 }, () => ["remaining", "refused"]),
    ]);
    expect(items[0]?.detail).toContain(fault.message);
    expect(report?.phases[0]?.whyRemaining).toBe("refused");
    expect(report?.phases[0]?.failure).toContain(String(fault.status));
    expect(servers(mayfly)).toHaveLength(8);
  });

  it("leaves a row ended that its owner ended after it was read, and whose name is in use again", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.advance(2 * MINUTE);
    const { simulator } = mayfly;
    const fetch = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      const answer = await fetch(request);
      simulator.fetch = fetch;
      expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(200);
      expect((await put(mayfly, "box")).status).toBe(201);
      return answer;
    };
    const report = await mayfly.tick();
    expect(report?.phases[0]).toMatchObject({ failure: null, items: [{ outcome: "kept" }] });
    expect(servers(mayfly)).toHaveLength(1);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).status).not.toBe("deleting");
  });

  it("goes on where a sweep was cut off after it wrote its intent", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await mayfly.store.endings.claimDestroy(
      [{ uid: servers(mayfly)[0]?.labels?.["mayfly-uid"] ?? "", reason: "expired", expiresAt: NOW + MINUTE }],
      NOW + MINUTE,
    );
    await mayfly.tick(NOW + 2 * MINUTE);
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "expired",
    });
  });
});
