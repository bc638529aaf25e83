import { describe, expect, it } from "vitest";
import { createDrivenSimulator } from "../driven-simulator.ts";
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
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { isObject } from "../simulator/json.ts";

const UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";
const sec = (milliseconds: number) => String(Math.floor(milliseconds / 1000));
const put = (mayfly: Mayfly, name: string, more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5h", ...more });
const live = async (mayfly: Mayfly) => machinesIn(await mayfly.send("GET", "/v1/machines"));
const count = (mayfly: Mayfly) => servers(mayfly).length;
const expiresAt = async (mayfly: Mayfly, name: string) =>
  Date.parse(machineIn(await mayfly.send("GET", `/v1/machines/${name}`)).expires_at);
/** As a machine of ours looks whose row was lost. */
const lost = (name: string, uid: string, more: Record<string, string> = {}) => ({
  name: `${name}-abcdefghijklm`,
  created: new Date(NOW - HOUR).toISOString(),
  labels: {
    ...OURS,
    "mayfly-uid": uid,
    "mayfly-owner": "tok.alice",
    "mayfly-name": name,
    "mayfly-expires": sec(NOW + 2 * HOUR),
    "mayfly-max": sec(NOW + 23 * HOUR),
    created: sec(NOW - HOUR),
    ...more,
  },
});
type Ask = (request: Request) => Promise<Response>;
/** Stands between mayfly and the simulator. */
function between(mayfly: Mayfly, change: (request: Request, real: Ask) => Promise<Response>): void {
  const real = mayfly.simulator.fetch.bind(mayfly.simulator);
  Object.assign(mayfly.simulator, { fetch: (request: Request) => change(request, real) });
}
/** Changes what lists of servers say. */
const listing = (mayfly: Mayfly, change: (body: Record<string, unknown>, url: URL) => object) =>
  between(mayfly, async (request, real) => {
    const answer = await real(request);
    const url = new URL(request.url);
    if (request.method !== "GET" || url.pathname !== "/v1/servers" || !answer.ok) return answer;
    const body: unknown = await answer.json();
    return Response.json(isObject(body) ? change(body, url) : body, { headers: answer.headers });
  });
const copyOf = async (mayfly: Mayfly) => (await mayfly.bindings.DB.prepare("SELECT * FROM machines").all()).results;
async function restore(mayfly: Mayfly, copy: readonly Record<string, unknown>[]): Promise<void> {
  const { DB } = mayfly.bindings;
  await DB.prepare("DELETE FROM machines").run();
  for (const row of copy) {
    const columns = Object.keys(row);
    const statement = `INSERT INTO machines (${columns.join(",")}) VALUES (${columns.map(() => "?").join(",")})`;
    await DB.prepare(statement)
      .bind(...Object.values(row))
      .run();
  }
}
const reconciled = async (mayfly: Mayfly, ticks: number) => {
  const said: string[] = [];
  for (let tick = 0; tick < ticks; tick++) {
    mayfly.advance(MINUTE);
    const report = await mayfly.tick();
    for (const { outcome, reason } of report?.phases.find(({ phase }) => phase === "reconcile")?.items ?? [])
      said.push(`${outcome} ${reason}`);
  }
  return said;
};

it("a create that is tried again under another project's token gives up nothing of the first project", async () => {
  const mayfly = createMayfly();
  const other = createDrivenSimulator({ now: mayfly.now });
  between(mayfly, (request, real) =>
    request.headers.get("Authorization") === "Bearer project-b" ? other.fetch(request) : real(request),
  );
  for (const name of ["a", "b", "c"]) await put(mayfly, name);
  await minutes(mayfly, 2);
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before", times: 5 });
  await put(mayfly, "d");
  mayfly.simulator.clearFaults();
  mayfly.advance(31 * SECOND);
  mayfly.configure({ HCLOUD_TOKEN: "project-b" });
  await put(mayfly, "d");
  await minutes(mayfly, 33);
  expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["a", "b", "c", "d"]);
  await mayfly.bindings.DB.prepare("UPDATE locks SET last_good_cron_at = ?").bind(mayfly.now()).run();
  expect((await mayfly.send("GET", "/healthz", undefined, null)).text).toContain("another token");
  mayfly.configure({ HCLOUD_TOKEN: "canary-hcloud-token" });
  await minutes(mayfly, 20);
  expect(count(mayfly)).toBe(3);
});

