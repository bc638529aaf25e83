import { describe, expect, it } from "vitest";
import {
  LOCAL,
  BODY,
  createMayfly,
  HOUR,
  MINUTE,
  minutes,
  NOW,
  OURS,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";

const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();
const put = (mayfly: Mayfly, name: string, ttl = "60s") => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl });

describe("reap", () => {
  it("destroys what is ours, past MAX_AGE and in no row, in one tick; foreign machines survive every tick", async () => {
    const mayfly = createMayfly();
    const labels = { created: String((NOW - 25 * HOUR) / 1000) };
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    mayfly.simulator.addServer({ name: "no-stamp", labels: { ...OURS, ...labels }, created: null });
    mayfly.simulator.addServer({ name: "foreign", labels: {}, created: ago(9999 * HOUR) });
    mayfly.simulator.addServer({
      name: "sibling",
      labels: { ...OURS, "mayfly-installation": "other" },
      created: ago(9999 * HOUR),
    });
    mayfly.simulator.addServer({
      name: "unmanaged",
      labels: { "mayfly-installation": OURS["mayfly-installation"] },
      created: ago(9999 * HOUR),
    });
    mayfly.simulator.addServer({ name: "unlabelled", labels: null, created: ago(9999 * HOUR) });
    mayfly.simulator.addServer({ name: "ageless", labels: OURS, created: null });
    mayfly.simulator.addServer({ name: "young", labels: OURS, created: ago(HOUR) });
    const report = await mayfly.tick();
    expect(report?.phases[1]?.items).toMatchObject([
      { outcome: "destroyed", reason: "max_age" },
      { outcome: "destroyed", reason: "max_age" },
      { outcome: "unknown_age" },
    ]);
    await minutes(mayfly, 5);
    expect(
      servers(mayfly)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["ageless", "foreign", "sibling", "unlabelled", "unmanaged", "young"]);
  });

  it("covers the installations that this one took over from", async () => {
    const mayfly = createMayfly({ PREVIOUS_INSTALLATIONS: "older, oldest" });
    for (const installation of ["older", "oldest", "stranger"])
      mayfly.simulator.addServer({
        name: installation,
        labels: { ...OURS, "mayfly-installation": installation },
        created: ago(25 * HOUR),
      });
    await mayfly.tick();
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["stranger"]);
  });

  it("I2: reads a machine again, and leaves alone what has been taken from us since it was listed", async () => {
    const mayfly = createMayfly();
    const { simulator } = mayfly;
    const { id } = simulator.addServer({ name: "mine-now", labels: OURS, created: ago(25 * HOUR) });
    const fetch = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      const answer = await fetch(request);
      simulator.fetch = fetch;
      const init = { method: "PUT", headers: { Authorization: "Bearer a-person" }, body: '{"labels":{}}' };
      await fetch(new Request(`https://api.hetzner.cloud/v1/servers/${id}`, init));
      return answer;
    };
    const report = await mayfly.tick();
    expect(report?.phases[1]?.items).toMatchObject([{ outcome: "kept", reason: "foreign" }]);
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["mine-now"]);
  });

  it("S75: 120 forgotten machines are gone after enough ticks, each within what a free plan allows", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      mayfly.simulator.addServer({ name: `m${number}`, labels: OURS, created: ago(30 * HOUR - number * SECOND) });
    let last = 120;
    for (let tick = 0; tick < 20 && last > 0; tick++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
      expect(report?.statements).toBeLessThanOrEqual(40);
      expect(servers(mayfly).length).toBeLessThan(last);
      last = servers(mayfly).length;
    }
    expect(last).toBe(0);
  });

  it("respects a longer promise: the row's, else the labels' within thirty days", async () => {
    const mayfly = createMayfly(LOCAL);
    const label = (hours: number) => String(NOW / 1000 + hours * 3600);
    mayfly.simulator.addServer({
      name: "promised",
      labels: { ...OURS, "mayfly-expires": label(1), "mayfly-max": label(2) },
      created: ago(48 * HOUR),
    });
    mayfly.simulator.addServer({
      name: "unpromised",
      labels: { ...OURS, "mayfly-expires": label(1) },
      created: ago(48 * HOUR),
    });
    await mayfly.tick();
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["promised"]);
    await mayfly.tick(NOW + HOUR);
    expect(servers(mayfly)).toEqual([]);
  });

  it("destroys what page one showed although page two fails, and says that it did not see all", async () => {
    const mayfly = createMayfly({ PLAN: "paid" });
    for (let number = 0; number < 60; number++)
      mayfly.simulator.addServer({ name: `m${number}`, labels: OURS, created: ago(30 * HOUR - number * SECOND) });
    mayfly.simulator.fault({
      method: "GET",
      path: "^/v1/servers$",
      after: 1,
      status: 500,
      code: "server_error",
      message: "no",
    });
    const report = await mayfly.tick();
    expect(report?.phases[1]?.failure).toContain("500");
    expect(servers(mayfly).length).toBeLessThan(60);
    await minutes(mayfly, 12);
    expect(servers(mayfly)).toEqual([]);
  });

  it("case 12: skips what it cannot read, and a machine with a row still dies by the row", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.simulator.addServer({ name: "odd", labels: null, status: "invented", created: "yesterday" });
    await minutes(mayfly, 2);
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["odd"]);
  });
});
