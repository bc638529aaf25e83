import { describe, expect, it } from "vitest";
import { containing, START_MS, startSimulator } from "./client.ts";

describe("the control plane over HTTP", () => {
  it("resets everything: resources, clock, faults, log, stock, limits; and gives no id twice", async () => {
    const { sim, send, create } = startSimulator();
    await create({});
    sim.advance(60);
    sim.stock({ server_type: "cx23", orderable: false });
    sim.fault({ status: 500 });
    const { status, body } = await send("POST", "/_sim/reset", {
      limits: { servers: 10 },
      rate_limit: 100,
      currency: "USD",
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      now: "2026-11-15T12:00:00.000Z",
      servers: [],
      firewalls: [],
      images: [],
      networks: [],
      ssh_keys: [],
      actions: [],
      stock: [],
      faults: [],
      limits: { servers: 10, primary_ips: null },
      rate_limit: { limit: 100, remaining: 100 },
      currency: "USD",
    });
    expect(sim.requests()).toEqual([]);
    expect((await create({})).body).toMatchObject({ server: { id: 102 } });
  });

  it("resets with an empty body to the defaults", async () => {
    const { send } = startSimulator();
    expect((await send("POST", "/_sim/reset")).body).toMatchObject({
      limits: { servers: null },
      rate_limit: { limit: 3600 },
      currency: "EUR",
    });
  });

  it("logs API requests only, with method, path, query and status", async () => {
    const { send } = startSimulator();
    await send("GET", "/v1/servers?page=1&per_page=50");
    await send("GET", "/v1/nothing");
    await send("GET", "/_sim/state");
    expect((await send("GET", "/_sim/requests")).body).toEqual({
      requests: [
        { method: "GET", path: "/v1/servers", query: "page=1&per_page=50", status: 200 },
        { method: "GET", path: "/v1/nothing", query: "", status: 404 },
      ],
    });
  });

  it("moves the clock: created stamps and action progress", async () => {
    const { sim, send, create } = startSimulator();
    expect((await send("POST", "/_sim/clock", { advance_seconds: 90 })).body).toEqual({
      now: "2026-11-15T12:01:30.000Z",
    });
    await create({});
    await send("POST", "/_sim/clock", { advance_seconds: 0.5 });
    expect(sim.state()).toMatchObject({
      servers: [{ created: "2026-11-15T12:01:30+00:00" }],
      actions: [{ progress: 50 }, { progress: 33 }],
    });
  });

  it("sets stock and answers what it changed", async () => {
    const { send, create } = startSimulator();
    const change = { server_type: "cx23", location: "fsn1", available: false, orderable: false };
    expect((await send("POST", "/_sim/stock", change)).body).toEqual({ stock: [change] });
    expect(await create({ location: "fsn1" })).toMatchObject({ status: 412 });
    expect((await send("POST", "/_sim/stock", { server_type: "cx23", available: true })).body).toMatchObject({
      stock: [{ location: "fsn1", available: true, orderable: false }, { location: "nbg1" }, { location: "hel1" }],
    });
  });

  it("installs and clears faults", async () => {
    const { send } = startSimulator();
    const fault = { method: "GET", path: "/servers", times: 5, status: 500 };
    expect(await send("POST", "/_sim/faults", fault)).toMatchObject({
      status: 201,
      body: { faults: [{ ...fault, seen: 0 }] },
    });
    expect(await send("GET", "/v1/servers")).toMatchObject({ status: 500 });
    expect(await send("DELETE", "/_sim/faults")).toMatchObject({ status: 200, body: { faults: [] } });
    expect(await send("GET", "/v1/servers")).toMatchObject({ status: 200 });
  });
});

