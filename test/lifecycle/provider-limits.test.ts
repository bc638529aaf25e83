import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createMachine } from "../../src/lifecycle/create.ts";
import type { MachineOrder } from "../../src/lifecycle/order.ts";
import { between, leave, slow } from "../behind.ts";
import {
  BODY,
  createMayfly,
  machineIn,
  mintedIn,
  MINUTE,
  minutes,
  principalOf,
  refusing,
  SECOND,
  servers,
  type Answer,
  type Mayfly,
} from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const POST_SERVERS = { method: "POST", path: "^/v1/servers$" };
const SERVER_LIMIT = {
  rule: "must fit the provider's limit of machines",
  limit: "server_limit",
  next: "Destroy what is not needed any more, or have server_limit raised in the provider's console.",
};
const ORDER: MachineOrder = { serverTypes: ["cx23"], regions: ["fsn1"] };

const put = (mayfly: Mayfly, name: string, more: object = {}, query = "", token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}${query}`, { ...BODY, ...more }, token);
const posts = ({ simulator }: Mayfly) =>
  simulator.requests().filter(({ method, path }) => method === "POST" && path === "/v1/servers").length;
const names = (mayfly: Mayfly) => servers(mayfly).map(({ labels }) => labels?.["mayfly-name"]);
const reportsOf = async (mayfly: Mayfly) => {
  const { body } = await mayfly.send("GET", "/v1/sweeps");
  const phase = z.looseObject({ phase: z.string(), counts: z.record(z.string(), z.number()) });
  const sweep = z.looseObject({ id: z.int(), started_by: z.string(), phases: z.array(phase) });
  return z.object({ sweeps: z.array(sweep) }).parse(body).sweeps;
};
const isWithinFree = (mayfly: Mayfly): boolean => {
  const costs = mayfly.logs.filter(({ event }) => event === "request");
  return costs.every((line) => Number(line["fetches"]) <= 50 && Number(line["statements"]) <= 50);
};

/** Lets time pass whenever a call waits, and does something besides the first time; answers how long each waited. */
function whileWaiting(mayfly: Mayfly, act: () => Promise<unknown>): number[] {
  const waits: number[] = [];
  const sleep = async (milliseconds: number) => {
    mayfly.advance(milliseconds);
    if (waits.push(milliseconds) === 1) await act();
  };
  Object.assign(mayfly.runtime, { sleep });
  return waits;
}

/** Makes each deletion take that long, and does something when it is done. */
function onDelete(mayfly: Mayfly, milliseconds: number, act: () => Promise<unknown>): void {
  between(mayfly, async (request, real) => {
    const answer = await real(request);
    if (request.method !== "DELETE") return answer;
    mayfly.advance(milliseconds);
    await act();
    return answer;
  });
}

/** A project with room for as many, which machines fill that are past their end and that no sweep has met yet. */
async function full(
  limits: { servers?: number; primary_ips?: number } = { servers: 2 },
  settings: Record<string, string> = {},
): Promise<Mayfly> {
  const mayfly = createMayfly(settings);
  mayfly.simulator.reset({ limits });
  await mayfly.tick();
  await put(mayfly, "old-1", { ttl: "60s" });
  await put(mayfly, "old-2", { ttl: "60s" });
  mayfly.advance(61 * SECOND);
  return mayfly;
}

/** A project that machines fill which are within their lease. */
async function taken(): Promise<Mayfly> {
  const mayfly = createMayfly();
  mayfly.simulator.reset({ limits: { servers: 1 } });
  await put(mayfly, "living");
  return mayfly;
}

describe("a create that meets the provider's limit of machines", () => {
  it("has machines past their end destroyed, and is made in the same call", async () => {
    const mayfly = await full();
    const before = posts(mayfly);
    const created = await put(mayfly, "new", {}, "?wait=30");
    expect(created.status).toBe(201);
    expect(machineIn(created).status).toBe("running");
    expect(created.body).not.toHaveProperty("warning");
    expect(names(mayfly)).toEqual(["new"]);
    expect(posts(mayfly) - before).toBe(2);
    expect(isWithinFree(mayfly)).toBe(true);
  });

  it("has it kept what the small sweep did: its report, its line in the log, and events on its word", async () => {
    const mayfly = await full();
    await put(mayfly, "new");
    const [report, ...others] = await reportsOf(mayfly);
    expect(others.filter(({ started_by }) => started_by === "create")).toEqual([]);
    expect(report).toMatchObject({
      started_by: "create",
      outcome: "ok",
      phases: [{ phase: "expire", counts: { destroyed: 2 } }],
    });
    expect(mayfly.logs).toContainEqual(
      expect.objectContaining({ event: "sweep", id: report?.id, started_by: "create", outcome: "ok" }),
    );
    const { body } = await mayfly.send("GET", "/v1/events?kind=destroyed");
    const evidence = { by: "sweep", id: report?.id };
    expect(body).toMatchObject({
      events: [
        { machine: { name: "old-2" }, reason: "expired", evidence },
        { machine: { name: "old-1" }, reason: "expired", evidence },
      ],
    });
  });

  it("is made all the same where cron is dead, and says that it is", async () => {
    const mayfly = await full();
    mayfly.advance(10 * MINUTE);
    const created = await put(mayfly, "new", {}, "?wait=30");
    expect(created.status).toBe(201);
    expect(created.body).toHaveProperty("warning");
    expect(names(mayfly)).toEqual(["new"]);
    expect(isWithinFree(mayfly)).toBe(true);
    expect(await mayfly.store.lock.acquire("next", mayfly.now(), mayfly.now() + 1)).not.toBeNull();
  });

  it("stays within the free plan though it then waits for a machine that does not get to run", async () => {
    const mayfly = await full();
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      return request.method === "GET"
        ? new Response((await answer.text()).replaceAll('"running"', '"starting"'), answer)
        : answer;
    });
    const created = await put(mayfly, "new", {}, "?wait=30", await mayfly.tokenOf("alice"));
    expect(created.status).toBe(201);
    expect(machineIn(created).status).toBe("creating");
    expect(isWithinFree(mayfly)).toBe(true);
  });

  it("is made without HTTP too, and by one pass a call", async () => {
    const mayfly = await full({ servers: 2 }, { PLAN: "paid" });
    const context = mayfly.context();
    const alice = principalOf("tok.alice");
    expect(await createMachine(context, alice, "one", ORDER)).toMatchObject({ ok: true, value: { isNew: true } });
    expect(names(mayfly)).toEqual(["one"]);
    await put(mayfly, "two", { ttl: "60s" });
    mayfly.advance(61 * SECOND);
    const before = posts(mayfly);
    const again = await createMachine(context, alice, "three", ORDER);
    expect(again).toMatchObject({ ok: false, refusal: { code: "provider_quota", limit: "server_limit" } });
    expect(posts(mayfly) - before).toBe(1);
    expect(await createMachine(mayfly.context(), alice, "three", ORDER)).toMatchObject({ ok: true });
  });

  it("waits for another sweep that is running, which does the work", async () => {
    const mayfly = await full();
    const lock = await mayfly.store.lock.acquire("other", mayfly.now(), mayfly.now() + 90 * SECOND);
    expect(lock).not.toBeNull();
    const waits = whileWaiting(mayfly, async () => {
      await mayfly.bindings.DB.prepare("UPDATE locks SET held_until = 0").run();
      await mayfly.tick();
    });
    expect((await put(mayfly, "new")).status).toBe(201);
    expect(waits).toEqual([10 * SECOND]);
    expect(names(mayfly)).toEqual(["new"]);
    expect((await reportsOf(mayfly)).map(({ started_by }) => started_by)).not.toContain("create");
  });

  it("S42: with nothing due is tried once more, since what was just deleted may still count, and then says which limit", async () => {
    const mayfly = await taken();
    const before = posts(mayfly);
    const refused = await put(mayfly, "new");
    expect(refused).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    expect(refused.headers.get("Retry-After")).toBe("10");
    expect(posts(mayfly) - before).toBe(2);
    expect(names(mayfly)).toEqual(["living"]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/new"))).toMatchObject({
      status: "destroyed",
      reason: "provider_quota",
    });
    // A pass that has nothing to do takes no lock: the next tick finds it free, and the one before was cron's.
    expect((await reportsOf(mayfly)).map(({ started_by }) => started_by)).not.toContain("create");
  });

  it("is made at the second try where what its owner has just destroyed still counted", async () => {
    const mayfly = createMayfly();
    const began = mayfly.now();
    const message = "server limit exceeded";
    mayfly.simulator.fault({ ...POST_SERVERS, status: 403, code: "resource_limit_exceeded", message });
    expect((await put(mayfly, "new")).status).toBe(201);
    expect(mayfly.now() - began).toBe(10 * SECOND);
  });

  it("where nothing can be destroyed says so, holds no claim, and the next call works", async () => {
    const mayfly = await full();
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: Infinity });
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    const row = await mayfly.bindings.DB.prepare(
      "SELECT phase, reason, next_try_at FROM machines WHERE name = 'new'",
    ).first();
    expect(row).toEqual({ phase: "failed", reason: "provider_quota", next_try_at: null });
    expect(names(mayfly)).toEqual(["old-1", "old-2"]);
    mayfly.simulator.clearFaults();
    mayfly.advance(10 * MINUTE);
    expect((await put(mayfly, "new")).status).toBe(201);
    expect(names(mayfly)).toEqual(["new"]);
  });

  it("I4: never has a machine destroyed that is within its lease, or not ours", async () => {
    const mayfly = await taken();
    mayfly.simulator.addServer({ name: "foreign", created: "2020-01-01T00:00:00Z" });
    await put(mayfly, "new");
    expect(servers(mayfly).map(({ name }) => name)).toContain("foreign");
    expect(names(mayfly)).toContain("living");
    expect(mayfly.simulator.requests().filter(({ method }) => method === "DELETE")).toEqual([]);
  });
});

describe("I3: creates at the provider's limit at the same time", () => {
  it("get the places that come free, and the others hear of the limit", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.reset({ limits: { servers: 2 } });
    await mayfly.tick();
    await put(mayfly, "living");
    await put(mayfly, "old", { ttl: "60s" });
    mayfly.advance(61 * SECOND);
    // Ten seconds are enough for the other's pass.
    const sleep = async () => {
      while (((await mayfly.store.lock.read())?.held_until ?? 0) > mayfly.now()) await scheduler.wait(1);
    };
    Object.assign(mayfly.runtime, { sleep });
    const answers = await Promise.all([put(mayfly, "a"), put(mayfly, "b")]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 503]);
    expect(answers.find(({ status }) => status === 503)?.body).toMatchObject(SERVER_LIMIT);
    expect(names(mayfly)).toHaveLength(2);
    expect(names(mayfly)).toContain("living");
  });

  it("of one name are one machine", async () => {
    const mayfly = await full();
    const answers: Answer[] = await Promise.all(Array.from({ length: 5 }, () => put(mayfly, "new")));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
    expect(new Set(answers.map((answer) => machineIn(answer).id)).size).toBe(1);
    expect(names(mayfly)).toEqual(["new"]);
  });
});

describe("the claim of a create that has room made for it", () => {
  it("is lengthened, so that a repeat posts nothing meanwhile; a pass that takes too long leaves no time for a second try", async () => {
    const mayfly = await full();
    const repeats: number[] = [];
    // The refusal takes four seconds and the pass twenty-eight: a claim that nobody lengthens would be over.
    slow(mayfly, 4 * SECOND, undefined, ({ method }) => method === "POST");
    let deletes = 0;
    const repeatAtSecond = async () => {
      if (++deletes === 2) repeats.push((await put(mayfly, "new")).status);
    };
    onDelete(mayfly, 14 * SECOND, repeatAtSecond);
    const before = posts(mayfly);
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    expect(repeats).toEqual([200]);
    expect(posts(mayfly) - before).toBe(1);
    expect((await put(mayfly, "new")).status).toBe(201);
  });

  it("is not begun where there is no time left for the wait and a second try", async () => {
    const mayfly = await full();
    slow(mayfly, 6 * SECOND, undefined, ({ method }) => method === "POST");
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    expect(names(mayfly)).toEqual(["old-1", "old-2"]);
  });

  it("waits less where the pass took long, so that the second try ends in time", async () => {
    const mayfly = await full();
    const waits = whileWaiting(mayfly, async () => {});
    onDelete(mayfly, 4 * SECOND, async () => {});
    expect((await put(mayfly, "new")).status).toBe(201);
    expect(waits).toEqual([7 * SECOND]);
  });

  it("is another call's where the pass outlasted it: that call's row and machine are left alone", async () => {
    const mayfly = await full();
    const others: Answer[] = [];
    onDelete(mayfly, 35 * SECOND, async () => {
      if (others.length === 0) others.push(await put(mayfly, "new"));
    });
    const mine = await put(mayfly, "new");
    expect([others[0]?.status, mine.status]).toEqual([200, 200]);
    expect(machineIn(mine).status).toBe("creating");
    await minutes(mayfly, 2);
    expect(names(mayfly)).toEqual(["new"]);
  });

  it("ends with its owner's word, which comes meanwhile: nothing is made", async () => {
    const mayfly = await full();
    whileWaiting(mayfly, () => mayfly.send("DELETE", "/v1/machines/new"));
    const before = posts(mayfly);
    expect(await put(mayfly, "new")).toMatchObject({ status: 409, body: { code: "released" } });
    expect(posts(mayfly) - before).toBe(1);
    expect(servers(mayfly)).toEqual([]);
  });

  it("ends with its token, which is revoked meanwhile: nothing is made", async () => {
    const mayfly = await full();
    const { id, secret } = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
    whileWaiting(mayfly, () => mayfly.send("DELETE", `/v1/tokens/${id}`));
    const before = posts(mayfly);
    expect((await put(mayfly, "new", {}, "", secret)).status).toBe(503);
    expect(posts(mayfly) - before).toBe(1);
    expect(servers(mayfly)).toEqual([]);
    const { body } = await mayfly.send("GET", "/v1/machines?owner=tok.ann");
    expect(body).toMatchObject({ machines: [] });
  });

  it("of a repeat is the same: a create whose answer was lost has room made for it, and is one machine", async () => {
    const mayfly = await full();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    expect((await put(mayfly, "new")).status).toBe(503);
    expect((await put(mayfly, "new")).status).toBe(200);
    expect(names(mayfly)).toEqual(["new"]);
  });

  it("of a repeat that meets the limit again is given back, since the first try may have made a machine", async () => {
    const mayfly = await taken();
    mayfly.simulator.fault({ ...POST_SERVERS, drop: "before" });
    await put(mayfly, "new");
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: SERVER_LIMIT });
    expect(machineIn(await mayfly.send("GET", "/v1/machines/new"))).toMatchObject({ status: "creating" });
    await mayfly.send("DELETE", "/v1/machines/living");
    expect((await put(mayfly, "new")).status).toBe(200);
    expect(names(mayfly)).toEqual(["new"]);
  });

  it("is given back where the second try has no clear answer, and the next call finds the machine", async () => {
    const mayfly = await full();
    mayfly.simulator.fault({ ...POST_SERVERS, after: 1, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", after: 1, status: 503 });
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect((await put(mayfly, "new")).status).toBe(200);
    expect(names(mayfly)).toEqual(["new"]);
  });
});

describe("where the database refuses the pass its lock", () => {
  it("the call says so and holds no claim, and the next one is made", async () => {
    const mayfly = await full();
    const { DB } = mayfly.bindings;
    mayfly.configure({ DB: refusing(DB, /UPDATE locks/) });
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    mayfly.configure({ DB });
    expect((await put(mayfly, "new")).status).toBe(200);
    expect(names(mayfly)).toEqual(["new"]);
  });
});

describe("no pass is begun", () => {
  it("below the provider's reserve, which is for sweeps and deletes", async () => {
    const mayfly = await full();
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      if (request.method === "POST") answer.headers.set("RateLimit-Remaining", "9");
      return answer;
    });
    const before = posts(mayfly);
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    expect(posts(mayfly) - before).toBe(1);
    expect(names(mayfly)).toEqual(["old-1", "old-2"]);
  });

  it("for a second try that would be refused for the reserve: the limit is what is told", async () => {
    const mayfly = await full();
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      if (request.method === "DELETE") leave(mayfly, 9);
      return answer;
    });
    expect(await put(mayfly, "new")).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
  });

  it("where the free plan leaves no room for it beside the second try", async () => {
    const mayfly = await full();
    const rules = (port: number) => ({ rules: [{ direction: "in", protocol: "tcp", port: String(port) }] });
    const firewalls = Array.from({ length: 5 }, (_, index) => rules(index + 1));
    const before = posts(mayfly);
    const refused = await put(mayfly, "new", { firewalls });
    expect(refused).toMatchObject({ status: 503, body: { code: "provider_quota", ...SERVER_LIMIT } });
    expect(posts(mayfly) - before).toBe(1);
    expect(isWithinFree(mayfly)).toBe(true);
    await minutes(mayfly, 2);
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("where the provider may have made the machine, or refuses for another reason", async () => {
    const mayfly = await full();
    mayfly.simulator.fault({ ...POST_SERVERS, status: 422, code: "invalid_input", message: "no" });
    expect((await put(mayfly, "new")).status).toBe(422);
    mayfly.simulator.fault({ ...POST_SERVERS, status: 503, code: "unavailable", message: "no" });
    expect((await put(mayfly, "new")).status).toBe(503);
    expect(names(mayfly)).toEqual(["old-1", "old-2"]);
  });
});

describe("the limit is named", () => {
  it("of addresses; those of machines past their end come free as well", async () => {
    const mayfly = await full({ primary_ips: 4 });
    expect((await put(mayfly, "new")).status).toBe(201);
    expect(names(mayfly)).toEqual(["new"]);
    expect((await put(mayfly, "second")).status).toBe(201);
    expect(await put(mayfly, "third")).toMatchObject({
      status: 503,
      body: {
        code: "provider_quota",
        rule: "must fit the provider's limit of primary IP addresses",
        limit: "primary_ip_limit",
        next: "Destroy what is not needed any more, or have primary_ip_limit raised in the provider's console.",
      },
    });
  });

  it("of cores: it moves on to the next candidate, and where all lack them says so beside what was tried", async () => {
    const mayfly = createMayfly();
    const fault = { ...POST_SERVERS, status: 403, code: "dedicated_core_limit", message: "no" };
    mayfly.simulator.fault(fault);
    const created = await put(mayfly, "new", { server_type: ["ccx13", "cx23"] });
    expect(machineIn(created).server_type).toBe("cx23");
    mayfly.simulator.fault(fault);
    expect(await put(mayfly, "other", { server_type: "ccx13" })).toMatchObject({
      status: 503,
      body: {
        code: "capacity",
        rule: "must fit the provider's limit of dedicated cores",
        limit: "dedicated_core_limit",
        next: "Offer more server types or regions, or the same later, or have dedicated_core_limit raised in the provider's console.",
        candidates: [{ server_type: "ccx13", outcome: "capacity" }],
      },
    });
  });

  it("of cores that machines past their end have: the same candidate is tried once more", async () => {
    const mayfly = await full();
    mayfly.simulator.fault({ ...POST_SERVERS, status: 403, code: "dedicated_core_limit", message: "no" });
    const created = await put(mayfly, "new", { server_type: ["ccx13", "cx23"] });
    expect(machineIn(created).server_type).toBe("ccx13");
    expect(names(mayfly)).toEqual(["new"]);
  });

  it.each([
    ["ssh_keys", { name: "me", public_key: KEY_A }, "ssh_key_limit", "SSH keys"],
    ["firewalls", { name: "wall", deny_all: true }, "firewall_limit", "firewalls"],
    ["networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" }, "network_limit", "networks"],
  ])("of %s, which are made for themselves or with a machine", async (kind, body, limit, counts) => {
    const mayfly = createMayfly();
    const fault = {
      method: "POST",
      path: `^/v1/${kind}$`,
      status: 403,
      code: "resource_limit_exceeded",
      message: "no",
      details: { limits: [{ name: limit }] },
    };
    const told = { code: "provider_quota", rule: `must fit the provider's limit of ${counts}`, limit };
    mayfly.simulator.fault(fault);
    expect(await mayfly.send("POST", `/v1/${kind}`, body)).toMatchObject({ status: 503, body: told });
    mayfly.simulator.fault(fault);
    const { name: _, region: __, ...spelt } = { region: "", ...body };
    const made =
      kind === "ssh_keys"
        ? [KEY_A]
        : [kind === "firewalls" ? { rules: [{ direction: "in", protocol: "tcp", port: "22" }] } : spelt];
    expect(await put(mayfly, "box", { [kind]: made })).toMatchObject({ status: 503, body: told });
    expect(servers(mayfly)).toEqual([]);
  });

  it("by nobody where the provider does not say which it was", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ ...POST_SERVERS, status: 403, code: "resource_limit_exceeded", message: "too many" });
    const refused = await put(mayfly, "new");
    expect(refused).toMatchObject({ status: 503, body: { code: "provider_quota" } });
    expect(refused.body).not.toHaveProperty("limit");
  });
});