describe("what the blast cap holds", () => {
  it("stays held in all sweeps that follow, whatever would end it, until an admin releases it", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 14; number++) await put(mayfly, `m${number}`, { ttl: "10h" });
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='failed', status='destroyed', provider_id=NULL").run();
    const left: number[] = [];
    for (let walk = 0; walk < 4; walk++) {
      await minutes(mayfly, 16);
      left.push(count(mayfly));
    }
    expect(left).toEqual([9, 9, 9, 9]);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release")).status).toBe(200);
    await minutes(mayfly, 16);
    expect(count(mayfly)).toBe(0);
  });

  it("is asked for failed launches tick after tick, too", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 20; number++) await put(mayfly, `m${number}`);
    mayfly.advance(MINUTE);
    for (const { id } of servers(mayfly)) {
      const init = { method: "POST", headers: { Authorization: "Bearer any" } };
      await mayfly.simulator.fetch(new Request(`https://sim/v1/servers/${id}/actions/poweroff`, init));
    }
    mayfly.advance(20 * MINUTE);
    await minutes(mayfly, 6);
    expect(count(mayfly)).toBe(15);
  });

  it("counts deaths and not tries: what could not be destroyed leaves the cap as it is", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 6; number++) await put(mayfly, `m${number}`, { ttl: "10h" });
    await minutes(mayfly, 2);
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='failed', status='destroyed', provider_id=NULL").run();
    const locked = { status: 423, code: "locked", message: "no", times: 5 };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...locked });
    await minutes(mayfly, 32);
    expect(count(mayfly)).toBeLessThan(6);
  });

  it("is not gone round by expire: after a restore what was renewed does not die of an old story", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 12; number++) await put(mayfly, `m${number}`, { ttl: "1h" });
    const copy = await copyOf(mayfly);
    await minutes(mayfly, 3);
    for (let number = 0; number < 12; number++)
      await mayfly.send("POST", `/v1/machines/m${number}/renew`, { ttl: "5h" });
    for (const { id } of servers(mayfly)) {
      const init = { method: "POST", headers: { Authorization: "Bearer any" } };
      await mayfly.simulator.fetch(new Request(`https://sim/v1/servers/${id}/actions/poweroff`, init));
    }
    mayfly.advance(61 * MINUTE);
    await restore(mayfly, copy);
    await minutes(mayfly, 5);
    expect(count(mayfly)).toBe(12);
  });

  it("is asked by reap for what was promised longer", async () => {
    const mayfly = createMayfly();
    const promises = { "mayfly-expires": sec(NOW + 100 * HOUR), "mayfly-max": sec(NOW + 200 * HOUR) };
    for (let number = 0; number < 12; number++) {
      const uid = UID.replace("4d11", `40${String(number).padStart(2, "0")}`);
      mayfly.simulator.addServer(lost(`m${number}`, uid, promises));
    }
    await minutes(mayfly, 16);
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='destroyed', status='destroyed'").run();
    mayfly.advance(24 * HOUR);
    await mayfly.tick();
    expect(count(mayfly)).toBe(7);
  });
});

