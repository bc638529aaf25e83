import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";
import { ConnectionDropped } from "./simulator.ts";

describe("a status fault", () => {
  it("answers instead of the API, once, with Hetzner's envelope", async () => {
    const { sim, create } = startSimulator();
    sim.fault({ method: "POST", path: "^/v1/servers$", status: 503, message: "try again" });
    expect(await create({})).toMatchObject({
      status: 503,
      body: { error: { code: "unavailable", message: "try again", details: null } },
    });
    expect(sim.state().servers).toEqual([]);
    expect(await create({})).toMatchObject({ status: 201 });
  });

  it("skips the first matches and then hits as often as it says", async () => {
    const { sim, send } = startSimulator();
    sim.fault({ path: "/servers$", after: 1, times: 2, status: 500 });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) statuses.push((await send("GET", "/v1/servers")).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
  });

  it("meets only its method and path", async () => {
    const { sim, send } = startSimulator();
    sim.fault({ method: "DELETE", path: "/servers/\\d+", status: 500 });
    expect(await send("GET", "/v1/servers/1")).toMatchObject({ status: 404 });
    expect(await send("DELETE", "/v1/locations/1")).toMatchObject({ status: 405 });
    expect(await send("DELETE", "/v1/servers/1")).toMatchObject({ status: 500 });
  });

  it("can send any body and headers, and take headers away", async () => {
    const { sim, send } = startSimulator();
    sim.fault({
      status: 502,
      body: "<html>",
      headers: { "Content-Type": "text/html", "Retry-After": "7", "RateLimit-Limit": null },
    });
    const { status, body, headers } = await send("GET", "/v1/servers");
    expect({ status, body }).toEqual({ status: 502, body: "<html>" });
    expect(headers.get("Retry-After")).toBe("7");
    expect(headers.has("RateLimit-Limit")).toBe(false);
    expect(headers.has("RateLimit-Remaining")).toBe(true);
  });

  it("can carry details and a status that allows no body", async () => {
    const { sim, send } = startSimulator();
    const details = { limits: [{ name: "primary_ip_limit" }] };
    sim.fault({ status: 403, code: "resource_limit_exceeded", details });
    sim.fault({ status: 204 });
    expect((await send("GET", "/v1/servers")).body).toMatchObject({
      error: { code: "resource_limit_exceeded", details },
    });
    expect(await send("GET", "/v1/servers")).toMatchObject({ status: 204, body: "" });
  });

  it.each([
    [400, "json_error"],
    [401, "unauthorized"],
    [403, "forbidden"],
    [404, "not_found"],
    [405, "method_not_allowed"],
    [409, "conflict"],
    [410, "deprecated_api_endpoint"],
    [412, "resource_unavailable"],
    [422, "invalid_input"],
    [423, "locked"],
    [429, "rate_limit_exceeded"],
    [500, "server_error"],
    [502, "bad_gateway"],
    [503, "unavailable"],
    [504, "timeout"],
  ])("of %i means %s unless it says otherwise", async (status, code) => {
    const { sim, send } = startSimulator();
    sim.fault({ status });
    sim.fault({ status, code: "token_readonly" });
    expect(await send("GET", "/v1/servers")).toMatchObject({ status, body: { error: { code } } });
    expect(await send("GET", "/v1/servers")).toMatchObject({ status, body: { error: { code: "token_readonly" } } });
  });

  it("is gone when faults are cleared", async () => {
    const { sim, send } = startSimulator();
    sim.fault({ status: 500 });
    sim.clearFaults();
    expect(await send("GET", "/v1/servers")).toMatchObject({ status: 200 });
  });
});

describe("a dropped connection", () => {
  it("looks like workerd's", async () => {
    const { sim, send } = startSimulator();
    sim.fault({ drop: "before" });
    const error: unknown = await send("GET", "/v1/servers").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionDropped);
    expect(error).toMatchObject({ name: "Error", message: "Network connection lost.", remote: true, retryable: true });
    expect(Object.keys(error ?? {})).toEqual(["remote", "retryable"]);
  });

  it.each([
    ["before", 0],
    ["after", 1],
  ] as const)("%s the request took effect leaves %i servers", async (drop, count) => {
    const { sim, create } = startSimulator();
    sim.fault({ method: "POST", drop });
    await expect(create({})).rejects.toThrow(ConnectionDropped);
    expect(sim.state().servers).toHaveLength(count);
    expect(sim.requests()).toEqual([{ method: "POST", path: "/v1/servers", query: "", status: 0 }]);
  });
});

