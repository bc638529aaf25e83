import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIRST_ID = 40_001;
const PATH = `/v1/networks/${FIRST_ID}`;
const SUBNET = { type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" };

/** A network with a subnet and a running server in the subnet's zone. */
async function startWithBoth(more: object = {}) {
  const started = startSimulator();
  const { sim, send } = started;
  const makeNetwork = (body: object) =>
    send("POST", "/v1/networks", { name: "net", ip_range: "10.0.0.0/16", subnets: [SUBNET], ...body });
  await makeNetwork(more);
  const { id } = sim.addServer({ name: "a" });
  const act = (command: string, body: object, server = id) =>
    send("POST", `/v1/servers/${server}/actions/${command}`, { network: FIRST_ID, ...body });
  return {
    ...started,
    id,
    makeNetwork,
    attach: (body: object = {}, server = id) => act("attach_to_network", body, server),
    detach: (body: object = {}) => act("detach_from_network", body),
    privateNet: () => sim.state().servers.map(({ private_net }) => private_net),
  };
}

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });

describe("attach_to_network", () => {
  it("gives the server an interface when the action has succeeded, not before", async () => {
    const { sim, id, attach, privateNet } = await startWithBoth();
    expect(await attach()).toMatchObject({
      status: 201,
      body: {
        action: {
          command: "attach_to_network",
          status: "running",
          resources: [
            { id, type: "server" },
            { id: FIRST_ID, type: "network" },
          ],
        },
      },
    });
    expect([privateNet(), sim.state().networks[0]?.servers]).toEqual([[[]], []]);
    sim.advance(0.3);
    expect(privateNet()).toEqual([
      [{ network: FIRST_ID, ip: "10.0.1.1", alias_ips: [], mac_address: "86:00:41:00:01:01" }],
    ]);
    expect(sim.state().networks[0]?.servers).toEqual([id]);
  });

  it("gives each server an address of its own, and never the network's first two or a subnet's last", async () => {
    const { sim, attach, privateNet } = await startWithBoth({ subnets: [{ ...SUBNET, ip_range: "10.0.0.0/29" }] });
    const others = ["b", "c", "d", "e", "f"].map((name) => sim.addServer({ name }).id);
    await attach();
    sim.advance(1);
    const answers = [];
    for (const server of others) {
      answers.push(await attach({}, server));
      sim.advance(1);
    }
    expect(privateNet().flat()).toMatchObject(["2", "3", "4", "5", "6"].map((end) => ({ ip: `10.0.0.${end}` })));
    expect(answers.at(-1)).toMatchObject(refusal(422, "no_subnet_available"));
  });

  it("takes an address, further ones and a subnet that are asked for", async () => {
    const second = { ...SUBNET, ip_range: "10.0.2.0/24" };
    const { sim, attach, detach, privateNet } = await startWithBoth({ subnets: [SUBNET, second] });
    await attach({ ip: "10.0.2.7", alias_ips: ["10.0.2.8"] });
    sim.advance(1);
    expect(privateNet()).toMatchObject([[{ ip: "10.0.2.7", alias_ips: ["10.0.2.8"] }]]);
    await detach();
    sim.advance(1);
    await attach({ ip_range: "10.0.2.0/24" });
    sim.advance(1);
    expect(privateNet()).toMatchObject([[{ ip: "10.0.2.1" }]]);
  });

  it.each(["10.0.1.0", "10.0.1.255", "10.0.0.1", "10.0.9.9", "10.0.1.5"])("refuses the address %s", async (ip) => {
    const { sim, attach } = await startWithBoth();
    const other = sim.addServer({ name: "b" });
    await attach({ ip: "10.0.1.4", alias_ips: ["10.0.1.5"] }, other.id);
    sim.advance(1);
    expect(await attach({ ip })).toMatchObject(refusal(422, "ip_not_available"));
    expect(await attach({ alias_ips: [ip] })).toMatchObject(refusal(422, "ip_not_available"));
  });

  it("does not give out 172.31.1.1", async () => {
    const subnets = [{ ...SUBNET, ip_range: "172.31.1.0/24" }];
    const { attach } = await startWithBoth({ ip_range: "172.16.0.0/12", subnets });
    expect(await attach({ ip: "172.31.1.1" })).toMatchObject(refusal(422, "ip_not_available"));
  });

  it.each([
    ["no network", { network: undefined }, "network"],
    ["a network by name", { network: "net" }, "network"],
    ["an address that is none", { ip: "here" }, "ip"],
    ["further addresses that are none", { alias_ips: ["here"] }, "alias_ips"],
    ["an address outside of the subnet asked for", { ip: "10.0.2.1", ip_range: "10.0.1.0/24" }, "ip"],
  ])("refuses %s", async (_what, body, name) => {
    const { attach } = await startWithBoth();
    expect(await attach(body)).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
    });
  });

  it("finds no subnet where none is in the server's zone, or none with that range", async () => {
    const { sim, attach } = await startWithBoth();
    const away = sim.addServer({ name: "b", location: "ash" });
    expect(await attach({}, away.id)).toMatchObject(refusal(422, "no_subnet_available"));
    expect(await attach({ ip_range: "10.0.7.0/24" })).toMatchObject(refusal(422, "no_subnet_available"));
  });

  it("refuses a server that is attached already", async () => {
    const { sim, attach } = await startWithBoth();
    await attach();
    sim.advance(1);
    expect(await attach()).toMatchObject(refusal(422, "server_already_attached"));
  });

  it("refuses a network whose range overlaps with another one of the server", async () => {
    const { sim, makeNetwork, attach } = await startWithBoth();
    await makeNetwork({ name: "wider", ip_range: "10.0.0.0/8" });
    await makeNetwork({
      name: "apart",
      ip_range: "192.168.0.0/16",
      subnets: [{ ...SUBNET, ip_range: "192.168.1.0/24" }],
    });
    await attach();
    sim.advance(1);
    expect(await attach({ network: FIRST_ID + 1 })).toMatchObject(refusal(422, "networks_overlap"));
    expect(await attach({ network: FIRST_ID + 2 })).toMatchObject({ status: 201 });
  });

  it("does not know a network that is not there", async () => {
    const { attach } = await startWithBoth();
    expect(await attach({ network: 1 })).toMatchObject({
      status: 404,
      body: { error: { message: "network not found" } },
    });
  });

  it("is 423 while the server is busy, and 409 while the network is being changed", async () => {
    const { sim, send, attach } = await startWithBoth();
    const other = sim.addServer({ name: "b" });
    await attach();
    expect(await attach()).toMatchObject(refusal(423, "locked"));
    expect(await attach({}, other.id)).toMatchObject(refusal(409, "conflict"));
    expect(await send("POST", `${PATH}/actions/delete_subnet`, { ip_range: "10.0.1.0/24" })).toMatchObject(
      refusal(409, "conflict"),
    );
    sim.advance(0.3);
    expect(await attach({}, other.id)).toMatchObject({ status: 201 });
  });

  it("leaves nothing behind when it fails", async () => {
    const { sim, attach, privateNet } = await startWithBoth();
    sim.fault({ action_error: "stuck" });
    await attach({ ip: "10.0.1.7" });
    sim.advance(1);
    expect(privateNet()).toEqual([[]]);
    expect(await attach({ ip: "10.0.1.7" })).toMatchObject({ status: 201 });
  });
});