describe("a server put in as given", () => {
  it("is answered with its id and found by the API", async () => {
    const { send } = startSimulator();
    const given = {
      name: "old",
      created: "2020-01-01T00:00:00Z",
      labels: { a: "b" },
      protection: { delete: true, rebuild: true },
    };
    const { status, body } = await send("POST", "/_sim/servers", given);
    expect(status).toBe(201);
    expect(body).toMatchObject({ server: { id: 101, status: "running", ...given } });
    expect((await send("GET", "/v1/servers/101")).body).toEqual(body);
  });

  it.each([[null], ["yesterday"], ["2026-13-01T00:00:00Z"], [5]])("may have created %j", async (created) => {
    const { send } = startSimulator();
    await send("POST", "/_sim/servers", { name: "x", created });
    expect((await send("GET", "/v1/servers")).body).toHaveProperty("servers.0.created", created);
  });

  it("has no created and no labels when none are given, and labels may be null", async () => {
    const { send } = startSimulator();
    await send("POST", "/_sim/servers", { name: "x" });
    await send("POST", "/_sim/servers", { name: "y", labels: null });
    const { body } = await send("GET", "/v1/servers");
    expect(body).not.toHaveProperty("servers.0.created");
    expect(body).not.toHaveProperty("servers.0.labels");
    expect(body).toHaveProperty("servers.1.labels", null);
  });

  it("may come from the future, and is listed when the clock is set back", async () => {
    const { sim, create, names } = startSimulator();
    sim.addServer({ name: "future", created: "2030-01-01T00:00:00+00:00" });
    await create({ name: "now" });
    sim.advance(-3600);
    expect(await names("/v1/servers")).toEqual(["future", "now"]);
  });

  it("keeps any status while time passes", async () => {
    const { sim, send } = startSimulator();
    await send("POST", "/_sim/servers", { name: "x", status: "quantum" });
    sim.advance(86_400);
    expect((await send("GET", "/v1/servers")).body).toMatchObject({ servers: [{ status: "quantum" }] });
  });

  it("keeps fields that nobody knows", async () => {
    const { send } = startSimulator();
    await send("POST", "/_sim/servers", { name: "x", colour: "green" });
    expect((await send("GET", "/v1/servers")).body).toMatchObject({ servers: [{ colour: "green" }] });
  });

  it("takes type, location and image by name, retired types too", async () => {
    const { sim } = startSimulator();
    expect(sim.addServer({ server_type: "cax11", location: "hel1", image: "ubuntu-24.04" })).toMatchObject({
      server_type: { name: "cax11" },
      location: { name: "hel1" },
      image: { name: "ubuntu-24.04", architecture: "arm" },
    });
    expect(sim.addServer({ server_type: "cx22", location: "gone1", image: null })).toMatchObject({
      server_type: { name: "cx22", prices: [] },
      location: { name: "gone1" },
      image: null,
    });
  });

  it("may share a name with another one, but not an id", async () => {
    const { sim, send, create } = startSimulator();
    sim.addServer({ id: 7, name: "x" });
    sim.addServer({ name: "x" });
    expect(await send("POST", "/_sim/servers", { id: 7 })).toMatchObject({ status: 422 });
    expect(await create({ name: "x" })).toMatchObject({ status: 409 });
  });
});

describe("bad input to the control plane", () => {
  it.each([
    ["/_sim/reset", { rate_limit: 0 }, "rate_limit"],
    ["/_sim/reset", "{", "no JSON"],
    ["/_sim/clock", {}, "advance_seconds"],
    ["/_sim/clock", { advance_seconds: 1e15 }, "out of range"],
    ["/_sim/servers", [], "object"],
    ["/_sim/servers", { id: "x" }, "id"],
    ["/_sim/images", { id: 0 }, "id"],
    ["/_sim/stock", { server_type: "cx23", location: "ash" }, "no server type cx23 is offered in ash"],
    ["/_sim/stock", { server_type: "cx23", orderabel: false }, "orderabel"],
    ["/_sim/faults", {}, "exactly one"],
    ["/_sim/faults", { status: 500, drop: "before" }, "exactly one"],
    ["/_sim/faults", { path: "(", status: 500 }, "regular expression"],
    ["/_sim/faults", { status: 99 }, "status"],
    ["/_sim/faults", { staus: 500 }, "staus"],
    ["/_sim/faults", { status: 500, headers: { "bad header": "x" } }, "headers"],
    ["/_sim/faults", { drop: "sometimes" }, "drop"],
    ["/_sim/tick", { at: "noon" }, "at"],
  ])("%s %j is 422 and says why", async (path, body, reason) => {
    const { sim, send } = startSimulator();
    const before = sim.state();
    const answer = await send("POST", path, body);
    expect(answer).toMatchObject({ status: 422, body: { status: 422, detail: containing(reason) } });
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    expect(sim.state()).toEqual(before);
  });

  it("an unknown control is 404", async () => {
    const { send } = startSimulator();
    expect(await send("POST", "/_sim/weather")).toMatchObject({ status: 404 });
  });

  it("throws from the direct controls", () => {
    const { sim } = startSimulator();
    expect(() => sim.fault({})).toThrow("exactly one");
    expect(() => sim.advance(Number.NaN)).toThrow("out of range");
    expect(() => sim.reset({ rate_limit: -1 })).toThrow("rate_limit");
  });
});

describe("/_sim/tick", () => {
  it("runs the tick at that time and answers what it reports, without moving the clock", async () => {
    const ticks: number[] = [];
    const onTick = async (at_ms: number): Promise<unknown> => ({ count: ticks.push(at_ms) });
    const { sim, send } = startSimulator({ onTick });
    expect(await send("POST", "/_sim/tick", { at: 1_800_000_000_000 })).toMatchObject({
      status: 200,
      body: { count: 1 },
    });
    expect(ticks).toEqual([1_800_000_000_000]);
    expect(sim.now()).toBe(START_MS);
  });

  it("answers null when the tick reports nothing", async () => {
    const { send } = startSimulator({ onTick: async () => undefined });
    expect(await send("POST", "/_sim/tick", { at: 1_796_040_000_000 })).toMatchObject({ status: 200, body: null });
  });

  it("is 501 without a Worker and 500 when the tick fails", async () => {
    expect(await startSimulator().send("POST", "/_sim/tick", { at: 1_796_040_000_000 })).toMatchObject({ status: 501 });
    const onTick = async (): Promise<unknown> => {
      throw new Error("sweep failed");
    };
    expect(await startSimulator({ onTick }).send("POST", "/_sim/tick", { at: 1_796_040_000_000 })).toMatchObject({
      status: 500,
      body: { detail: "sweep failed" },
    });
  });
});