describe("a dropped deletion", () => {
  it.each([
    ["before", 200],
    ["after", 404],
  ] as const)("%s it took effect leaves a server that answers %i", async (drop, status) => {
    const { sim, send } = startSimulator();
    sim.addServer({ id: 7 });
    sim.fault({ method: "DELETE", drop });
    await expect(send("DELETE", "/v1/servers/7")).rejects.toThrow(ConnectionDropped);
    expect(await send("GET", "/v1/servers/7")).toMatchObject({ status });
  });
});

describe("a delay", () => {
  it("holds back an answer whose effect has taken place", async () => {
    const { sim, create } = startSimulator();
    sim.fault({ delay_ms: 1 });
    const answer = create({});
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(sim.state().servers).toHaveLength(1);
    expect(await answer).toMatchObject({ status: 201 });
  });

  it("ends when the caller gives up", async () => {
    const { sim } = startSimulator();
    sim.fault({ delay_ms: 3_600_000 });
    const controller = new AbortController();
    const request = new Request("http://simulator/v1/servers", { signal: controller.signal });
    const answer = sim.fetch(request);
    controller.abort(new Error("too slow"));
    await expect(answer).rejects.toThrow("too slow");
  });

  it("adds to a fault behind it", async () => {
    const { sim, create } = startSimulator();
    sim.fault({ delay_ms: 1 });
    sim.fault({ drop: "after" });
    await expect(create({})).rejects.toThrow(ConnectionDropped);
    expect(sim.state().servers).toHaveLength(1);
  });
});

describe("hiding from lists", () => {
  it("keeps a created server out of lists and names, not out of look-ups by id", async () => {
    const { sim, create, send, names } = startSimulator();
    sim.fault({ method: "POST", hide_from_list_seconds: 5 });
    await create({});
    expect(await names("/v1/servers")).toEqual([]);
    expect(await names("/v1/servers?name=a")).toEqual([]);
    expect(await send("GET", "/v1/servers/101")).toMatchObject({ status: 200 });
    expect(await create({})).toMatchObject({ status: 409 });
    sim.advance(5);
    expect(await names("/v1/servers")).toEqual(["a"]);
  });

  it("on a list request leaves out what is younger", async () => {
    const { sim, create, names } = startSimulator();
    await create({ name: "old" });
    sim.advance(10);
    await create({ name: "young" });
    sim.fault({ method: "GET", hide_from_list_seconds: 5 });
    expect(await names("/v1/servers")).toEqual(["old"]);
    expect(await names("/v1/servers")).toEqual(["old", "young"]);
  });
});

describe("a failing action", () => {
  it("of a create leaves a server that is off", async () => {
    const { sim, create } = startSimulator();
    sim.fault({ method: "POST", action_error: true });
    await create({});
    expect(sim.state().actions).toMatchObject([{ status: "running", error: null }, { status: "running" }]);
    sim.advance(2);
    const failed = { status: "error", error: { code: "action_failed", message: "Action failed" } };
    expect(sim.state()).toMatchObject({ servers: [{ status: "off" }], actions: [failed, failed] });
  });

  it("can be the start alone", async () => {
    const { sim, create } = startSimulator();
    sim.fault({ action_error: { command: "start_server", code: "no_host" } });
    await create({});
    sim.advance(2);
    expect(sim.state()).toMatchObject({
      servers: [{ status: "off" }],
      actions: [{ status: "success" }, { status: "error", error: { code: "no_host" } }],
    });
  });

  it("of a power action brings the old status back", async () => {
    const { sim, running, send } = startSimulator();
    await running();
    sim.fault({ action_error: "stuck" });
    await send("POST", "/v1/servers/101/actions/poweroff");
    sim.advance(1);
    expect(sim.state().servers).toMatchObject([{ status: "running" }]);
  });

  it("of a deletion leaves the server where it is", async () => {
    const { sim, running, send, names } = startSimulator();
    await running();
    sim.fault({ action_error: "stuck" });
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 200 });
    sim.advance(1);
    expect(await names("/v1/servers")).toEqual(["a"]);
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 200 });
  });
});
