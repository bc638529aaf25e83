import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, machineIn, SECOND, type Mayfly, servers, minutes } from "../mayfly.ts";

const put = (mayfly: Mayfly, more: object = {}) => mayfly.send("PUT", "/v1/machines/box", { ...BODY, ...more });

describe("what other systems learnt the hard way", () => {
  it("case 6: a job that was cut off before it knew any id destroys by name; one that never runs again is overtaken by the lease", async () => {
    const mayfly = createMayfly();
    await put(mayfly, { ttl: "10m" });
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(200);
    await put(mayfly, { ttl: "10m" });
    await minutes(mayfly, 11);
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 16: past max_until nothing keeps a machine, whatever else does not answer", async () => {
    const mayfly = createMayfly({ MAX_AGE: "1h" });
    await put(mayfly, { ttl: "1h" });
    mayfly.simulator.fault({
      method: "GET",
      path: "pricing|actions",
      times: 9999,
      status: 500,
      code: "server_error",
      message: "no",
    });
    mayfly.simulator.fault({
      method: "PUT",
      path: ".*",
      times: 9999,
      status: 500,
      code: "server_error",
      message: "no",
    });
    await minutes(mayfly, 60);
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 18: with no setting and no ttl the default lease applies, and the reaper is on", async () => {
    const mayfly = createMayfly();
    expect(machineIn(await put(mayfly)).expires_at).toBe("2026-11-30T13:00:00.000Z");
    await minutes(mayfly, 61);
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 27: a lease that is renewed at each third of it is never taken away, though every answer takes 20 s", async () => {
    const mayfly = createMayfly();
    await put(mayfly, { ttl: "3m" });
    const { simulator } = mayfly;
    const fetch = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      mayfly.advance(20 * SECOND);
      return fetch(request);
    };
    const until = mayfly.now() + HOUR;
    while (mayfly.now() < until) {
      expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3m" })).status).toBe(200);
      await mayfly.tick();
    }
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("P42: a machine that was deleted by hand is not made again by anybody but its owner's next call", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, { ttl: "10m" }));
    mayfly.simulator.reset();
    await minutes(mayfly, 11);
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "gone",
    });
    const again = await put(mayfly);
    expect(again.status).toBe(201);
    expect(machineIn(again).id).not.toBe(first.id);
  });
});
