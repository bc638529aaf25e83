import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const NOTHING = { enable_ipv4: false, enable_ipv6: false };

describe("a server's addresses", () => {
  it("are one IPv4 address and one IPv6 network of 64 bits", async () => {
    const { create } = startSimulator();
    expect((await create({})).body).toMatchObject({
      server: {
        public_net: {
          ipv4: {
            id: 70_001,
            ip: "203.0.113.1",
            blocked: false,
            dns_ptr: "static.1.113.0.203.clients.your-server.de",
          },
          ipv6: { id: 70_002, ip: "2001:db8:0:2::/64", blocked: false, dns_ptr: [] },
          floating_ips: [],
          firewalls: [],
        },
        private_net: [],
      },
    });
  });

  it("differ from server to server", async () => {
    const { sim, create } = startSimulator();
    for (let count = 0; count < 600; count += 1) sim.addServer({});
    await create({});
    const nets = sim.state().servers.map(({ public_net }) => public_net);
    expect(new Set(nets.map(({ ipv4 }) => ipv4?.ip)).size).toBe(601);
    expect(new Set(nets.map(({ ipv6 }) => ipv6?.ip)).size).toBe(601);
  });

  it.each([
    [{ enable_ipv4: false }, { ipv4: null, ipv6: { id: 70_001 } }],
    [{ enable_ipv6: false }, { ipv4: { id: 70_001 }, ipv6: null }],
    [
      { ipv4: null, ipv6: null },
      { ipv4: { id: 70_001 }, ipv6: { id: 70_002 } },
    ],
  ])("asked for with %j", async (public_net, expected) => {
    const { create } = startSimulator();
    expect(await create({ public_net })).toMatchObject({ status: 201, body: { server: { public_net: expected } } });
  });
});

describe("a server without any public net", () => {
  it("is made when it is not to be started, and has no Primary IPs", async () => {
    const { sim, create, send } = startSimulator();
    const { body } = await create({ public_net: NOTHING, start_after_create: false });
    expect(body).toMatchObject({ server: { public_net: { ipv4: null, ipv6: null } }, next_actions: [] });
    expect((await send("GET", "/v1/primary_ips")).body).toMatchObject({ primary_ips: [] });
    sim.advance(2);
    expect(sim.state().servers).toMatchObject([{ status: "off" }]);
  });

  it("is refused when it is to be started", async () => {
    const { sim, create } = startSimulator();
    expect(await create({ public_net: NOTHING })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name: "public_net" }] } } },
    });
    expect(sim.state().servers).toEqual([]);
  });

  it("cannot be powered on", async () => {
    const { sim, create, send } = startSimulator();
    await create({ public_net: NOTHING, start_after_create: false });
    sim.advance(2);
    expect(await send("POST", "/v1/servers/101/actions/poweron")).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input" } },
    });
    expect(sim.state().servers).toMatchObject([{ status: "off", locked: false }]);
  });
});

describe("Primary IPs", () => {
  it("come and go with their server", async () => {
    const { create, send } = startSimulator();
    await create({});
    const { body } = await send("GET", "/v1/primary_ips?sort=id:desc");
    expect(body).toMatchObject({
      primary_ips: [
        { id: 70_002, type: "ipv6", ip: "2001:db8:0:2::/64" },
        { id: 70_001, type: "ipv4", ip: "203.0.113.1", assignee_type: "server", assignee_id: 101, auto_delete: true },
      ],
    });
    expect((await send("GET", "/v1/primary_ips?ip=203.0.113.1")).body).toHaveProperty("primary_ips.length", 1);
    expect((await send("GET", "/v1/primary_ips?name=primary_ip-70002")).body).toMatchObject({
      primary_ips: [{ type: "ipv6" }],
    });
    expect(await send("GET", "/v1/primary_ips/70001")).toMatchObject({ status: 200 });
    await send("DELETE", "/v1/servers/101");
    expect(await send("GET", "/v1/primary_ips")).toMatchObject({ body: { primary_ips: [] } });
    expect(await send("GET", "/v1/primary_ips/70001")).toMatchObject({ status: 404 });
  });

  it("cannot be deleted while a server has them", async () => {
    const { create, send } = startSimulator();
    await create({});
    expect(await send("DELETE", "/v1/primary_ips/70001")).toMatchObject({
      status: 422,
      body: { error: { code: "must_be_unassigned" } },
    });
    expect(await send("DELETE", "/v1/primary_ips/1")).toMatchObject({ status: 404 });
  });

  it.each([
    ["that does not exist", { ipv4: 1 }, 404, "not_found"],
    ["of the wrong kind", { ipv4: 70_002 }, 412, "primary_ip_version_mismatch"],
    ["of another server", { ipv6: 70_002 }, 422, "primary_ip_assigned"],
  ])("%s are refused to a create", async (_what, public_net, status, code) => {
    const { sim, create } = startSimulator();
    await create({ name: "a" });
    expect(await create({ name: "b", public_net })).toMatchObject({ status, body: { error: { code } } });
    expect(sim.state().servers).toHaveLength(1);
  });
});
