import { describe, expect, it } from "vitest";
import { behind, between, held } from "../behind.ts";
import { BODY, createMayfly, HOUR, MINUTE, NOW, OURS, refusing, servers, type Mayfly } from "../mayfly.ts";
import { isObject } from "../simulator/json.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { lostRow, UID } from "./lost-rows.ts";

const FREE = 40;
const SSH = { direction: "in", protocol: "tcp", port: "22" };
const ALL = { ssh_keys: [KEY_A], firewalls: [{ rules: [SSH] }], networks: [{ ip_range: "10.0.0.0/16" }] };

/** Lists that go on and on: each page shows something else, and that there is one more. What was really there comes first. */
function endless(mayfly: Mayfly, which: RegExp) {
  const real = between(mayfly, async (request, ask) => {
    const url = new URL(request.url);
    const answer = await ask(request);
    if (request.method !== "GET" || !which.test(url.pathname) || !answer.ok) return answer;
    const key = url.pathname.split("/").at(-1) ?? "";
    const page = Number(url.searchParams.get("page") ?? "1");
    const body: unknown = await answer.json();
    const shown: unknown = isObject(body) ? body[key] : null;
    const there: readonly unknown[] = Array.isArray(shown) ? shown : [];
    const first: unknown = there[0];
    templates[key] ??= isObject(first) ? first : {};
    const more = { ...templates[key], id: 1_000_000 + page, name: `more-${page}` };
    const pagination = { page, per_page: 50, previous_page: null, next_page: page + 1, last_page: null };
    return Response.json({ [key]: page === 1 && there.length > 0 ? there : [more], meta: { pagination } }, answer);
  });
  const templates: Record<string, object> = {};
  return () => Object.assign(mayfly.simulator, { fetch: real });
}

async function tick(mayfly: Mayfly) {
  const report = await mayfly.tick();
  expect(report?.fetches).toBeLessThanOrEqual(FREE);
  expect(report?.statements).toBeLessThanOrEqual(FREE);
  return report;
}

const SERVERS = /\/servers$/;
const RESOURCES = /\/(firewalls|networks|ssh_keys)$/;
const TYPES = /\/server_types$/;
const EVERYTHING = /\/(servers|firewalls|networks|ssh_keys|server_types|locations|images)$/;

describe("a provider whose lists go on and on", () => {
  it.each([
    ["of machines", SERVERS],
    ["of what lies beside them", RESOURCES],
    ["of server types", TYPES],
    ["of everything", EVERYTHING],
  ])("makes no tick spend more than a free plan allows: %s", async (_what, which) => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/long", { ...BODY, ...ALL, ttl: "5h" });
    await mayfly.send("PUT", "/v1/machines/short", { ...BODY, ttl: "5m" });
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH], ttl: "5m" });
    mayfly.simulator.addServer({ name: "old", labels: OURS, created: new Date(NOW - 25 * HOUR).toISOString() });
    mayfly.simulator.addServer(lostRow("lost", UID));
    endless(mayfly, which);
    const spent: number[] = [];
    for (let minute = 0; minute < 75; minute++) {
      mayfly.advance(MINUTE);
      const report = await tick(mayfly);
      spent.push(report?.fetches ?? 0);
    }
    expect(Math.max(...spent)).toBeGreaterThan(FREE / 4);
  });

  it("has what such a list shows judged all the same, and nothing concluded from what it lacks", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "5m" });
    await mayfly.send("PUT", "/v1/machines/c", { ...BODY, ttl: "5h" });
    mayfly.simulator.addServer({ name: "old", labels: OURS, created: new Date(NOW - 25 * HOUR).toISOString() });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503 });
    await mayfly.send("PUT", "/v1/machines/unsure", { ...BODY, ttl: "5h" });
    const stop = endless(mayfly, SERVERS);
    for (let minute = 0; minute < 40; minute++) {
      mayfly.advance(MINUTE);
      await tick(mayfly);
    }
    expect(servers(mayfly).map(({ name }) => name.slice(0, 3))).toEqual(["c-" + servers(mayfly)[0]?.name[2], "uns"]);
    const { body } = await mayfly.send("GET", "/v1/machines");
    expect(body).toMatchObject({ machines: [{ name: "c" }, { name: "unsure" }] });
    stop();
    for (let minute = 0; minute < 3; minute++) {
      mayfly.advance(MINUTE);
      expect((await tick(mayfly))?.phases.flatMap(({ failure }) => failure ?? [])).toEqual([]);
    }
  });

  it("keeps no kind of what lies beside machines from being looked at that ends", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" });
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
    await mayfly.bindings.DB.prepare("DELETE FROM resources WHERE kind = 'network'").run();
    endless(mayfly, /\/firewalls$/);
    for (let minute = 0; minute < 140; minute++) {
      mayfly.advance(MINUTE);
      await tick(mayfly);
    }
    expect(held(mayfly)[2]).toBe(0);
  });

  it("does not even while D1 refuses", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer({ name: "old", labels: OURS, created: new Date(NOW - 25 * HOUR).toISOString() });
    endless(mayfly, EVERYTHING);
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /./) });
    const report = await tick(mayfly);
    expect(report?.phases.flatMap(({ items }) => items.map(({ outcome }) => outcome))).toContain("destroyed");
  });
});