describe("I8: a walk goes on", () => {
  it("past a machine whose labels cannot be read", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await put(mayfly, name, { ttl: "20h" });
    await minutes(mayfly, 2);
    const id = servers(mayfly)[0]?.id;
    listing(mayfly, (body) => ({
      ...body,
      servers: (Array.isArray(body["servers"]) ? body["servers"] : []).map((one: unknown) =>
        isObject(one) && one["id"] === id ? Object.assign({}, one, { labels: null }) : one,
      ),
    }));
    await minutes(mayfly, 30);
    mayfly.simulator.addServer(lost("forgotten", UID));
    await minutes(mayfly, 40);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["a", "b", "forgotten"]);
  });

  it("past a page that never answers, and past a machine that cannot be asked for", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      mayfly.simulator.addServer(lost(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
    between(mayfly, async (request, real) =>
      request.url.includes("sort=id") && request.url.includes("page=2&")
        ? Response.json({}, { status: 500 })
        : real(request),
    );
    await minutes(mayfly, 40);
    expect((await mayfly.bindings.DB.prepare("SELECT count(*) AS n FROM machines").first("n")) ?? 0).toBe(70);
  });

  it("of which a machine is absent and cannot be asked for by its id", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await put(mayfly, name, { ttl: "20h" });
    await minutes(mayfly, 2);
    const [a, b] = servers(mayfly);
    listing(mayfly, (body) => ({
      ...body,
      servers: (Array.isArray(body["servers"]) ? body["servers"] : []).filter(
        (one: unknown) => isObject(one) && one["id"] !== a?.id && one["id"] !== b?.id,
      ),
    }));
    mayfly.simulator.fault({ method: "GET", path: `^/v1/servers/${a?.id}$`, status: 500, times: 1000 });
    const said = await reconciled(mayfly, 50);
    expect(said.filter((one) => one.startsWith("error")).length).toBeLessThan(5);
    mayfly.simulator.clearFaults();
    expect(await live(mayfly)).toHaveLength(2);
  });

  it("while twenty machines a minute fall due under a free plan", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer(lost("forgotten", UID, { "mayfly-expires": sec(NOW + HOUR / 2) }));
    for (let minute = 0; minute < 60; minute++) {
      for (let number = 0; number < 20; number++) await put(mayfly, `m${minute}-${number}`, { ttl: "60s" });
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
    }
    expect(servers(mayfly).map(({ name }) => name)).not.toContain("forgotten-abcdefghijklm");
  });
});

