import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIRST_ID = 40_001;
const PATH = `/v1/networks/${FIRST_ID}`;
const SUBNET = { type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" };

function startWithNetworks() {
  const started = startSimulator();
  const make = (more: object = {}) =>
    started.send("POST", "/v1/networks", { name: "net", ip_range: "10.0.0.0/16", ...more });
  const act = (command: string, body: object) => started.send("POST", `${PATH}/actions/${command}`, body);
  /** Waits until the action has ended. */
  const done = async (command: string, body: object): Promise<number> => {
    const { status } = await act(command, body);
    started.sim.advance(1);
    return status;
  };
  return { ...started, make, act, done };
}

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });
const refusedField = (name: string) => ({
  status: 422,
  body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
});

describe("POST /networks", () => {
  it("answers the network with its subnets, whose gateway is the network's first address, and its routes", async () => {
    const { make } = startWithNetworks();
    const routes = [{ destination: "10.100.1.0/24", gateway: "10.0.1.1" }];
    expect(await make({ subnets: [SUBNET], routes, labels: { env: "ci" } })).toMatchObject({
      status: 201,
      body: {
        network: {
          id: FIRST_ID,
          name: "net",
          ip_range: "10.0.0.0/16",
          subnets: [{ ...SUBNET, gateway: "10.0.0.1" }],
          routes,
          servers: [],
          load_balancers: [],
          protection: { delete: false },
          labels: { env: "ci" },
          created: "2026-11-15T12:00:00+00:00",
          expose_routes_to_vswitch: false,
        },
      },
    });
  });

  it("makes two networks of one range, but not of one name: 409 uniqueness_error", async () => {
    const { sim, make } = startWithNetworks();
    await make();
    expect(await make()).toMatchObject({
      status: 409,
      body: { error: { code: "uniqueness_error", message: "name is already used" } },
    });
    expect(await make({ name: "other" })).toMatchObject({ status: 201 });
    expect(sim.state().networks.map(({ id }) => id)).toEqual([FIRST_ID, FIRST_ID + 1]);
  });

  it.each(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "192.168.5.0/24"])("takes %s", async (ip_range) => {
    const { make } = startWithNetworks();
    expect(await make({ ip_range })).toMatchObject({ status: 201 });
  });

  it.each([
    ["no range", { ip_range: undefined }, "ip_range"],
    ["a public range", { ip_range: "8.8.0.0/16" }, "ip_range"],
    ["a range that is private in part", { ip_range: "172.0.0.0/8" }, "ip_range"],
    ["a /25", { ip_range: "10.0.0.0/25" }, "ip_range"],
    ["a range with host bits", { ip_range: "10.0.0.1/16" }, "ip_range"],
    ["an IPv6 range", { ip_range: "fd00::/16" }, "ip_range"],
    ["words", { ip_range: "wide" }, "ip_range"],
    ["an empty name", { name: "" }, "name"],
    ["a name of 129 characters", { name: "n".repeat(129) }, "name"],
    ["a subnet elsewhere", { subnets: [{ ...SUBNET, ip_range: "10.1.0.0/24" }] }, "subnets.0.ip_range"],
    ["two subnets in one place", { subnets: [SUBNET, SUBNET] }, "subnets.1.ip_range"],
    ["a bad route", { routes: [{ destination: "8.8.8.0/24", gateway: "10.0.1.1" }] }, "routes.0.destination"],
  ])("refuses %s", async (_what, change, name) => {
    const { sim, make } = startWithNetworks();
    expect(await make(change)).toMatchObject(refusedField(name));
    expect(sim.state().networks).toEqual([]);
  });
});

describe("GET /networks", () => {
  it.each([
    ["", ["b", "a"]],
    ["?name=a", ["a"]],
    ["?label_selector=env", ["b"]],
    ["?sort=name", ["a", "b"]],
    ["?sort=created:desc", ["a", "b"]],
    ["?per_page=1&page=2", ["a"]],
  ])("%s", async (query, expected) => {
    const { sim, make, names } = startWithNetworks();
    await make({ name: "b", labels: { env: "ci" } });
    sim.advance(1);
    await make({ name: "a" });
    expect(await names(`/v1/networks${query}`)).toEqual(expected);
  });
});