it("a list that is too long for what a busy tick has left is left to a quieter one, and is no failure", async () => {
  const mayfly = createMayfly();
  const labels = { ...OURS, created: String(NOW / 1000), "mayfly-expires": String((NOW + 5 * HOUR) / 1000) };
  for (let number = 0; number < 220; number++)
    await behind(mayfly, "POST", "/firewalls", {
      name: `f${number}`,
      labels: { ...labels, "mayfly-uid": UID.replace("4d11", `4${String(number).padStart(3, "0")}`) },
    });
  for (let number = 0; number < 40; number++)
    await mayfly.send("PUT", `/v1/machines/m${number}`, { ...BODY, ttl: "5m" });
  await mayfly.bindings.DB.prepare("UPDATE locks SET resources_listed_at = 0").run();
  mayfly.advance(5 * MINUTE);
  const told: string[] = [];
  for (let minute = 0; minute < 8; minute++) {
    mayfly.advance(MINUTE);
    const report = await tick(mayfly);
    told.push(...(report?.phases.flatMap(({ failure }) => failure ?? []) ?? []));
    for (const { kind, reason } of report?.phases.flatMap(({ items }) => items) ?? [])
      if (kind === "firewall") told.push(reason);
  }
  expect(told.filter((one) => one !== "budget")).toEqual([]);
  const { results } = await mayfly.bindings.DB.prepare("SELECT resources_listed_at AS at FROM locks").all();
  expect(results).not.toEqual([{ at: 0 }]);
});

it("a request spends no more on a list that goes on and on than an invocation may", async () => {
  const mayfly = createMayfly({ PREVIOUS_INSTALLATIONS: "an-older-installation" });
  const unsure = async (path: string) => {
    mayfly.simulator.fault({ method: "POST", path: `^/v1/${path}$`, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: `^/v1/${path}$`, status: 503, after: path === "networks" ? 1 : 0 });
  };
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "5h" });
  const stop = endless(mayfly, EVERYTHING);
  mayfly.advance(HOUR);
  await mayfly.send("GET", "/v1/machines/box");
  await mayfly.send("GET", "/v1/server_types");
  await mayfly.send("PUT", "/v1/machines/next", BODY);
  stop();
  await unsure("servers");
  await mayfly.send("PUT", "/v1/machines/unsure", BODY);
  await unsure("firewalls");
  await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
  mayfly.simulator.clearFaults();
  endless(mayfly, EVERYTHING);
  await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] });
  await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A });
  await mayfly.send("POST", "/v1/ssh_keys", { name: "you", public_key: KEY_A });
  await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" });
  await mayfly.send("DELETE", "/v1/machines/unsure");
  const spent = mayfly.logs.flatMap((line) => (line.event === "request" ? [Number(line["fetches"])] : []));
  expect(spent.length).toBeGreaterThan(10);
  expect(Math.max(...spent)).toBeLessThanOrEqual(50);
});

it("a hundred and twenty machines and firewalls are listed whole within what a free plan allows, and no tick fails", async () => {
  const mayfly = createMayfly();
  for (let number = 0; number < 120; number++)
    mayfly.simulator.addServer(lostRow(`m${number}`, UID.replace("4d11", `4${String(number).padStart(3, "0")}`)));
  for (let minute = 0; minute < 80; minute++) {
    mayfly.advance(MINUTE);
    expect((await tick(mayfly))?.phases.flatMap(({ failure }) => failure ?? [])).toEqual([]);
  }
  expect((await mayfly.bindings.DB.prepare("SELECT count(*) AS n FROM machines").first("n")) ?? 0).toBe(120);
});
