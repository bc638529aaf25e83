import { describe, expect, it } from "vitest";
import { between } from "../behind.ts";
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
  refusing,
  servers,
  minutes,
} from "../mayfly.ts";

const put = (mayfly: Mayfly, name = "box", more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more });
const destroy = (mayfly: Mayfly, name = "box") => mayfly.send("DELETE", `/v1/machines/${name}`);
const shown = async (mayfly: Mayfly, name = "box") => machineIn(await mayfly.send("GET", `/v1/machines/${name}`));
const POST_SERVERS = { method: "POST", path: "^/v1/servers$" };
const LOST = { method: "GET", path: "^/v1/servers$", status: 503, code: "unavailable", message: "no" };

describe("a create that nobody repeats", () => {
  it("case 1, case 15: whose machine was made is found by settle, and runs under its lease", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "after" });
    mayfly.simulator.fault(LOST);
    expect((await put(mayfly, "box", { ttl: "2h" })).status).toBe(503);
    await minutes(mayfly, 2);
    const [row] = (await mayfly.store.machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 9 }))
      .rows;
    expect(row).toMatchObject({ phase: "active", status: "running", providerId: String(servers(mayfly)[0]?.id) });
    await minutes(mayfly, 120);
    expect(servers(mayfly)).toEqual([]);
  });

  it("whose machine was never made ends at LAUNCH_DEADLINE as a tombstone, and its name is free", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    const { status } = await put(mayfly, "box", { ttl: "2h" });
    expect(status).toBe(503);
    await minutes(mayfly, 14);
    expect((await shown(mayfly)).status).toBe("creating");
    await minutes(mayfly, 3);
    expect(await shown(mayfly)).toMatchObject({ status: "destroyed", reason: "never_seen" });
    expect((await put(mayfly)).status).toBe(201);
  });

  it("whose machine no list shows is asked for by its name before it is given up", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "after" });
    mayfly.simulator.fault(LOST);
    expect((await put(mayfly, "box", { ttl: "2h" })).status).toBe(503);
    let named = 0;
    between(mayfly, async (request, real) => {
      const { pathname, searchParams } = new URL(request.url);
      if (request.method !== "GET" || pathname !== "/v1/servers") return real(request);
      if (searchParams.has("name")) named += 1;
      else searchParams.set("label_selector", "nobody=has-this");
      return real(new Request(`https://sim${pathname}?${searchParams.toString()}`, request));
    });
    await minutes(mayfly, 15);
    expect(named).toBe(0);
    await minutes(mayfly, 3);
    expect(named).toBe(1);
    expect(await mayfly.store.machines.byName("admin", "box")).toMatchObject({
      phase: "active",
      providerId: String(servers(mayfly)[0]?.id),
    });
  });

  it("S44, case 4, case 18: whose start failed, and so does not run by LAUNCH_DEADLINE is destroyed, with the reason kept", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, action_error: true });
    await put(mayfly, "box", { ttl: "2h" });
    await minutes(mayfly, 14);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 4);
    expect(servers(mayfly)).toEqual([]);
    expect(await shown(mayfly)).toMatchObject({ status: "destroyed", reason: "launch_failed" });
  });

  it("case 17: whose machine takes eight minutes is left to become ready", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "2h" });
    const [server] = servers(mayfly);
    const stuck = { ...server, status: "initializing" };
    mayfly.simulator.fault({
      method: "GET",
      path: "^/v1/servers",
      times: 8,
      status: 200,
      body: {
        server: stuck,
        servers: [stuck],
        meta: {
          pagination: { page: 1, per_page: 50, previous_page: null, next_page: null, last_page: 1, total_entries: 1 },
        },
      },
    });
    await minutes(mayfly, 10);
    expect((await shown(mayfly)).status).toBe("running");
  });
});

