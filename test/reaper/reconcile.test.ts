import { describe, expect, it } from "vitest";
import {
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  machinesIn,
  minutes,
  MINUTE,
  NOW,
  OURS,
  refusing,
  servers,
  type Mayfly,
} from "../mayfly.ts";

const UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";
const seconds = (milliseconds: number) => String(Math.floor(milliseconds / 1000));
const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();
const put = (mayfly: Mayfly, name: string, more: object = {}, token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5h", ...more }, token);
const names = (mayfly: Mayfly) => servers(mayfly).map(({ name }) => name);
const live = async (mayfly: Mayfly) => machinesIn(await mayfly.send("GET", "/v1/machines"));
/** As a machine of ours looks whose row was lost. */
const lostRow = (name: string, uid: string, more: Record<string, string> = {}, age = HOUR) => ({
  name: `${name}-abcdefghijklm`,
  created: ago(age),
  labels: {
    ...OURS,
    "mayfly-uid": uid,
    "mayfly-owner": "tok.alice",
    "mayfly-name": name,
    "mayfly-expires": seconds(NOW + 2 * HOUR),
    "mayfly-max": seconds(NOW - age + 24 * HOUR),
    created: seconds(NOW - age),
    team: "red",
    ...more,
  },
});
const LOST = ["machines", "events", "sweeps", "settings", "tokens", "resources", "resource_uses", "reap_failures"];
async function loseD1(mayfly: Mayfly): Promise<void> {
  const { DB } = mayfly.bindings;
  await DB.batch([
    ...LOST.map((table) => DB.prepare(`DELETE FROM ${table}`)),
    DB.prepare("UPDATE locks SET first_sweep_at = NULL, reconcile = '{}', resources_listed_at = 0"),
  ]);
}
/** What reports said of the reconcile phase, over some minutes. */
async function told(mayfly: Mayfly, count: number): Promise<string[]> {
  const said: string[] = [];
  for (let minute = 0; minute < count; minute++) {
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    for (const { outcome, reason } of report?.phases.find(({ phase }) => phase === "reconcile")?.items ?? [])
      said.push(`${outcome} ${reason}`);
  }
  return said;
}

describe("a machine without a row", () => {
  it("case 3, I5, P61, P79, X17: is adopted with its labels' owner, name and lease, and ends by that", async () => {
    const mayfly = createMayfly();
    const { id } = mayfly.simulator.addServer(lostRow("box", UID));
    expect(await told(mayfly, 16)).toContain("settled adopted");
    const [adopted] = await live(mayfly);
    expect(adopted).toMatchObject({
      id: `mch_${UID}`,
      name: "box",
      owner: "tok.alice",
      provider_id: String(id),
      status: "running",
      labels: { team: "red" },
      expires_at: new Date(NOW + 2 * HOUR).toISOString(),
      max_until: new Date(NOW + 23 * HOUR).toISOString(),
    });
    await minutes(mayfly, 103);
    expect(names(mayfly)).toHaveLength(1);
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual([]);
  });

  it("I4: whose end has passed still lives a quarter of an hour, in which its owner may renew it", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    for (const [name, uid] of [
      ["a", UID],
      ["b", UID.replace("9", "8")],
    ] as const)
      mayfly.simulator.addServer(lostRow(name, uid, { "mayfly-expires": seconds(NOW) }));
    await minutes(mayfly, 15);
    expect((await mayfly.send("POST", "/v1/machines/a/renew", { ttl: "2h" }, alice)).status).toBe(200);
    await minutes(mayfly, 14);
    expect(servers(mayfly)).toHaveLength(2);
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual(["a-abcdefghijklm"]);
  });

  it("P62, P63, P78: that is younger than GRACE is left alone: its create may be in flight", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer({ ...lostRow("box", UID), created: ago(-6 * MINUTE) });
    expect(await told(mayfly, 16)).toEqual([]);
    expect(await live(mayfly)).toEqual([]);
    expect(await told(mayfly, 15)).toContain("settled adopted");
  });

  it("P64, X1, X2: of unknown age is reported and begins to age now; it is not old", async () => {
    const mayfly = createMayfly();
    const odd = (name: string, uid: string, created: string) => ({
      ...lostRow(name, uid, { created, "mayfly-expires": "", "mayfly-max": "" }),
      created: null,
    });
    mayfly.simulator.addServer(odd("zero", UID, "0"));
    mayfly.simulator.addServer(odd("late", UID.replace("9", "8"), String(NOW)));
    mayfly.simulator.addServer(odd("none", UID.replace("9", "7"), "x"));
    expect((await told(mayfly, 16)).filter((one) => one === "unknown_age unknown_age")).toHaveLength(3);
    expect(await live(mayfly)).toHaveLength(3);
    mayfly.advance(23 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(3);
    mayfly.advance(HOUR);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
  });

  it("P65: without a uid is nobody's: never adopted, reported, and gone at MAX_AGE", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer({ ...lostRow("box", "", { "mayfly-expires": "", "mayfly-max": "" }) });
    expect(await told(mayfly, 20)).toEqual(["alert unattributed"]);
    expect(await live(mayfly)).toEqual([]);
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.advance(23 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
  });

  it("P75, X24: of another installation, or without our labels, is never touched", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer(lostRow("sibling", UID, { "mayfly-installation": "another" }, 30 * HOUR));
    mayfly.simulator.addServer({ name: "hand-made", created: ago(30 * HOUR) });
    const before = JSON.stringify(servers(mayfly).map(({ labels, name }) => [labels, name]));
    await minutes(mayfly, 40);
    expect(JSON.stringify(servers(mayfly).map(({ labels, name }) => [labels, name]))).toBe(before);
    expect(await live(mayfly)).toEqual([]);
  });

  it("P60, P67: that is created while the inventory is read has its row by then", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    expect((await told(mayfly, 31)).filter((one) => !one.startsWith("kept"))).toEqual([]);
    expect(await live(mayfly)).toHaveLength(1);
  });

  it("P69: whose uid has another row gets one of its own, is told of, and both live to their ends", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box"));
    const labels = { ...servers(mayfly)[0]?.labels, "mayfly-expires": seconds(NOW + HOUR) };
    mayfly.simulator.addServer({ name: "copy", created: ago(-60_000), labels });
    const said = await told(mayfly, 16);
    expect(said).toContain("alert twin");
    expect(said).toContain("settled adopted");
    const both = await live(mayfly);
    expect(both.map(({ name }) => name)).toContain("box");
    expect(new Set(both.map(({ id }) => id)).size).toBe(2);
    await minutes(mayfly, 47);
    expect(names(mayfly)).toEqual([expect.stringMatching(/^box-/)]);
    expect(machineIn(await mayfly.send("GET", `/v1/machines/${first.id}`)).status).toBe("running");
  });

  it("P70, late_landing: whose uid is a tombstone dies, within the blast cap", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before", times: 30 });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", status: 503, times: 30 });
    await put(mayfly, "box");
    const [row] = await live(mayfly);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 20);
    expect(await live(mayfly)).toEqual([]);
    mayfly.simulator.addServer(lostRow("box", row?.id.slice(4) ?? "", {}, 0));
    await minutes(mayfly, 17);
    expect(servers(mayfly)).toEqual([]);
  });

  it("while rows exist and younger than the first sweep is adopted, and somebody is told that the installation is shared", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await mayfly.tick();
    mayfly.simulator.addServer({ ...lostRow("other", UID), created: ago(-2 * MINUTE) });
    const said = await told(mayfly, 31);
    expect(said).toContain("settled adopted");
    expect(said).toContain("alert installation_shared");
  });
});

