import { describe, expect, it } from "vitest";
import {
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  MINUTE,
  NOW,
  OURS,
  SECOND,
  type Mayfly,
  servers,
  minutes,
} from "../mayfly.ts";

const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();
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
    const mayfly = createMayfly();
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

  it("S75: 120 due machines are gone after four ticks, oldest end first, each within what a free plan allows", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++) {
      await put(mayfly, `m${number}`);
      mayfly.advance(SECOND);
    }
    mayfly.advance(10 * MINUTE);
    for (let left = 120; left > 0;) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
      expect(report?.statements).toBeLessThanOrEqual(40);
      const next = servers(mayfly).length;
      expect(left - next).toBeGreaterThanOrEqual(30);
      const numbers = servers(mayfly).map(({ labels }) => Number(labels?.["mayfly-name"]?.slice(1)));
      expect(Math.min(...numbers, 120)).toBe(120 - next);
      left = next;
    }
  });

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

  it("goes on where a sweep was cut off after it wrote its intent", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await mayfly.store.machines.claimDestroy(
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

  it("S75: 120 forgotten machines are gone after enough ticks, each within what a free plan allows", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      mayfly.simulator.addServer({ name: `m${number}`, labels: OURS, created: ago(30 * HOUR - number * SECOND) });
    let last = 120;
    for (let tick = 0; tick < 10 && last > 0; tick++) {
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
    const mayfly = createMayfly();
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
    const mayfly = createMayfly();
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
    await minutes(mayfly, 8);
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

describe("a sweep", () => {
  it("I8: whose expire fails still reaps", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    const { DB } = mayfly.bindings;
    mayfly.configure({ DB: refusing(DB, /expires_at <=/) });
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    const report = await mayfly.tick(NOW + 2 * MINUTE);
    expect(report?.phases).toMatchObject([
      { phase: "expire", items: [], failure: "the database does not answer" },
      { phase: "reap", items: [{ outcome: "destroyed" }] },
      { phase: "settle", failure: null },
    ]);
    expect(servers(mayfly).map(({ name }) => name)).not.toContain("forgotten");
  });

  it("to which D1 grants the lock and then refuses all rows still ends what is overdue by the provider alone", async () => {
    const mayfly = createMayfly();
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /machines|reap_failures/) });
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    mayfly.simulator.addServer({ name: "young", labels: OURS, created: ago(23 * HOUR) });
    const report = await mayfly.tick();
    expect(report?.phases.map(({ failure }) => failure)).toEqual(Array(3).fill("the database does not answer"));
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["young"]);
  });

  it("in which D1 refuses once ends nobody whose row says that it lives, whatever its label is behind", async () => {
    const mayfly = createMayfly();
    const { DB } = mayfly.bindings;
    const isProtected = { protection: { delete: true, rebuild: true } };
    mayfly.simulator.addServer({ name: "protected", labels: OURS, created: ago(30 * HOUR), ...isProtected });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "30m" });
    await minutes(mayfly, 1);
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", times: 1000, status: 503 });
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "10h" })).status).toBe(200);
    await minutes(mayfly, 95);
    mayfly.configure({ DB: refusing(DB, /reap_failures/) });
    mayfly.advance(MINUTE);
    expect((await mayfly.tick())?.phases[1]?.failure).toBe("the database does not answer");
    expect(servers(mayfly)).toHaveLength(2);
  });

  it("whose schema is older than its code says so, and still ends what is overdue by the provider alone", async () => {
    const mayfly = createMayfly();
    const { DB } = mayfly.bindings;
    await put(mayfly, "box");
    await DB.prepare("ALTER TABLE machines DROP COLUMN tried_at").run();
    try {
      await minutes(mayfly, 63);
      expect((await mayfly.tick())?.phases[0]?.failure).toContain("apply the migrations");
      expect(servers(mayfly)).toEqual([]);
    } finally {
      await DB.prepare("ALTER TABLE machines ADD COLUMN tried_at INTEGER").run();
    }
  });

  it("without D1 is foretold by its dry run", async () => {
    const mayfly = createMayfly();
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /./) });
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    const dry = await mayfly.tick(NOW, true);
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.tick())?.phases).toEqual(dry?.phases);
    expect(servers(mayfly)).toEqual([]);
  });

  it("whose report D1 does not take is told all the same, and gives the lock back", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /INTO sweeps/) });
    mayfly.advance(2 * MINUTE);
    const report = await mayfly.tick();
    expect(report).toMatchObject({ id: null, phases: [{ items: [{ reason: "expired" }] }, {}, {}] });
    expect(report?.phases.map(({ failure }) => failure)).toContain("the database does not answer");
    expect(await mayfly.tick()).not.toBeNull();
  });

  it("never overlaps another, and a lock left behind ends after 90 s", async () => {
    const mayfly = createMayfly();
    expect(await mayfly.store.lock.acquire("somebody", NOW, NOW + 90 * SECOND)).not.toBeNull();
    expect(await mayfly.tick()).toBeNull();
    expect(await mayfly.send("POST", "/v1/sweeps", {})).toMatchObject({ status: 409, body: { code: "sweep_running" } });
    mayfly.advance(90 * SECOND);
    expect(await mayfly.tick()).not.toBeNull();
    const both = await Promise.all([mayfly.tick(), mayfly.tick()]);
    expect(both.filter((report) => report !== null)).toHaveLength(1);
  });

  it("that is idle asks the provider once, writes the lock row alone, and reports once an hour", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    for (let minute = 1; minute <= 59; minute++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report).toMatchObject({ id: null, fetches: 1, statements: 3 });
    }
    mayfly.advance(MINUTE);
    expect((await mayfly.tick())?.id).toBeGreaterThan(0);
    const { body } = await mayfly.send("GET", "/v1/sweeps");
    expect(body).toMatchObject({ meta: { pagination: { total_entries: 2 } } });
  });

  it("is run and read by an admin; a dry run names what the next one does, and changes nothing", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    mayfly.advance(2 * MINUTE);
    const dry = await mayfly.send("POST", "/v1/sweeps", { dry_run: true });
    expect(dry.status).toBe(200);
    expect(servers(mayfly)).toHaveLength(2);
    expect((await mayfly.send("GET", "/v1/sweeps")).body).toMatchObject({ sweeps: [] });
    const real = await mayfly.send("POST", "/v1/sweeps");
    const destroyed = {
      phases: [{ destroyed: [{ reason: "expired" }] }, { destroyed: [{ reason: "max_age" }] }, { phase: "settle" }],
    };
    expect(dry.body).toMatchObject({ sweep: { id: null, dry_run: true, ...destroyed } });
    expect(real.body).toMatchObject({ sweep: { dry_run: false, started_by: "admin", ...destroyed } });
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/sweeps")).body).toMatchObject({
      sweeps: [{ started_by: "admin", ...destroyed }],
    });
  });
});

