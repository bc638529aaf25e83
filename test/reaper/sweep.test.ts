import { describe, expect, it } from "vitest";
import {
  BODY,
  createMayfly,
  HOUR,
  MINUTE,
  minutes,
  NOW,
  OURS,
  refusing,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";

const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();
const put = (mayfly: Mayfly, name: string, ttl = "60s") => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl });

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
      { phase: "reconcile" },
      { phase: "orphans", failure: "the database does not answer" },
      { phase: "history" },
    ]);
    expect(servers(mayfly).map(({ name }) => name)).not.toContain("forgotten");
  });

  it("to which D1 grants the lock and then refuses all rows still ends what is overdue by the provider alone", async () => {
    const mayfly = createMayfly();
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /machines|reap_failures|resources/) });
    mayfly.simulator.addServer({ name: "forgotten", labels: OURS, created: ago(25 * HOUR) });
    mayfly.simulator.addServer({ name: "young", labels: OURS, created: ago(23 * HOUR) });
    const report = await mayfly.tick();
    expect(report?.phases.map(({ failure }) => failure)).toEqual(Array(6).fill("the database does not answer"));
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
    expect(report).toMatchObject({ id: null, phases: [{ items: [{ reason: "expired" }] }, {}, {}, {}, {}, {}] });
    expect(report?.phases.map(({ failure }) => failure)).toContain("the database does not answer");
    expect(await mayfly.tick()).not.toBeNull();
  });

  it.each([
    ["expire", 0, /delete_accepted_at = \?2|ending\.value/],
    ["reap", 1, /INTO reap_failures/],
  ])("I8: whose %s D1 stops midway tells what it has done all the same", async (_phase, index, pattern) => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    const old = { labels: OURS, created: ago(25 * HOUR) };
    mayfly.simulator.addServer({ name: "forgotten", ...old });
    const { id } = mayfly.simulator.addServer({ name: "stuck", ...old });
    mayfly.simulator.fault({
      method: "DELETE",
      path: `^/v1/servers/${id}$`,
      status: 423,
      code: "locked",
      message: "no",
    });
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, pattern) });
    mayfly.advance(2 * MINUTE);
    const report = await mayfly.tick();
    expect(servers(mayfly).map(({ name }) => name)).toEqual(["stuck"]);
    const phase = report?.phases[index];
    expect(phase?.failure).toBe("the database does not answer");
    expect(phase?.items.filter(({ outcome }) => /^(accepted|destroyed)$/.test(outcome))).toHaveLength(1);
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
      // Every quarter of an hour an inventory pass reads the empty inventory besides, and its rows; the phases behind it ask for themselves
      // then, and it is looked for machines whose end is not in the ledger.
      const [more, side] = minute % 15 === 0 ? [1, 5] : [0, 0];
      expect(report).toMatchObject({ id: null, fetches: 1 + more, statements: 3 + side });
    }
    mayfly.advance(MINUTE);
    expect((await mayfly.tick())?.id).toBeGreaterThan(0);
    const { body } = await mayfly.send("GET", "/v1/sweeps");
    expect(body).toMatchObject({ sweeps: [{}, {}], meta: { pagination: { next_page: null, total_entries: null } } });
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
      phases: [
        { destroyed: [{ reason: "expired" }] },
        { destroyed: [{ reason: "max_age" }] },
        { phase: "settle" },
        { phase: "reconcile" },
        { phase: "orphans" },
        { phase: "history" },
      ],
    };
    expect(dry.body).toMatchObject({ sweep: { id: null, dry_run: true, ...destroyed } });
    expect(real.body).toMatchObject({ sweep: { dry_run: false, started_by: "admin", ...destroyed } });
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/sweeps")).body).toMatchObject({
      sweeps: [{ started_by: "admin", ...destroyed }],
    });
  });
});

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

  it("knows of no good sweep before the first that cron has started and that was good", async () => {
    const mayfly = createMayfly();
    const health = async () => (await mayfly.send("GET", "/healthz", undefined, null)).body;
    // As the migrations leave it.
    await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?").bind(mayfly.now()).run();
    expect(await health()).toMatchObject({ status: "green", last_good_sweep_at: null });
    mayfly.advance(SECOND);
    await mayfly.send("POST", "/v1/sweeps", {});
    mayfly.simulator.fault({ path: "^/v1/servers", times: 9, status: 500 });
    expect(await mayfly.tick()).toMatchObject({
      phases: [{}, { failure: expect.any(String) as unknown }, {}, {}, {}, {}],
    });
    expect(await health()).toMatchObject({ status: "green", last_good_sweep_at: null });
    mayfly.simulator.clearFaults();
    await mayfly.tick();
    expect(await health()).toMatchObject({ last_good_sweep_at: "2026-11-30T12:00:01.000Z" });
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