describe("one network", () => {
  it("is renamed and relabelled; its labels are replaced as a whole", async () => {
    const { make, send } = startWithNetworks();
    await make({ labels: { env: "ci" } });
    const { body } = await send("PUT", PATH, { name: "lan", labels: { run: "7" }, expose_routes_to_vswitch: true });
    expect(body).toMatchObject({ network: { name: "lan", expose_routes_to_vswitch: true } });
    expect(body).toHaveProperty("network.labels", { run: "7" });
    await make({ name: "taken" });
    expect(await send("PUT", PATH, { name: "taken" })).toMatchObject(refusal(409, "uniqueness_error"));
    expect(await send("PUT", PATH, { name: "lan" })).toMatchObject({ status: 200 });
  });

  it("is deleted with 204, unless it is protected; its id is not used again", async () => {
    const { sim, make, send, done } = startWithNetworks();
    await make();
    await done("change_protection", { delete: true });
    expect(await send("DELETE", PATH)).toMatchObject(refusal(423, "protected"));
    await done("change_protection", { delete: false });
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
    expect(await send("DELETE", PATH)).toMatchObject({
      status: 404,
      body: { error: { message: "network not found" } },
    });
    sim.reset();
    expect((await make()).body).toMatchObject({ network: { id: FIRST_ID + 1 } });
  });

  it("takes one change at a time: 409 conflict, for its update and its deletion too", async () => {
    const { sim, make, send, act } = startWithNetworks();
    await make();
    expect(await act("add_subnet", SUBNET)).toMatchObject({
      status: 201,
      body: { action: { command: "add_subnet", status: "running", resources: [{ id: FIRST_ID, type: "network" }] } },
    });
    expect(sim.state().networks).toMatchObject([{ subnets: [] }]);
    const route = { destination: "10.100.1.0/24", gateway: "10.0.1.1" };
    expect(await act("add_route", route)).toMatchObject(refusal(409, "conflict"));
    expect(await send("PUT", PATH, { name: "lan" })).toMatchObject(refusal(409, "conflict"));
    expect(await send("DELETE", PATH)).toMatchObject(refusal(409, "conflict"));
    sim.advance(0.3);
    expect(sim.state().networks).toMatchObject([{ subnets: [SUBNET] }]);
    expect(await act("add_route", route)).toMatchObject({ status: 201 });
  });

  it("is as it was when a change fails", async () => {
    const { sim, make, done } = startWithNetworks();
    await make();
    sim.fault({ action_error: "stuck" });
    expect(await done("add_subnet", SUBNET)).toBe(201);
    expect(sim.state()).toMatchObject({ networks: [{ subnets: [] }], actions: [{ status: "error" }] });
  });

  it("shows its actions below it and among those of all networks", async () => {
    const { make, send, done } = startWithNetworks();
    await make();
    await done("add_subnet", SUBNET);
    for (const path of [`${PATH}/actions`, "/v1/networks/actions"])
      expect((await send("GET", path)).body).toMatchObject({ actions: [{ command: "add_subnet", status: "success" }] });
    for (const path of [`${PATH}/actions/500001`, "/v1/networks/actions/500001"])
      expect((await send("GET", path)).body).toMatchObject({ action: { command: "add_subnet" } });
  });
});

