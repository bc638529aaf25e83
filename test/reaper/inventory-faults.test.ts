import { describe, expect, it } from "vitest";
import { behind, between } from "../behind.ts";
import { createDrivenSimulator } from "../driven-simulator.ts";
import { createMayfly, HOUR, minutes, MINUTE, NOW, SECOND, servers, type Mayfly } from "../mayfly.ts";
import { isObject } from "../simulator/json.ts";
import { live, lostRow, put, reconciled, seconds, UID } from "./lost-rows.ts";

const count = (mayfly: Mayfly) => servers(mayfly).length;
/** Changes what lists of servers say. */
const listing = (mayfly: Mayfly, change: (body: Record<string, unknown>, url: URL) => object) =>
  between(mayfly, async (request, real) => {
    const answer = await real(request);
    const url = new URL(request.url);
    if (request.method !== "GET" || url.pathname !== "/v1/servers" || !answer.ok) return answer;
    const body: unknown = await answer.json();
    return Response.json(isObject(body) ? change(body, url) : body, { headers: answer.headers });
  });

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

describe("I8: an inventory pass goes on", () => {
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
    mayfly.simulator.addServer(lostRow("forgotten", UID));
    await minutes(mayfly, 40);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["a", "b", "forgotten"]);
  });

  it("past a page that shows what the page before it showed, which is told, and not told of a page that is read again", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      mayfly.simulator.addServer(lostRow(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
    const unreadable = async () =>
      (await reconciled(mayfly, 20)).filter((one) => one.startsWith("alert unreadable")).length;
    expect(await unreadable()).toBe(0);
    between(mayfly, async (request, real) => {
      if (!request.url.includes("sort=id") || !request.url.includes("page=2&")) return real(request);
      const body: unknown = await (await real(new Request(request.url.replace("page=2&", "page=3&"), request))).json();
      const pagination = { page: 2, per_page: 50, previous_page: 1, next_page: 3, last_page: 3 };
      return Response.json({ ...(isObject(body) ? body : {}), meta: { pagination } });
    });
    expect(await unreadable()).toBeGreaterThan(0);
  });

  it("past a page that never answers, and past a machine that cannot be asked for", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      mayfly.simulator.addServer(lostRow(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
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
    mayfly.simulator.addServer(lostRow("forgotten", UID, { "mayfly-expires": seconds(NOW + HOUR / 2) }));
    for (let minute = 0; minute < 60; minute++) {
      for (let number = 0; number < 20; number++) await put(mayfly, `m${minute}-${number}`, { ttl: "60s" });
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
    }
    expect(servers(mayfly).map(({ name }) => name)).not.toContain("forgotten-abcdefghijklm");
  }, 180_000);
});

it.each([
  ["null", () => null],
  ["one, though more follow", () => 1],
  ["beyond all measure", () => 900_000],
])("a last page that is %s hides no machine: the pass finds the end itself", async (_, last) => {
  const mayfly = createMayfly();
  for (let number = 0; number < 120; number++)
    mayfly.simulator.addServer(lostRow(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
  listing(mayfly, (body) => {
    const { pagination } = isObject(body["meta"]) ? body["meta"] : { pagination: {} };
    return { ...body, meta: { pagination: { ...(isObject(pagination) ? pagination : {}), last_page: last() } } };
  });
  mayfly.advance(16 * MINUTE);
  const phases = [];
  for (let tick = 0; tick < 2; tick++) {
    phases.push(...((await mayfly.tick())?.phases.filter(({ phase }) => phase === "reconcile") ?? []));
    mayfly.advance(MINUTE);
  }
  expect(phases.map(({ failure }) => failure)).toEqual([null, null]);
  const adopted = phases.flatMap(({ items }) => items.filter(({ reason }) => reason === "adopted"));
  expect(adopted).toHaveLength(120);
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
  for (const { id } of servers(mayfly).slice(0, 4)) await behind(mayfly, "DELETE", `/servers/${id}`);
  expect(await reconciled(mayfly, 40)).toContain("alert inventory_untrusted");
  expect(await live(mayfly)).toHaveLength(6);
  expect((await mayfly.send("POST", "/v1/holds/inventory/release")).status).toBe(200);
  await minutes(mayfly, 40);
  expect(await live(mayfly)).toHaveLength(2);
});

it("I4: a greatest end before its own creation is no promise, and ends nobody", async () => {
  const mayfly = createMayfly();
  mayfly.simulator.addServer(lostRow("liar", UID, { "mayfly-max": seconds(Date.UTC(2016, 0, 1)) }));
  await minutes(mayfly, 40);
  expect(count(mayfly)).toBe(1);
});

it("an owner label that nobody can have makes a machine nobody's, not the admin's", async () => {
  const mayfly = createMayfly();
  mayfly.simulator.addServer(lostRow("box", UID, { "mayfly-owner": "Tok.Alice" }));
  await minutes(mayfly, 16);
  expect((await live(mayfly)).map(({ owner }) => owner)).toEqual(["lost"]);
  expect((await put(mayfly, "box")).status).toBe(201);
});