it("P68: a machine that is being destroyed has a row: it is neither adopted again nor lost", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "box");
  mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 1000 });
  expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(202);
  expect(await told(mayfly, 33)).toEqual([]);
  expect(await live(mayfly)).toMatchObject([{ name: "box", status: "deleting" }]);
  mayfly.simulator.clearFaults();
  await minutes(mayfly, 16);
  expect(servers(mayfly)).toEqual([]);
});

describe("a row without a machine", () => {
  it("case 10, P42, P71: is lost after two looks, the second by id, and its name is free", async () => {
    const mayfly = createMayfly();
    const { provider_id } = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 2);
    await deleteBehind(mayfly, provider_id);
    expect(await told(mayfly, 16)).toContain("kept missing");
    expect(await live(mayfly)).toHaveLength(1);
    expect(await told(mayfly, 16)).toContain("settled lost");
    expect(await live(mayfly)).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
      status: "destroyed",
      reason: "lost",
    });
    expect((await put(mayfly, "box")).status).toBe(201);
  });

  it("case 8, I4: is not lost because a list hides it", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 1000, status: 200, body: EMPTY });
    await minutes(mayfly, 60);
    mayfly.simulator.clearFaults();
    expect(await live(mayfly)).toHaveLength(1);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("case 8, case 21, P66, X21: a failing, partial or refused inventory concludes nothing", async () => {
    for (const fault of [
      { status: 503 },
      { status: 401, code: "unauthorized", message: "no" },
      { status: 429 },
      { drop: "before" as const },
    ]) {
      const mayfly = createMayfly();
      await put(mayfly, `box-${JSON.stringify(fault).length}`);
      await minutes(mayfly, 2);
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers", times: 1000, ...fault });
      await minutes(mayfly, 40);
      expect(await live(mayfly)).toHaveLength(1);
      await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    }
  });

  it("more than max(3, 20 %) newly absent at once is doubted: nothing is concluded, and health is red until that has passed", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 5; number++) await put(mayfly, `m${number}`);
    await minutes(mayfly, 2);
    const gone = servers(mayfly).slice(0, 4);
    for (const { id } of gone) await deleteBehind(mayfly, String(id));
    expect(await told(mayfly, 45)).toContain("alert inventory_untrusted");
    expect(await live(mayfly)).toHaveLength(5);
    mayfly.configure({});
    await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?").bind(mayfly.now()).run();
    const red = await mayfly.send("GET", "/healthz", undefined, null);
    expect([red.status, red.text]).toEqual([503, expect.stringContaining("more machines at once")]);
  });

  it("of another credential is not lost, nor closed at its end, until one of them is seen under the new one", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await put(mayfly, name, { ttl: "1h" });
    await minutes(mayfly, 2);
    const [a] = servers(mayfly);
    await deleteBehind(mayfly, String(a?.id));
    mayfly.configure({ HCLOUD_TOKEN: "another-token" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", times: 1000, status: 200, body: EMPTY });
    mayfly.simulator.fault({
      method: "GET",
      path: "^/v1/servers/",
      times: 1000,
      status: 404,
      code: "not_found",
      message: "server not found",
    });
    expect(await told(mayfly, 50)).toContain("alert other_credential");
    await minutes(mayfly, 15);
    expect(await live(mayfly)).toHaveLength(2);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 40);
    expect([await live(mayfly), servers(mayfly)]).toEqual([[], []]);
  });

  it("of another credential is given up on an admin's word", async () => {
    const mayfly = createMayfly();
    const { provider_id } = machineIn(await put(mayfly, "a", { ttl: "10m" }));
    await deleteBehind(mayfly, provider_id);
    mayfly.configure({ HCLOUD_TOKEN: "another-token" });
    await minutes(mayfly, 40);
    expect(await live(mayfly)).toHaveLength(1);
    expect(
      (await mayfly.send("POST", "/v1/holds/credential/release", undefined, await mayfly.tokenOf("bob"))).status,
    ).toBe(403);
    expect((await mayfly.send("POST", "/v1/holds/credential/release")).status).toBe(200);
    await minutes(mayfly, 16);
    expect(await live(mayfly)).toEqual([]);
  });

  it("I2: whose machine is another by now is given up after two looks, and the machine left alone", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    const [server] = servers(mayfly);
    await behind(mayfly, "PUT", `/servers/${server?.id}`, { labels: {} });
    await minutes(mayfly, 64);
    expect(servers(mayfly)).toHaveLength(1);
    expect(await live(mayfly)).toEqual([]);
  });
});