describe("subnets", () => {
  it("take the first free /24 when none is named", async () => {
    const { sim, make, done } = startWithNetworks();
    await make({ subnets: [{ ...SUBNET, ip_range: "10.0.0.0/30" }], routes: [] });
    await done("add_route", { destination: "10.0.1.0/24", gateway: "10.0.0.2" });
    await done("add_subnet", { type: "server", network_zone: "us-east" });
    expect(sim.state().networks).toMatchObject([{ subnets: [{}, { type: "server", ip_range: "10.0.2.0/24" }] }]);
  });

  it("run out", async () => {
    const { make, act } = startWithNetworks();
    await make({ ip_range: "10.0.0.0/24", subnets: [{ ...SUBNET, ip_range: "10.0.0.0/24" }] });
    expect(await act("add_subnet", { type: "cloud", network_zone: "eu-central" })).toMatchObject(
      refusedField("ip_range"),
    );
  });

  it.each([
    ["elsewhere", { ip_range: "10.1.0.0/24" }, "ip_range"],
    ["larger than the network", { ip_range: "10.0.0.0/15" }, "ip_range"],
    ["a /31", { ip_range: "10.0.2.0/31" }, "ip_range"],
    ["on another one", { ip_range: "10.0.1.128/25" }, "ip_range"],
    ["on a route", { ip_range: "10.0.3.0/24" }, "ip_range"],
    ["that are none", { ip_range: 5 }, "ip_range"],
    ["in no zone", { network_zone: "eu-west" }, "network_zone"],
    ["of an unknown type", { type: "lan" }, "type"],
    ["without a type", { type: undefined }, "type"],
  ])("are refused %s", async (_what, change, name) => {
    const { make, act } = startWithNetworks();
    await make({ subnets: [SUBNET], routes: [{ destination: "10.0.3.0/24", gateway: "10.0.1.1" }] });
    expect(await act("add_subnet", { ...SUBNET, ip_range: "10.0.2.0/24", ...change })).toMatchObject(
      refusedField(name),
    );
  });

  it("of a vSwitch need one, and there is none", async () => {
    const { make, act } = startWithNetworks();
    await make();
    expect(await act("add_subnet", { ...SUBNET, type: "vswitch", vswitch_id: 1 })).toMatchObject({ status: 404 });
  });

  it("are deleted by their range, unless a server is in them", async () => {
    const { sim, make, act, done, send } = startWithNetworks();
    await make({ subnets: [SUBNET] });
    const { id } = sim.addServer({});
    await send("POST", `/v1/servers/${id}/actions/attach_to_network`, { network: FIRST_ID });
    sim.advance(1);
    expect(await act("delete_subnet", { ip_range: "10.0.1.0/24" })).toMatchObject(refusal(422, "service_error"));
    await send("POST", `/v1/servers/${id}/actions/detach_from_network`, { network: FIRST_ID });
    sim.advance(1);
    expect(await done("delete_subnet", { ip_range: "10.0.1.0/24" })).toBe(201);
    expect(sim.state().networks).toMatchObject([{ subnets: [] }]);
    expect(await act("delete_subnet", { ip_range: "10.0.1.0/24" })).toMatchObject(refusal(404, "not_found"));
  });
});

describe("routes", () => {
  it.each(["10.100.1.0/24", "192.168.0.0/16", "0.0.0.0/0"])("lead to %s", async (destination) => {
    const { sim, make, done } = startWithNetworks();
    await make({ subnets: [SUBNET] });
    const route = { destination, gateway: "10.0.1.1" };
    expect(await done("add_route", route)).toBe(201);
    expect(sim.state().networks).toMatchObject([{ routes: [route] }]);
    expect(await done("delete_route", route)).toBe(201);
    expect(sim.state().networks).toMatchObject([{ routes: [] }]);
    expect(await done("delete_route", route)).toBe(404);
  });

  it.each([
    ["to a public range", { destination: "8.8.8.0/24" }, "destination"],
    ["into a subnet", { destination: "10.0.1.128/25" }, "destination"],
    ["to where another one leads", { destination: "10.100.0.0/16" }, "destination"],
    ["to where the very same one leads", { destination: "10.100.1.0/24" }, "destination"],
    ["over 172.31.1.1", { destination: "172.31.1.0/24" }, "destination"],
    ["to what is no range", { destination: "home" }, "destination"],
    ["through the network's first address", { gateway: "10.0.0.1" }, "gateway"],
    ["through the outside", { gateway: "10.1.0.1" }, "gateway"],
    ["through no address", { gateway: "gate" }, "gateway"],
    ["through nothing", { gateway: undefined }, "gateway"],
  ])("are refused %s", async (_what, change, name) => {
    const { make, act } = startWithNetworks();
    await make({ subnets: [SUBNET], routes: [{ destination: "10.100.1.0/24", gateway: "10.0.1.1" }] });
    const route = { destination: "10.200.0.0/16", gateway: "10.0.1.1", ...change };
    expect(await act("add_route", route)).toMatchObject(refusedField(name));
  });

  it("never lead through 172.31.1.1", async () => {
    const { make, act } = startWithNetworks();
    await make({ ip_range: "172.16.0.0/12" });
    expect(await act("add_route", { destination: "10.0.0.0/8", gateway: "172.31.1.1" })).toMatchObject(
      refusedField("gateway"),
    );
  });
});

describe("change_ip_range", () => {
  it("extends the range at its end", async () => {
    const { sim, make, done } = startWithNetworks();
    await make();
    expect(await done("change_ip_range", { ip_range: "10.0.0.0/12" })).toBe(201);
    expect(sim.state().networks).toMatchObject([{ ip_range: "10.0.0.0/12" }]);
  });

  it.each(["10.0.0.0/17", "10.1.0.0/16", "172.16.0.0/12", "10.0.0.0/7", "words"])("refuses %s", async (ip_range) => {
    const { make, act } = startWithNetworks();
    await make();
    expect(await act("change_ip_range", { ip_range })).toMatchObject(refusedField("ip_range"));
  });
});
