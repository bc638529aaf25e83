import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, MINUTE, SECOND, type Mayfly, servers } from "../mayfly.ts";

const put = (mayfly: Mayfly, name = "box", body: unknown = BODY) => mayfly.send("PUT", `/v1/machines/${name}`, body);
const posts = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ method }) => method === "POST").length;
const POST_SERVERS = { method: "POST", path: "^/v1/servers$" };

describe("a repeat", () => {
  it("P20, S39: is the same machine, is not renewed by it, and asks the provider for nothing", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box", { ...BODY, ttl: "10m" }));
    mayfly.advance(MINUTE);
    const repeat = await put(mayfly, "box", { region: "fsn1", ttl: "1h", server_type: "cx23" });
    expect(repeat.status).toBe(200);
    expect(machineIn(repeat)).toMatchObject({ id: first.id, expires_at: first.expires_at });
    expect(posts(mayfly)).toBe(1);
  });

  it("P30: with another body is a spec_mismatch and changes nothing; defaults are not expanded", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const others = [
      { ...BODY, region: "hel1" },
      { ...BODY, image: "debian-12" },
      { ...BODY, labels: { a: "b" } },
      { ...BODY, cloud_init: "#cloud-config" },
      { ...BODY, enable_ipv4: true },
    ];
    for (const other of others)
      expect(await put(mayfly, "box", other)).toMatchObject({ status: 409, body: { code: "spec_mismatch" } });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("P23, X18: twenty at once yield one server and twenty answers with one id", async () => {
    const mayfly = createMayfly();
    const answers = await Promise.all(Array.from({ length: 20 }, () => put(mayfly)));
    expect(new Set(answers.map((answer) => machineIn(answer).id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    expect(servers(mayfly)).toHaveLength(1);
    expect(posts(mayfly)).toBe(1);
  });

  it("after the lease has ended waits for the old machine to go", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ...BODY, ttl: "60s" });
    mayfly.advance(MINUTE);
    expect(await put(mayfly)).toMatchObject({ status: 409, body: { code: "releasing" } });
    await mayfly.tick();
    expect((await put(mayfly)).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("case 14: a lost answer", () => {
  it("after the machine was made is found at once, and a repeat is that machine", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "after" });
    const first = await put(mayfly);
    const repeat = await put(mayfly);
    expect([first.status, repeat.status]).toEqual([201, 200]);
    expect(machineIn(repeat)).toMatchObject({ id: machineIn(first).id, provider_id: machineIn(first).provider_id });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("S40, P31, P43: with the look-up failing too is a 503 that says when to repeat, and the repeat adopts it", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503, code: "unavailable", message: "down" });
    const first = await put(mayfly);
    expect(first).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect(Number(first.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(servers(mayfly)).toHaveLength(1);
    const repeat = await put(mayfly);
    expect(repeat.status).toBe(200);
    expect(machineIn(repeat).provider_id).toBe(String(servers(mayfly)[0]?.id));
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("before anything was made is posted again by the repeat, under the same uid", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    expect(await put(mayfly)).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect(servers(mayfly)).toEqual([]);
    const repeat = await put(mayfly);
    expect(machineIn(repeat)).toMatchObject({ status: "creating", provider_id: String(servers(mayfly)[0]?.id) });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("case 34: behind a 5xx is looked up before anything is posted again", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, status: 503, code: "unavailable", message: "down" });
    await put(mayfly);
    const calls = mayfly.simulator.requests().map(({ method, path, query }) => `${method} ${path}?${query}`);
    const post = calls.findIndex((call) => call.startsWith("POST"));
    expect(calls[post + 1]).toMatch(/^GET \/v1\/servers\?name=box-/);
  });

  it("that nobody repeats ends with its lease, machine or not", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", drop: "before" });
    await put(mayfly, "made", { ...BODY, ttl: "60s" });
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    await put(mayfly, "never", { ...BODY, ttl: "60s" });
    mayfly.advance(20 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    // One look that does not show it proves nothing; the second, a minute later, ends the row.
    expect(machineIn(await mayfly.send("GET", "/v1/machines/never")).status).toBe("creating");
    mayfly.advance(MINUTE);
    await mayfly.tick();
    const { rows } = await mayfly.store.machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 9 });
    expect(rows).toEqual([]);
  });
});

describe("a refusal", () => {
  const refusals: [string, number, string, number, string][] = [
    ["no room", 412, "resource_unavailable", 503, "capacity"],
    ["a limit", 403, "resource_limit_exceeded", 503, "provider_quota"],
    ["case 6: a refused token", 401, "unauthorized", 503, "provider_unauthorized"],
    ["a token that may only read", 403, "token_readonly", 503, "provider_unauthorized"],
    ["too many requests", 429, "rate_limit_exceeded", 503, "provider_unavailable"],
    ["a spec that the provider does not like", 422, "invalid_input", 422, "invalid_input"],
  ];
  it.each(refusals)(
    "S42: %s is answered as what it is, and the name is free again",
    async (_what, status, code, ours, problem) => {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ ...POST_SERVERS, status, code, message: "because" });
      const refused = await put(mayfly);
      expect(refused).toMatchObject({ status: ours, body: { code: problem } });
      expect(refused.headers.has("Retry-After")).toBe(ours === 503);
      expect(refused.text).not.toContain("canary-hcloud-token");
      expect(machineIn(await mayfly.send("GET", "/v1/machines/box"))).toMatchObject({
        status: "destroyed",
        reason: problem,
      });
      expect((await put(mayfly)).status).toBe(201);
    },
  );

  it("P27, X19: because a stranger holds the name at the provider leaves the stranger alone", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const name = servers(mayfly)[0]?.name ?? "";
    mayfly.simulator.reset();
    mayfly.simulator.addServer({ name, labels: { owner: "somebody" } });
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    expect(await put(mayfly)).toMatchObject({ status: 409, body: { code: "name_taken" } });
    expect(servers(mayfly)).toMatchObject([{ name, labels: { owner: "somebody" } }]);
  });

  it("because the machine before is still at the provider is `releasing`", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await put(mayfly));
    const [server] = servers(mayfly);
    await mayfly.send("DELETE", "/v1/machines/box");
    mayfly.simulator.addServer({ name: server?.name ?? "", labels: server?.labels ?? {} });
    expect(id).toBe(`mch_${server?.labels?.["mayfly-uid"]}`);
    const refused = await put(mayfly);
    expect(refused).toMatchObject({ status: 409, body: { code: "releasing" } });
    expect(refused.headers.get("Retry-After")).toBe("5");
  });

  it("is what every create gets from a database of another installation, until that one is named", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const moved = createMayfly({ INSTALLATION: "another-installation" });
    expect(await put(moved, "other")).toMatchObject({ status: 503, body: { code: "installation_changed" } });
    expect((await moved.send("GET", "/healthz")).body).toMatchObject({ status: "red" });
    const named = createMayfly({ INSTALLATION: "another-installation", PREVIOUS_INSTALLATIONS: "test-installation-1" });
    expect((await put(named, "other")).status).toBe(201);
  });
});