describe("case 2: a machine of ours that D1 forgot", () => {
  it("is adopted by the PUT of its owner and name, with its own uid and lease", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box", { ttl: "3h" }));
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    mayfly.advance(HOUR);
    const again = await put(mayfly, "box", { ttl: "9h" });
    expect(again.status).toBe(200);
    expect(machineIn(again)).toMatchObject({
      id: first.id,
      provider_id: first.provider_id,
      expires_at: first.expires_at,
      max_until: first.max_until,
    });
    expect(servers(mayfly)).toHaveLength(1);
    expect((await put(mayfly, "box", { ttl: "9h" })).status).toBe(200);
    // With which body it was made its labels do not tell.
    const other = await put(mayfly, "box", { image: "ubuntu-24.04" });
    expect(other).toMatchObject({ status: 409, body: { code: "spec_mismatch" } });
    expect(other.body).not.toHaveProperty("fields");
  });

  it("is a stranger to another owner, another name, or a machine without our labels", async () => {
    for (const change of [
      { "mayfly-owner": "tok.bob" },
      { "mayfly-name": "other" },
      { "mayfly-managed": "false" },
      { "mayfly-uid": "x" },
    ]) {
      const mayfly = createMayfly();
      await put(mayfly);
      const [server] = servers(mayfly);
      await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
      mayfly.simulator.reset();
      mayfly.simulator.addServer({
        name: server?.name ?? "",
        labels: { ...server?.labels, ...change },
        created: server?.created ?? "",
      });
      expect(await put(mayfly)).toMatchObject({ status: 409, body: { code: "name_taken" } });
      expect(servers(mayfly)).toHaveLength(1);
    }
  });

  it("while its create is still under way is written down again", async () => {
    const mayfly = createMayfly();
    const { simulator } = mayfly;
    const fetch = simulator.fetch.bind(simulator);
    simulator.fetch = async (request) => {
      const answer = await fetch(request);
      if (request.method === "POST") await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
      return answer;
    };
    const created = await put(mayfly);
    expect(created.status).toBe(201);
    expect(await shown(mayfly)).toMatchObject({
      id: machineIn(created).id,
      provider_id: machineIn(created).provider_id,
    });
  });
});

describe("a destroy", () => {
  it("P51: is over only when the provider has nothing of the id; until then the name is held", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    const [server] = servers(mayfly);
    const dying = { server: { ...server, status: "deleting" } };
    // The provider agrees, and the machine is still seen: on its way out.
    mayfly.simulator.fault({
      method: "GET",
      path: `^/v1/servers/${server?.id}$`,
      after: 1,
      times: 3,
      status: 200,
      body: dying,
    });
    const answer = await destroy(mayfly);
    expect([answer.status, machineIn(answer).status]).toEqual([202, "deleting"]);
    expect(await put(mayfly)).toMatchObject({ status: 409, body: { code: "releasing" } });
    await minutes(mayfly, 5);
    expect(await shown(mayfly)).toMatchObject({ status: "destroyed", reason: "requested" });
    expect((await put(mayfly)).status).toBe(201);
  });

  it("that the provider agreed to and did not carry out is repeated", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    mayfly.advance(MINUTE);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", action_error: true });
    const answer = await destroy(mayfly);
    expect(answer.status).toBe(202);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 6);
    expect(servers(mayfly)).toEqual([]);
    expect((await shown(mayfly)).status).toBe("destroyed");
  });

  it("that failed long before a sweep came to look is repeated by the next one: its wait runs from when it was agreed to", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    await minutes(mayfly, 1);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", action_error: true });
    expect((await destroy(mayfly)).status).toBe(202);
    mayfly.advance(30 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 1);
    expect(servers(mayfly)).toEqual([]);
  });

  it.each(["no", ""])("whose action fails again and again, saying %j, is a failed try each time", async (message) => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "5m" });
    await minutes(mayfly, 4);
    const failing = { action_error: { code: "action_failed", message } };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", times: 999, ...failing });
    const told: string[] = [];
    const triedAt: number[] = [];
    for (let minute = 0; minute < 60; minute++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      for (const { outcome, reason } of report?.phases.flatMap(({ items }) => items) ?? []) {
        told.push(`${outcome} ${reason}`);
        if (outcome === "accepted") triedAt.push(minute);
      }
    }
    expect(servers(mayfly)).toHaveLength(1);
    expect(told.filter((one) => one.startsWith("destroyed"))).toEqual([]);
    const tries = told.filter((one) => /^(accepted|error|alert)/.test(one));
    expect(tries.slice(0, 6)).toEqual([
      "accepted expired",
      "error delete_failed",
      "accepted expired",
      "error delete_failed",
      "accepted expired",
      "alert delete_failed",
    ]);
    const waits = triedAt.slice(1).map((at, index) => at - (triedAt[index] ?? 0));
    expect(waits.length).toBeGreaterThan(2);
    expect(waits.toSorted((a, b) => a - b)).toEqual(waits);
    expect(waits.at(-1)).toBeGreaterThan(waits[0] ?? 0);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
    expect((await shown(mayfly)).status).toBe("destroyed");
  });

  it("that was agreed to is reported as accepted, and as destroyed once it is proven", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "5m" });
    await minutes(mayfly, 4);
    const [server] = servers(mayfly);
    const dying = { status: 200, body: { server: { ...server, status: "deleting" } } };
    mayfly.simulator.fault({ method: "GET", path: `^/v1/servers/${server?.id}$`, ...dying });
    const outcomes = async () => {
      mayfly.advance(MINUTE);
      return (await mayfly.tick())?.phases.flatMap(({ items }) =>
        items.map(({ outcome, reason }) => [outcome, reason]),
      );
    };
    expect(await outcomes()).toEqual([["accepted", "expired"]]);
    expect(await outcomes()).toEqual([["destroyed", "gone"]]);
  });

  it("case 19: needs no power-off first, and a locked server is tried again until it is gone", async () => {
    const mayfly = createMayfly();
    await put(mayfly);
    mayfly.simulator.fault({
      method: "DELETE",
      path: "^/v1/servers/",
      times: 3,
      status: 423,
      code: "locked",
      message: "busy",
    });
    expect((await destroy(mayfly)).status).toBe(202);
    await minutes(mayfly, 15);
    expect(servers(mayfly)).toEqual([]);
    expect(mayfly.simulator.requests().filter(({ path }) => path.includes("/actions/"))).toEqual([]);
  });

  it("P52: of a create in flight, then a create again, never makes two or a stuck name", async () => {
    for (const callers of [1, 3]) {
      const mayfly = createMayfly();
      const round = async () => [await put(mayfly), await destroy(mayfly), await put(mayfly)];
      const answers = (await Promise.all(Array.from({ length: callers }, round))).flat();
      expect(answers.every(({ status }) => status < 500)).toBe(true);
      expect(servers(mayfly).length).toBeLessThanOrEqual(1);
      await minutes(mayfly, 3);
      const last = await put(mayfly);
      expect([200, 201]).toContain(last.status);
      expect(servers(mayfly)).toHaveLength(1);
      await mayfly.bindings.DB.batch([mayfly.bindings.DB.prepare("DELETE FROM machines")]);
    }
  });
});