describe("detach_from_network", () => {
  it("takes the interface away when the action has succeeded, and frees the address", async () => {
    const { sim, attach, detach, privateNet } = await startWithBoth();
    await attach();
    sim.advance(1);
    expect(await detach()).toMatchObject({ status: 201, body: { action: { command: "detach_from_network" } } });
    expect(privateNet()).toMatchObject([[{ ip: "10.0.1.1" }]]);
    sim.advance(0.3);
    expect([privateNet(), sim.state().networks[0]?.servers]).toEqual([[[]], []]);
    expect(await attach({ ip: "10.0.1.1" })).toMatchObject({ status: 201 });
  });

  it("is 404 where the server is not attached, and leaves it attached when it fails", async () => {
    const { sim, attach, detach, privateNet } = await startWithBoth();
    expect(await detach()).toMatchObject(refusal(404, "not_found"));
    await attach();
    sim.advance(1);
    sim.fault({ action_error: "stuck" });
    await detach();
    sim.advance(1);
    expect(privateNet()).toMatchObject([[{}]]);
  });
});

describe("a server with networks", () => {
  it("is made with them: its interface is there when it is", async () => {
    const { sim, create } = await startWithBoth();
    expect(await create({ name: "b", networks: [FIRST_ID] })).toMatchObject({
      status: 201,
      body: {
        server: { private_net: [] },
        next_actions: [{ command: "attach_to_network" }, { command: "start_server" }],
      },
    });
    sim.advance(1);
    expect(sim.state().servers[1]?.private_net).toMatchObject([{ network: FIRST_ID, ip: "10.0.1.1" }]);
  });

  it("needs no public interface to be started", async () => {
    const { sim, create } = await startWithBoth();
    const public_net = { enable_ipv4: false, enable_ipv6: false };
    expect(await create({ name: "b", networks: [FIRST_ID], public_net })).toMatchObject({ status: 201 });
    sim.advance(2);
    expect(sim.state().servers[1]?.status).toBe("running");
  });

  it("is refused before there is a subnet in its zone", async () => {
    const { sim, create } = await startWithBoth({ subnets: [{ ...SUBNET, network_zone: "us-east" }] });
    expect(await create({ name: "b", networks: [FIRST_ID] })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", message: "no free IP available or in different network zone" } },
    });
    expect(sim.state().servers).toHaveLength(1);
  });

  it("is refused networks that overlap", async () => {
    const { create, makeNetwork } = await startWithBoth();
    await makeNetwork({ name: "alike" });
    expect(await create({ name: "b", networks: [FIRST_ID, FIRST_ID + 1] })).toMatchObject(
      refusal(422, "networks_overlap"),
    );
  });

  it("without any interface can be powered on once it is attached to one", async () => {
    const { sim, send, create, attach } = await startWithBoth();
    const public_net = { enable_ipv4: false, enable_ipv6: false };
    await create({ name: "b", public_net, start_after_create: false });
    sim.advance(2);
    const id = sim.state().servers[1]?.id;
    expect(await send("POST", `/v1/servers/${id}/actions/poweron`)).toMatchObject({ status: 422 });
    await attach({}, id);
    sim.advance(1);
    expect(await send("POST", `/v1/servers/${id}/actions/poweron`)).toMatchObject({ status: 201 });
  });

  it("leaves them when its deletion has ended, and when a network is deleted", async () => {
    const { sim, send, id, attach, privateNet } = await startWithBoth();
    await attach();
    sim.advance(1);
    await send("DELETE", `/v1/servers/${id}`);
    expect(sim.state().networks[0]?.servers).toEqual([id]);
    sim.advance(0.3);
    expect(sim.state().networks[0]?.servers).toEqual([]);
    const other = sim.addServer({ name: "b" });
    await attach({}, other.id);
    sim.advance(1);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
    expect(privateNet()).toEqual([[]]);
  });

  it("does not lose its create to an attachment that fails", async () => {
    const { sim, create } = await startWithBoth();
    sim.fault({ method: "POST", action_error: { command: "attach_to_network", code: "stuck" } });
    await create({ name: "b", networks: [FIRST_ID] });
    sim.advance(2);
    expect(sim.state().servers[1]).toMatchObject({ status: "running", private_net: [] });
    expect(sim.state().actions.map(({ status }) => status)).toEqual(["success", "error", "success"]);
  });
});

describe("GET /networks/{id}/members", () => {
  it("shows who is coming, there and going", async () => {
    const { sim, send, id, attach, detach } = await startWithBoth();
    const members = async (query = "") => (await send("GET", `${PATH}/members${query}`)).body;
    await attach();
    const member = { type: "server", id, ip: "10.0.1.1", alias_ips: [], subnet: "10.0.1.0/24" };
    expect(await members()).toMatchObject({ members: [{ ...member, status: "attaching" }] });
    sim.advance(0.3);
    expect(await members("?status=ok&type=server&subnet=10.0.1.0/24&sort=ip:desc")).toMatchObject({
      members: [{ ...member, status: "ok" }],
    });
    expect(await members("?type=load_balancer")).toMatchObject({ members: [] });
    expect(await members("?subnet=10.0.2.0/24")).toMatchObject({ members: [] });
    await detach();
    expect(await members()).toMatchObject({ members: [{ ...member, status: "detaching" }] });
  });
});
