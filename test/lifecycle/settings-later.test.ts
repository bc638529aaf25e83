/** What a setting or a credential that changes does to what lives: it goes on as it was promised. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createCallers, POLICIES } from "../auth/callers.ts";
import { githubClaims } from "../auth/issuer.ts";
import { held } from "../behind.ts";
import { BODY, createMayfly, HOUR, LOCAL, machineIn, MINUTE, minutes, servers, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string, more: object = {}, token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more }, token);
const renew = (mayfly: Mayfly, ttl: string, token?: string) =>
  mayfly.send("POST", "/v1/machines/box/renew", { ttl }, token);
const box = async (mayfly: Mayfly) => machineIn(await mayfly.send("GET", "/v1/machines/box"));
const health = async (mayfly: Mayfly) => (await mayfly.send("GET", "/healthz", undefined, null)).text;
/** Lets hours pass, with two ticks in each. */
async function hours(mayfly: Mayfly, count: number): Promise<void> {
  for (let half = 0; half < 2 * count; half++) {
    mayfly.advance(30 * MINUTE);
    await mayfly.tick();
  }
}

describe("where MAX_AGE is lowered", () => {
  it("what lives keeps its end and may be renewed up to what it was promised, each time by no more than is asked for now", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "12h" });
    mayfly.configure({ MAX_AGE: "2h" });
    await hours(mayfly, 10);
    expect(servers(mayfly)).toHaveLength(1);
    expect(await renew(mayfly, "3h")).toMatchObject({ status: 422, body: { field: "ttl" } });
    mayfly.advance(HOUR);
    expect((await renew(mayfly, "2h")).status).toBe(200);
    await hours(mayfly, 1);
    expect(servers(mayfly)).toHaveLength(1);
    await hours(mayfly, 1);
    expect(servers(mayfly)).toEqual([]);
  });

  it("a renewal for less than a machine has left anyway is no mistake: it lives as long as was asked for, and longer", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "12h" });
    const { expires_at: end } = await box(mayfly);
    mayfly.configure({ MAX_AGE: "2h" });
    expect(await renew(mayfly, "3h")).toMatchObject({ status: 200, body: { machine: { expires_at: end } } });
    expect((await renew(mayfly, "3h")).text).not.toContain("clamped_to");
    expect((await renew(mayfly, "13h")).status).toBe(422);
  });

  it("a machine whose row is lost keeps what its labels promise, and its most", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "5h" });
    await minutes(mayfly, 2);
    const { max_until: most } = await box(mayfly);
    mayfly.configure({ MAX_AGE: "2h" });
    await env.DB.prepare("DELETE FROM machines").run();
    await hours(mayfly, 4);
    expect(servers(mayfly)).toHaveLength(1);
    expect(Date.parse((await box(mayfly)).max_until) / 1000).toBe(Math.floor(Date.parse(most) / 1000));
    await hours(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
  });
});

it("where MAX_AGE is raised, what lives is promised no more than it was", async () => {
  const mayfly = createMayfly({ MAX_AGE: "3h" });
  await put(mayfly, "box", { ttl: "3h" });
  mayfly.configure({ MAX_AGE: "24h" });
  expect(await renew(mayfly, "4h")).toMatchObject({ status: 422, body: { field: "ttl" } });
  await put(mayfly, "new", { ttl: "6h" });
  await hours(mayfly, 4);
  expect(servers(mayfly).map(({ labels }) => labels?.["mayfly-name"])).toEqual(["new"]);
});

it("where DEFAULT_TTL is changed, what lives ends as it was asked for, and a repeat is the same machine", async () => {
  const mayfly = createMayfly({ DEFAULT_TTL: "3h" });
  const { id, expires_at: end } = machineIn(await put(mayfly, "box"));
  mayfly.configure({ DEFAULT_TTL: "10m" });
  await hours(mayfly, 2);
  const again = await put(mayfly, "box");
  expect([again.status, machineIn(again)]).toMatchObject([200, { id, expires_at: end }]);
  await hours(mayfly, 1);
  expect(servers(mayfly)).toEqual([]);
});