describe("the blast cap", () => {
  it("case 23: holds early deaths beyond max(5, 20 %) a sweep until an admin releases them; an owner's own DELETE never waits", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 9; number++) await put(mayfly, `m${number}`);
    // Nobody looks while they run, so that for their rows they never did.
    mayfly.advance(MINUTE);
    for (const { id } of servers(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    mayfly.advance(20 * MINUTE);
    const report = await mayfly.tick();
    const held = report?.phases.flatMap(({ items }) => items).filter(({ reason }) => reason === "held") ?? [];
    expect(held.length).toBe(4);
    expect(held.map(({ outcome }) => outcome)).toEqual(Array(4).fill("alert"));
    const spared = held[0]?.uid;
    expect((await mayfly.send("DELETE", `/v1/machines/mch_${spared}`)).status).toBe(200);
  });

  it("P72: is released by an admin, and by nobody else", async () => {
    const mayfly = createMayfly();
    const bob = await mayfly.tokenOf("bob");
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release", undefined, bob)).status).toBe(403);
    expect((await mayfly.send("POST", "/v1/holds/nothing/release")).status).toBe(422);
    for (let number = 0; number < 9; number++) await put(mayfly, `m${number}`);
    await mayfly.bindings.DB.prepare(
      "UPDATE machines SET phase = 'failed', status = 'destroyed', provider_id = NULL",
    ).run();
    mayfly.advance(16 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(4);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release")).status).toBe(200);
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("the loss of D1", () => {
  it("I5: emptied: owners and leases come back from labels, and everything still dies on time", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    await put(mayfly, "box", { ttl: "1h" }, alice);
    await put(mayfly, "box", { ttl: "3h" }, bob);
    await minutes(mayfly, 12);
    const before = await live(mayfly);
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    const after = await live(mayfly);
    const shown = (all: typeof before) =>
      all
        .map(({ id, owner, name, expires_at, max_until }) => ({ id, owner, name, expires_at, max_until }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(shown(after)).toEqual(shown(before));
    expect((await mayfly.send("GET", "/v1/machines", undefined, alice)).status).toBe(401);
    await minutes(mayfly, 49);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 120);
    expect(servers(mayfly)).toEqual([]);
  });

  it("a repeat of a create after it is the machine that is there", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 12);
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id]).toEqual([200, first.id]);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("X17, case restore: set back to an older copy: what came later is adopted, what went is lost, nothing healthy dies", async () => {
    const mayfly = createMayfly();
    const { DB } = mayfly.bindings;
    for (const name of ["stays", "goes", "renewed"]) await put(mayfly, name, { ttl: "1h" });
    await minutes(mayfly, 2);
    const { results: copy } = await DB.prepare("SELECT * FROM machines").all();
    await mayfly.send("DELETE", "/v1/machines/goes");
    await mayfly.send("POST", "/v1/machines/renewed/renew", { ttl: "4h" });
    await put(mayfly, "later", { ttl: "4h" });
    await minutes(mayfly, 11);
    await DB.prepare("DELETE FROM machines").run();
    for (const row of copy) {
      const columns = Object.keys(row);
      await DB.prepare(`INSERT INTO machines (${columns.join(",")}) VALUES (${columns.map(() => "?").join(",")})`)
        .bind(...Object.values(row))
        .run();
    }
    await minutes(mayfly, 40);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["later", "renewed", "stays"]);
    await minutes(mayfly, 12);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["later", "renewed"]);
    await minutes(mayfly, 175);
    expect(servers(mayfly).length).toBe(2);
    await minutes(mayfly, 20);
    expect([servers(mayfly), await live(mayfly)]).toEqual([[], []]);
  });

  it("P76: a sweep under which D1 refuses adopts nothing and loses nothing", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /machines/) });
    await minutes(mayfly, 40);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

it("case 35: two hundred machines cost less than a quarter of the provider's calls an hour", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 200; number++) {
    const uid = `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`;
    mayfly.simulator.addServer(lostRow(`m${number}`, uid, { "mayfly-expires": seconds(NOW + 20 * HOUR) }));
  }
  await minutes(mayfly, 16);
  expect(await live(mayfly)).toHaveLength(25);
  const before = mayfly.simulator.requests().length;
  await minutes(mayfly, 60);
  expect(mayfly.simulator.requests().length - before).toBeLessThan(3600 / 4);
});

