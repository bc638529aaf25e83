import { describe, expect, it } from "vitest";
import {
  LOCAL,
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  machinesIn,
  MINUTE,
  minutes,
  NOW,
  SECOND,
  type Mayfly,
  servers,
} from "../mayfly.ts";

const put = (mayfly: Mayfly, name = "box", more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more });
const renew = (mayfly: Mayfly, ttl: string, name = "box") => mayfly.send("POST", `/v1/machines/${name}/renew`, { ttl });
const labelEnd = (mayfly: Mayfly) => Number(servers(mayfly)[0]?.labels?.["mayfly-expires"]) * SECOND;
const at = (ms: number) => new Date(ms).toISOString();

describe("renew", () => {
  it("moves the end to ttl from now, in the row and on the label, and leaves other labels alone", async () => {
    const mayfly = createMayfly(LOCAL);
    await put(mayfly, "box", { ttl: "10m", labels: { team: "red" } });
    mayfly.advance(5 * MINUTE);
    const renewed = await renew(mayfly, "30m");
    expect(renewed.status).toBe(200);
    expect(machineIn(renewed).expires_at).toBe(at(NOW + 35 * MINUTE));
    expect(labelEnd(mayfly)).toBe(NOW + 35 * MINUTE);
    expect(servers(mayfly)[0]?.labels).toMatchObject({ team: "red", "mayfly-managed": "true", "mayfly-name": "box" });
    await mayfly.tick(NOW + 34 * MINUTE);
    expect(servers(mayfly)).toHaveLength(1);
    await mayfly.tick(NOW + 35 * MINUTE);
    expect(servers(mayfly)).toEqual([]);
  });

  it("never makes a lease shorter, and never passes max_until", async () => {
    const mayfly = createMayfly();
    const { expires_at, max_until } = machineIn(await put(mayfly, "box", { ttl: "2h" }));
    expect(machineIn(await renew(mayfly, "1m")).expires_at).toBe(expires_at);
    mayfly.advance(HOUR);
    expect((await renew(mayfly, "22h")).body).not.toHaveProperty("clamped_to");
    const clamped = await renew(mayfly, "24h");
    expect([clamped.status, clamped.body]).toMatchObject([200, { clamped_to: "max_until" }]);
    expect(machineIn(clamped).expires_at).toBe(max_until);
    const refused = await renew(mayfly, "24h");
    expect(refused).toMatchObject({ status: 422, body: { code: "invalid_input", field: "ttl" } });
    expect(refused.text).toContain(max_until);
    expect(machineIn(await renew(mayfly, "23h")).expires_at).toBe(max_until);
  });

  it.each(["2m", "30m", "24h", "48h", "9999d"])(
    "near the latest end goes as far as that, and says so: %s",
    async (ttl) => {
      const mayfly = createMayfly();
      const { max_until } = machineIn(await put(mayfly, "box", { ttl: "23h" }));
      mayfly.advance(22 * HOUR + 59 * MINUTE);
      expect((await renew(mayfly, "60m")).body).not.toHaveProperty("clamped_to");
      mayfly.advance(59 * MINUTE + 21 * SECOND);
      const clamped = await renew(mayfly, ttl);
      expect([clamped.status, clamped.body]).toMatchObject([
        200,
        { clamped_to: "max_until", machine: { expires_at: max_until } },
      ]);
      expect(labelEnd(mayfly)).toBe(Date.parse(max_until));
    },
  );

  it("case 25: of an ended lease is refused, and never brings it back", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "60s" });
    mayfly.advance(MINUTE + SECOND);
    expect(await renew(mayfly, "1h")).toMatchObject({ status: 409, body: { code: "expired" } });
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    expect(await renew(mayfly, "1h")).toMatchObject({ status: 409, body: { code: "expired" } });
    expect(await renew(mayfly, "1h", "unknown")).toMatchObject({ status: 404 });
    const alice = await mayfly.tokenOf("alice");
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "5m" }, alice)).status).toBe(404);
  });

  it("case 25: racing its end has exactly one winner, wherever the race is cut", async () => {
    for (const first of ["renew", "expire"]) {
      const mayfly = createMayfly();
      await put(mayfly, "box", { ttl: "10m" });
      mayfly.advance(10 * MINUTE - 1);
      const { simulator } = mayfly;
      const fetch = simulator.fetch.bind(simulator);
      let renewal: ReturnType<typeof renew> | undefined;
      // Between what the sweep read and what it claims: the renewal comes at the last moment, the sweep judges a moment later.
      simulator.fetch = async (request) => {
        const answer = await fetch(request);
        if (first === "renew" && request.method === "GET" && renewal === undefined) {
          renewal = renew(mayfly, "1h");
          await renewal;
        }
        return answer;
      };
      const report = await mayfly.tick(NOW + 10 * MINUTE);
      if (first === "expire") renewal = renew(mayfly, "1h");
      const renewed = await renewal;
      const died = servers(mayfly).length === 0;
      expect([renewed?.status, died]).toEqual(first === "renew" ? [200, false] : [409, true]);
      expect(report?.phases[0]?.items.map(({ outcome }) => outcome)).toEqual([
        first === "renew" ? "kept" : "destroyed",
      ]);
      const { DB } = mayfly.bindings;
      await DB.batch([DB.prepare("DELETE FROM machines"), DB.prepare("UPDATE locks SET held_until = 0")]);
    }
  });

  it("whose label could not be written is repeated by settle until it is there; the machine lives all the while", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "10m" });
    mayfly.simulator.fault({
      method: "PUT",
      path: "^/v1/servers/",
      times: 2,
      status: 503,
      code: "unavailable",
      message: "no",
    });
    expect((await renew(mayfly, "1h")).status).toBe(200);
    expect(labelEnd(mayfly)).toBe(NOW + 10 * MINUTE);
    for (let minute = 0; minute < 15; minute++) {
      mayfly.advance(MINUTE);
      await mayfly.tick();
    }
    expect(labelEnd(mayfly)).toBe(NOW + HOUR);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("case 13: has no way past max_until, however often it is asked", async () => {
    const mayfly = createMayfly({ MAX_AGE: "2h" });
    await put(mayfly, "box", { ttl: "1h" });
    for (let minute = 0; minute < 150; minute += 10) {
      await renew(mayfly, "50m");
      mayfly.advance(10 * MINUTE);
      await mayfly.tick();
    }
    expect(servers(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).destroyed_at).toBe(at(NOW + 2 * HOUR));
  });
});