it("where MAX_MACHINES is lowered below what lives, nothing ends for it and all is renewed, but nothing new is made until there is room", async () => {
  const mayfly = createMayfly({ MAX_MACHINES: "5" });
  for (const name of ["box", "b", "c"]) await put(mayfly, name, { ttl: "2h" });
  mayfly.configure({ MAX_MACHINES: "1" });
  await minutes(mayfly, 20);
  expect(servers(mayfly)).toHaveLength(3);
  expect((await renew(mayfly, "3h")).status).toBe(200);
  expect((await put(mayfly, "box", { ttl: "2h" })).status).toBe(200);
  expect(await put(mayfly, "new")).toMatchObject({
    status: 429,
    body: { code: "limit_count", figures: { limit: 1, used: 3, asked: 1 } },
  });
  for (const name of ["box", "b"]) await mayfly.send("DELETE", `/v1/machines/${name}`);
  expect((await put(mayfly, "new")).status).toBe(429);
  await mayfly.send("DELETE", "/v1/machines/c");
  expect((await put(mayfly, "new")).status).toBe(201);
});

describe("where INSTALLATION is changed", () => {
  const NEW = "another-installation-1";
  const ATTACHED = { firewalls: [{ deny_all: true }], networks: [{ ip_range: "10.0.0.0/16" }] };

  it("and names the one before, what lives is read, renewed and ended, with what it uses", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "1h", ...ATTACHED });
    await put(mayfly, "other", { ttl: "1h" });
    await minutes(mayfly, 2);
    mayfly.configure({ INSTALLATION: NEW, PREVIOUS_INSTALLATIONS: env.INSTALLATION });
    expect(await health(mayfly)).not.toContain("INSTALLATION");
    expect((await renew(mayfly, "2h")).status).toBe(200);
    await mayfly.send("DELETE", "/v1/machines/other");
    await put(mayfly, "new", { ttl: "4h" });
    await minutes(mayfly, 20);
    const installations = () => servers(mayfly).map(({ labels }) => labels?.["mayfly-installation"]);
    expect(installations()).toEqual([env.INSTALLATION, NEW]);
    await hours(mayfly, 3);
    expect([installations(), held(mayfly)]).toEqual([[NEW], [1, 0, 0, 0]]);
    // It need not be named any more.
    mayfly.configure({ PREVIOUS_INSTALLATIONS: "" });
    expect((await put(mayfly, "later")).status).toBe(201);
  });

  it("back and forth between two that name each other, nothing is lost", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "20h" });
    for (const [current, previous] of [
      [NEW, env.INSTALLATION],
      [env.INSTALLATION, NEW],
      [NEW, env.INSTALLATION],
    ]) {
      mayfly.configure({ INSTALLATION: current, PREVIOUS_INSTALLATIONS: previous });
      expect((await put(mayfly, `of-${mayfly.now()}`, { ttl: "20h" })).status).toBe(201);
      await minutes(mayfly, 20);
    }
    expect(servers(mayfly)).toHaveLength(4);
    expect((await box(mayfly)).status).toBe("running");
  });

  it("and does not, nothing is made and nothing destroyed, health is red, and all goes on when it is set back", async () => {
    const mayfly = createMayfly();
    const { id, expires_at: end } = machineIn(await put(mayfly, "box", { ttl: "3h" }));
    await minutes(mayfly, 2);
    mayfly.configure({ INSTALLATION: NEW });
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "installation_changed" } });
    expect(await health(mayfly)).toContain("INSTALLATION");
    await minutes(mayfly, 40);
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.configure({ INSTALLATION: env.INSTALLATION });
    await minutes(mayfly, 20);
    expect(await health(mayfly)).not.toContain("INSTALLATION");
    expect(await box(mayfly)).toMatchObject({ id, status: "running", expires_at: end });
    await hours(mayfly, 3);
    expect(servers(mayfly)).toEqual([]);
  });
});

it("where HCLOUD_TOKEN is changed to another of the same project, what lives is renewed and ended, with what it uses", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "box", { ttl: "1h", firewalls: [{ deny_all: true }] });
  await put(mayfly, "other", { ttl: "1h" });
  await minutes(mayfly, 2);
  mayfly.configure({ HCLOUD_TOKEN: "another-token-of-the-project" });
  expect((await renew(mayfly, "90m")).status).toBe(200);
  expect((await mayfly.send("DELETE", "/v1/machines/other")).status).toBe(200);
  await hours(mayfly, 3);
  expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  expect(await health(mayfly)).not.toContain("token");
});