/** D1 that answers everything but what matches. */
function refusing(db: D1Database, pattern: RegExp): D1Database {
  return new Proxy(db, {
    get: (target, key: keyof D1Database) =>
      key === "prepare"
        ? (text: string) => {
            if (pattern.test(text)) throw new Error("D1_ERROR: refused");
            return target.prepare(text);
          }
        : target[key].bind(target),
  });
}

describe("health", () => {
  it("I9: is green for three intervals after a good sweep that cron started, then red with the reason", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    mayfly.advance(3 * MINUTE);
    expect(await mayfly.send("GET", "/healthz", undefined, null)).toMatchObject({
      status: 200,
      body: { status: "green", reasons: [] },
    });
    mayfly.advance(SECOND);
    await mayfly.send("POST", "/v1/sweeps", {});
    const red = await mayfly.send("GET", "/healthz", undefined, null);
    expect(red).toMatchObject({ status: 503, body: { status: "red", reasons: ["no good sweep for 181 s"] } });
    expect(red.headers.get("Retry-After")).toBe("60");
    await mayfly.tick();
    expect((await mayfly.send("GET", "/healthz", undefined, null)).status).toBe(200);
  });

  it("is red while a machine stays that should long be gone, though sweeps run", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", times: 1000, status: 500 });
    await minutes(mayfly, 30);
    expect((await mayfly.send("GET", "/healthz")).status).toBe(200);
    await minutes(mayfly, 2);
    const reason = "1 machine is more than 30 min past the end; see GET /v1/sweeps";
    expect(await mayfly.send("GET", "/healthz")).toMatchObject({ status: 503, body: { reasons: [reason] } });
    // Sweeps run, so nobody who creates has to pay for one.
    expect((await put(mayfly, "other")).body).not.toHaveProperty("warning");
  });

  it("is green while a label keeps a machine longer than a row that was restored", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    const row = await mayfly.store.machines.byName("admin", "box");
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" })).status).toBe(200);
    const end = row?.expiresAt ?? 0;
    await mayfly.bindings.DB.prepare("UPDATE machines SET expires_at = ?1, label_expires_at = ?1").bind(end).run();
    await minutes(mayfly, 60);
    expect(servers(mayfly)).toHaveLength(1);
    expect((await mayfly.send("GET", "/healthz")).status).toBe(200);
  });

  it("is red with a setting that cannot be used, which HTTP names and never shows", async () => {
    const mayfly = createMayfly({ DEFAULT_TTL: "canary" });
    await mayfly.tick().catch(() => undefined);
    const health = await mayfly.send("GET", "/healthz");
    expect(health).toMatchObject({ status: 503, body: { status: "red" } });
    expect(health.text).toContain("DEFAULT_TTL");
    const refused = await mayfly.send("GET", "/v1/machines");
    expect(refused).toMatchObject({ status: 503, body: { code: "misconfigured", field: "DEFAULT_TTL" } });
    expect(health.text + refused.text).not.toContain("canary");
  });
});