describe("secrets", () => {
  it("S33: root_password, cloud-init and tokens appear in no answer, row or log line", async () => {
    const mayfly = createMayfly();
    const secret = "canary-cloud-init";
    const answers = [await put(mayfly, "box", { ...BODY, cloud_init: `#cloud-config\npassword: ${secret}` })];
    mayfly.simulator.fault({ ...POST_SERVERS, status: 500, code: "server_error", message: "down" });
    answers.push(await put(mayfly, "other", { ...BODY, cloud_init: secret }));
    answers.push(await mayfly.send("GET", "/v1/machines"), await mayfly.send("GET", "/v1/sweeps"));
    await mayfly.tick(mayfly.now() + 100 * SECOND);
    const tables = ["machines", "events", "sweeps", "settings", "locks", "tokens"];
    const rows = await mayfly.bindings.DB.batch(
      tables.map((table) => mayfly.bindings.DB.prepare(`SELECT * FROM ${table}`)),
    );
    const everything = JSON.stringify([
      answers.map(({ text }) => text),
      rows.map(({ results }) => results),
      mayfly.logs,
    ]);
    for (const canary of [secret, "canary-hcloud-token", "admin-token", "root_password"])
      expect(everything).not.toContain(canary);
    expect(JSON.stringify(servers(mayfly)[0])).toContain(secret);
  });
});