it.each([
  ["null", () => null],
  ["one, though more follow", () => 1],
  ["beyond all measure", () => 900_000],
])("a last page that is %s fails the walk instead of hiding machines", async (_, last) => {
  const mayfly = createMayfly();
  for (let number = 0; number < 120; number++)
    mayfly.simulator.addServer(lost(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
  listing(mayfly, (body) => {
    const { pagination } = isObject(body["meta"]) ? body["meta"] : { pagination: {} };
    return { ...body, meta: { pagination: { ...(isObject(pagination) ? pagination : {}), last_page: last() } } };
  });
  mayfly.advance(16 * MINUTE);
  const report = await mayfly.tick();
  expect(report?.phases.find(({ phase }) => phase === "reconcile")?.failure).toContain("where it ends");
});

describe("after a restore", () => {
  it("an owner has his name back as soon as the row that stood for it is lost", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    const copy = await copyOf(mayfly);
    await mayfly.send("DELETE", "/v1/machines/box");
    await minutes(mayfly, 2);
    const second = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 12);
    await restore(mayfly, copy);
    await minutes(mayfly, 35);
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id, machineIn(again).name]).toEqual([200, second.id, "box"]);
    expect(count(mayfly)).toBe(1);
  });

  it("a row learns within a walk what its label promises, and no renewal takes it back", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "1h" });
    await minutes(mayfly, 2);
    const copy = await copyOf(mayfly);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    const promised = await expiresAt(mayfly, "box");
    await restore(mayfly, copy);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" });
    expect(servers(mayfly)[0]?.labels?.["mayfly-expires"]).toBe(sec(promised));
    await minutes(mayfly, 16);
    expect(sec(await expiresAt(mayfly, "box"))).toBe(sec(promised));
  });

  it("a label that this row never wrote is a promise, though the row wrote later ones that did not arrive", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "5h", keep_on_failure: "30m" });
    await minutes(mayfly, 2);
    const locked = { status: 423, code: "locked", message: "no", times: 99 };
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", ...locked });
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    await mayfly.send("DELETE", "/v1/machines/box?outcome=failure");
    const copy = await copyOf(mayfly);
    mayfly.simulator.clearFaults();
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" });
    await restore(mayfly, copy);
    await minutes(mayfly, 35);
    expect(count(mayfly)).toBe(1);
  });

  it("I3: the machine of an installation that was taken over is found before another is made", async () => {
    const mayfly = createMayfly({ INSTALLATION: "old-installation-12345" });
    const first = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 2);
    mayfly.configure({ INSTALLATION: "new-installation-12345", PREVIOUS_INSTALLATIONS: "old-installation-12345" });
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id, count(mayfly)]).toEqual([200, first.id, 1]);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503 });
    expect((await put(mayfly, "other")).status).toBe(503);
    expect((await put(mayfly, "other")).status).toBe(200);
    expect(count(mayfly)).toBe(2);
  });

  it("a name that its owner has forbidden since is destroyed and not adopted for good", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d")).status).toBe(204);
    await minutes(mayfly, 32);
    expect(count(mayfly)).toBe(0);
  });

  it("a later label is not overwritten by a row that was set back while its own was behind", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "1h" });
    await minutes(mayfly, 2);
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", status: 423, code: "locked", message: "no" });
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" });
    const copy = await copyOf(mayfly);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    const promised = await expiresAt(mayfly, "box");
    await restore(mayfly, copy);
    await minutes(mayfly, 5);
    expect(servers(mayfly)[0]?.labels?.["mayfly-expires"]).toBe(sec(promised));
    expect(sec(await expiresAt(mayfly, "box"))).toBe(sec(promised));
  });
});

it("a firewall that its owner takes off at once is not missed by settle", async () => {
  const mayfly = createMayfly();
  const rules = [{ direction: "in", protocol: "icmp" }];
  await mayfly.send("POST", "/v1/firewalls", { name: "web", rules, ttl: "5h" });
  await put(mayfly, "box", { firewalls: ["web"] });
  mayfly.advance(10 * SECOND);
  const taken = await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] });
  expect(taken.status).toBe(200);
  await minutes(mayfly, 8);
  expect(count(mayfly)).toBe(1);
});

it("a doubted inventory is believed on an admin's word", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 6; number++) await put(mayfly, `m${number}`, { ttl: "20h" });
  await minutes(mayfly, 2);
  for (const { id } of servers(mayfly).slice(0, 4)) {
    const init = { method: "DELETE", headers: { Authorization: "Bearer any" } };
    await mayfly.simulator.fetch(new Request(`https://sim/v1/servers/${id}`, init));
  }
  expect(await reconciled(mayfly, 40)).toContain("alert inventory_untrusted");
  expect(await live(mayfly)).toHaveLength(6);
  expect((await mayfly.send("POST", "/v1/holds/inventory/release")).status).toBe(200);
  await minutes(mayfly, 40);
  expect(await live(mayfly)).toHaveLength(2);
});

it("I4: a greatest end before its own creation is no promise, and ends nobody", async () => {
  const mayfly = createMayfly();
  mayfly.simulator.addServer(lost("liar", UID, { "mayfly-max": sec(Date.UTC(2016, 0, 1)) }));
  await minutes(mayfly, 40);
  expect(count(mayfly)).toBe(1);
});

it("an owner label that nobody can have makes a machine nobody's, not the admin's", async () => {
  const mayfly = createMayfly();
  mayfly.simulator.addServer(lost("box", UID, { "mayfly-owner": "Tok.Alice" }));
  await minutes(mayfly, 16);
  expect((await live(mayfly)).map(({ owner }) => owner)).toEqual(["lost"]);
  expect((await put(mayfly, "box")).status).toBe(201);
});