describe("keep_on_failure", () => {
  it("moves the end of a failed job's machine, says until when, and is over then", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "10m", keep_on_failure: "2h" });
    const kept = await mayfly.send("DELETE", "/v1/machines/box?outcome=failure");
    expect(kept).toMatchObject({ status: 200, body: { kept_until: at(NOW + 2 * HOUR) } });
    expect(machineIn(kept)).toMatchObject({ status: "creating", expires_at: at(NOW + 2 * HOUR) });
    expect(labelEnd(mayfly)).toBe(NOW + 2 * HOUR);
    mayfly.advance(HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.advance(HOUR - 1);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.advance(1);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
  });

  it.each([0, 1, 499, 500, 999])(
    "moves it nearer too, though its label cannot be written for a while, %d ms behind a second",
    async (part) => {
      const mayfly = createMayfly();
      mayfly.advance(part);
      await put(mayfly, "box", { ttl: "5h", keep_on_failure: "1h" });
      mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", times: 99, status: 503, code: "unavailable" });
      expect((await mayfly.send("DELETE", "/v1/machines/box?outcome=failure")).status).toBe(200);
      await minutes(mayfly, 20);
      expect(labelEnd(mayfly)).toBe(NOW + 5 * HOUR);
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box")).expires_at).toBe(at(NOW + part + HOUR));
      await minutes(mayfly, 42);
      expect(servers(mayfly)).toEqual([]);
    },
  );

  it("is on failure only, only where it was asked for, and within max_until", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "success", { keep_on_failure: "2h" });
    expect(machineIn(await mayfly.send("DELETE", "/v1/machines/success?outcome=success")).status).toBe("destroyed");
    await put(mayfly, "plain");
    expect(machineIn(await mayfly.send("DELETE", "/v1/machines/plain?outcome=failure")).status).toBe("destroyed");
    await put(mayfly, "late", { ttl: "24h", keep_on_failure: "2h" });
    mayfly.advance(23 * HOUR);
    const { max_until } = machineIn(await mayfly.send("DELETE", "/v1/machines/late?outcome=failure"));
    expect((await mayfly.send("GET", "/v1/machines/late")).body).toMatchObject({ machine: { expires_at: max_until } });
  });
});