it("where AUTH_EPOCH is changed, no token counts, what they made ends when it should, and a new one of the same owner has it", async () => {
  const mayfly = createMayfly();
  const old = await mayfly.tokenOf("alice");
  await put(mayfly, "box", { ttl: "1h" }, old);
  mayfly.configure({ AUTH_EPOCH: "2" });
  expect((await renew(mayfly, "2h", old)).status).toBe(401);
  const young = await mayfly.tokenOf("alice");
  expect((await mayfly.send("GET", "/v1/machines/box", undefined, young)).status).toBe(200);
  mayfly.configure({ AUTH_EPOCH: "3" });
  expect((await renew(mayfly, "2h", young)).status).toBe(401);
  await hours(mayfly, 1);
  expect(servers(mayfly)).toEqual([]);
});

it("where PLAN is changed in the middle of a pass over the inventory, the pass goes on", async () => {
  const mayfly = createMayfly({ PLAN: "paid" });
  for (let number = 0; number < 60; number++) await put(mayfly, `m${number}`, { ttl: "20h" });
  await minutes(mayfly, 2);
  await env.DB.prepare("DELETE FROM machines").run();
  mayfly.configure({ PLAN: "free" });
  await minutes(mayfly, 16);
  mayfly.configure({ PLAN: "paid" });
  await minutes(mayfly, 30);
  expect(await mayfly.store.inventory.countLive()).toBe(60);
});

describe("where a policy is taken out while tokens and machines live", () => {
  it("its tokens make, renew and end nothing; machines live to their ends, and all is as before when it is back", async () => {
    const CI = JSON.stringify([{ name: "ci" }]);
    const mayfly = createMayfly({ ...LOCAL, POLICIES: CI });
    const token = await mayfly.tokenOf("alice", { policy: "ci" });
    await put(mayfly, "box", { ttl: "1h" }, token);
    mayfly.configure({ POLICIES: "[]" });
    for (const answer of [
      await put(mayfly, "new", {}, token),
      await renew(mayfly, "2h", token),
      await mayfly.send("DELETE", "/v1/machines/box", undefined, token),
      await mayfly.send("GET", "/v1/machines", undefined, token),
    ])
      expect(answer).toMatchObject({ status: 403, body: { code: "forbidden", policy: "ci" } });
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.configure({ POLICIES: CI });
    expect((await renew(mayfly, "2h", token)).status).toBe(200);
    mayfly.configure({ POLICIES: "[]" });
    await hours(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("where a policy's longest is made shorter", () => {
  it("a failed job's machine is kept for no longer than that, counted from when it was asked for, and no more where that is over", async () => {
    const under = (longest: string) => JSON.stringify([{ name: "ci", longest }]);
    const mayfly = createMayfly({ ...LOCAL, POLICIES: under("8h") });
    const token = await mayfly.tokenOf("alice", { policy: "ci" });
    await put(mayfly, "box", { ttl: "6h", keep_on_failure: "4h" }, token);
    const since = mayfly.now();
    mayfly.advance(HOUR);
    mayfly.configure({ POLICIES: under("3h") });
    const fail = () => mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, token);
    expect((await fail()).body).toMatchObject({ kept_until: new Date(since + 3 * HOUR).toISOString() });
    mayfly.configure({ POLICIES: under("1h") });
    expect(machineIn(await fail()).status).toBe("destroyed");
  });
});

describe("where a job's token counts no more", () => {
  it.each([
    ["OIDC_AUDIENCE is another", { OIDC_AUDIENCE: "elsewhere" }, 401],
    [
      "its policy is gone",
      { POLICIES: JSON.stringify([{ name: "main", issuer: "gitlab", claims: { project_id: 1 } }]) },
      403,
    ],
    [
      "its policy takes other branches alone",
      { POLICIES: JSON.stringify([{ ...POLICIES[0], claims: { repository_id: "74", ref: "no" } }]) },
      403,
    ],
  ])("because %s, its machine lives to its end, and an admin may end it before", async (_why, settings, status) => {
    const { mayfly, ask, sign } = await createCallers({
      settings: { ...LOCAL, POLICIES: JSON.stringify(POLICIES) },
      configuration: {},
    });
    const { id } = machineIn(await ask(githubClaims()));
    await ask(githubClaims({ run_id: "9002" }));
    mayfly.configure(settings);
    expect((await mayfly.send("DELETE", "/v1/machines/box", undefined, await sign(githubClaims()))).status).toBe(
      status,
    );
    expect(servers(mayfly)).toHaveLength(2);
    expect((await mayfly.send("DELETE", `/v1/machines/${id}`)).status).toBe(200);
    expect(servers(mayfly)).toHaveLength(1);
    await hours(mayfly, 1);
    expect(servers(mayfly)).toEqual([]);
  });
});