describe("case 3, case 34: what no row tells of", () => {
  it("dies by age, on the first tick after three days without cron", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b", "c", "d"]) await put(mayfly, name);
    mayfly.advance(72 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    for (const name of ["e", "f"]) await put(mayfly, name);
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    mayfly.advance(72 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("when D1 refuses", () => {
  it("a sweep still ends what is past MAX_AGE, and what is an hour past its label's end; nothing else", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "overdue", { ttl: "10m" });
    await put(mayfly, "living", { ttl: "5h" });
    const at = (ms: number) => new Date(ms).toISOString();
    mayfly.simulator.addServer({ name: "old", labels: OURS, created: at(NOW - 25 * HOUR) });
    mayfly.simulator.addServer({ name: "foreign", labels: {}, created: at(NOW - 99 * HOUR) });
    mayfly.simulator.addServer({
      name: "protected",
      labels: OURS,
      created: at(NOW - 25 * HOUR),
      protection: { delete: true, rebuild: true },
    });
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /./, "daily limit") });
    mayfly.advance(HOUR + 9 * MINUTE);
    const report = await mayfly.tick();
    expect(
      servers(mayfly)
        .map(({ name, labels }) => labels?.["mayfly-name"] ?? name)
        .sort(),
    ).toEqual(["foreign", "living", "overdue", "protected"]);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect(
      servers(mayfly)
        .map(({ name, labels }) => labels?.["mayfly-name"] ?? name)
        .sort(),
    ).toEqual(["foreign", "living", "protected"]);
    expect(report?.phases).toMatchObject([
      { phase: "expire", failure: "the database does not answer" },
      { phase: "reap", failure: "the database does not answer" },
      { phase: "settle", failure: "the database does not answer" },
      { phase: "reconcile" },
      { phase: "orphans", failure: "the database does not answer" },
      { phase: "history" },
    ]);
  });
});

describe("case 17: when cron is dead", () => {
  it("a create sweeps a little and says so", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    for (let number = 0; number < 3; number++) await put(mayfly, `m${number}`, { ttl: "60s" });
    mayfly.advance(5 * MINUTE);
    const created = await put(mayfly);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      warning: "no good sweep for 300 s: machines may outlive their leases until sweeps run again",
    });
    expect(servers(mayfly).map(({ labels }) => labels?.["mayfly-name"])).toEqual(["box"]);
    expect(mayfly.logs).toContainEqual(expect.objectContaining({ event: "sweep", started_by: "create" }));
    expect((await mayfly.send("GET", "/healthz")).status).toBe(503);
    mayfly.advance(SECOND);
    await mayfly.tick();
    expect((await put(mayfly, "quiet")).body).not.toHaveProperty("warning");
  });

  it("the sweep waits for the create to be over, and leaves it all that it may spend", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    await put(mayfly, "old", { ttl: "60s" });
    mayfly.advance(5 * MINUTE);
    let others = 0;
    const meanwhile: number[] = [];
    between(mayfly, async (request, real) => {
      if (request.method !== "POST") {
        others += 1;
        return real(request);
      }
      const before = others;
      for (let turn = 0; turn < 30; turn++) await scheduler.wait(1);
      meanwhile.push(others - before);
      return real(request);
    });
    expect((await put(mayfly)).status).toBe(201);
    expect(meanwhile).toEqual([0]);
    expect(others).toBeGreaterThan(0);
  });
});