it("what is left of the provider's rate limit is for deletes: everything else waits", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "due", { ttl: "5m" });
  mayfly.simulator.addServer(lostRow("rowless", UID));
  const real = mayfly.simulator.fetch.bind(mayfly.simulator);
  const shortOf = (remaining: string) =>
    Object.assign(mayfly.simulator, {
      fetch: async (request: Request) => {
        const answer = await real(request);
        answer.headers.set("RateLimit-Remaining", remaining);
        return answer;
      },
    });
  shortOf("100");
  await minutes(mayfly, 40);
  expect(names(mayfly)).toEqual(["rowless-abcdefghijklm"]);
  expect(await live(mayfly)).toEqual([]);
  shortOf("3000");
  await minutes(mayfly, 2);
  expect(await live(mayfly)).toMatchObject([{ name: "rowless" }]);
});

it("X16, X22: walks ten thousand machines in slices within what a free plan allows: each has its row in the end, none is lost", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 10_000; number++) {
    const uid = `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`;
    mayfly.simulator.addServer(lostRow(`m${number}`, uid, { "mayfly-expires": seconds(NOW + 20 * HOUR) }));
  }
  const { DB } = mayfly.bindings;
  const count = async () =>
    (await DB.prepare("SELECT count(*) AS n FROM machines WHERE phase = 'active'").first("n")) ?? 0;
  let slices = 0;
  for (let tick = 0; tick < 225; tick++) {
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    expect(report?.fetches).toBeLessThanOrEqual(40);
    expect(report?.statements).toBeLessThanOrEqual(40);
    slices = Math.max(slices, report?.fetches ?? 0);
  }
  expect(slices).toBeLessThan(8);
  expect(await count()).toBe(10_000);
  expect(servers(mayfly)).toHaveLength(10_000);
}, 180_000);

const EMPTY = JSON.stringify({
  servers: [],
  meta: { pagination: { page: 1, per_page: 50, previous_page: null, next_page: null, last_page: 1, total_entries: 0 } },
});

/** Asks the simulator behind mayfly's back. */
async function behind(mayfly: Mayfly, method: string, path: string, body?: object): Promise<void> {
  const init = { method, headers: { Authorization: "Bearer any" }, ...(body && { body: JSON.stringify(body) }) };
  const { ok } = await mayfly.simulator.fetch(new Request(`https://sim/v1${path}`, init));
  expect(ok).toBe(true);
}
const deleteBehind = (mayfly: Mayfly, id: string | null) => behind(mayfly, "DELETE", `/servers/${id}`);