describe("wait", () => {
  it("answers when the machine runs, and looks at most every three seconds for all who wait", async () => {
    const mayfly = createMayfly();
    const created = await mayfly.send("PUT", "/v1/machines/box?wait=30", BODY);
    expect([created.status, machineIn(created).status]).toEqual([201, "running"]);
    expect(machineIn(created).observed_at).toBe(at(NOW + 3 * SECOND));
    const looks = () =>
      mayfly.simulator.requests().filter(({ method, path }) => method === "GET" && path === "/v1/servers").length;
    expect(looks()).toBe(1);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box?wait=30")).status).toBe("running");
    expect(looks()).toBe(1);
  });

  it("ends after its time with the machine as it is, in at most ten looks", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({
      method: "GET",
      path: "^/v1/servers",
      times: 99,
      status: 503,
      code: "unavailable",
      message: "no",
    });
    const created = await mayfly.send("PUT", "/v1/machines/box?wait=30", BODY);
    expect([created.status, machineIn(created).status]).toEqual([201, "creating"]);
    expect(mayfly.now()).toBe(NOW + 30 * SECOND);
    expect(
      mayfly.simulator.requests().filter(({ path, method }) => path === "/v1/servers" && method === "GET"),
    ).toHaveLength(10);
  });
});

describe("DELETE with a label_selector", () => {
  it("destroys those of one's own that it names, and a dry run only names them", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    for (let number = 0; number < 12; number++) await put(mayfly, `red${number}`, { labels: { team: "red" } });
    await put(mayfly, "blue", { labels: { team: "blue" } });
    await mayfly.send("PUT", "/v1/machines/hers", { ...BODY, labels: { team: "red" } }, alice);
    const dry = await mayfly.send("DELETE", "/v1/machines?label_selector=team%3Dred&dry_run=true");
    expect(dry).toMatchObject({ status: 200, body: { dry_run: true } });
    expect(machinesIn(dry)).toHaveLength(12);
    expect(servers(mayfly)).toHaveLength(14);
    const real = await mayfly.send("DELETE", "/v1/machines?label_selector=team%3Dred");
    expect(real).toMatchObject({ status: 202, body: { dry_run: false } });
    expect(machinesIn(real).every(({ status }) => status === "deleting")).toBe(true);
    expect(servers(mayfly)).toHaveLength(9);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect(servers(mayfly).map(({ labels }) => labels?.["mayfly-name"])).toEqual(["blue", "hers"]);
  });
});

describe("a tombstone", () => {
  it("forbids a name that no machine had, for as long as it was asked", async () => {
    const mayfly = createMayfly();
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=10m")).status).toBe(204);
    const refused = await put(mayfly);
    expect(refused).toMatchObject({ status: 409, body: { code: "released" } });
    expect(refused.headers.get("Retry-After")).toBe("600");
    expect((await put(mayfly, "other")).status).toBe(201);
    const alice = await mayfly.tokenOf("alice");
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, alice)).status).toBe(201);
    mayfly.advance(10 * MINUTE);
    expect((await put(mayfly)).status).toBe(201);
  });
});
