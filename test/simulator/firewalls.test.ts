import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIRST_ID = 30_001;
const SSH = { direction: "in", protocol: "tcp", port: "22", source_ips: ["0.0.0.0/0", "::/0"] };
const PATH = `/v1/firewalls/${FIRST_ID}`;

const onServer = (id: number) => ({ type: "server", server: { id } });
const onSelector = (selector: string) => ({ type: "label_selector", label_selector: { selector } });

function startWithFirewall() {
  const started = startSimulator();
  const make = (name: string, more: object = {}) => started.send("POST", "/v1/firewalls", { name, ...more });
  return { ...started, make };
}

describe("POST /firewalls", () => {
  it("answers the firewall, whose rules have both lists of addresses and a port", async () => {
    const { make } = startWithFirewall();
    const rules = [
      SSH,
      { direction: "out", protocol: "icmp", destination_ips: ["10.0.0.0/8"], description: "ping" },
      { direction: "in", protocol: "udp", port: "1024-5000", source_ips: ["2001:db8:ff00:42::/64", "192.0.2.1/32"] },
    ];
    const { status, body } = await make("web", { rules, labels: { env: "ci" } });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      firewall: {
        id: FIRST_ID,
        name: "web",
        labels: { env: "ci" },
        created: "2026-11-15T12:00:00+00:00",
        rules: [
          { ...SSH, destination_ips: [], description: null },
          { source_ips: [], destination_ips: ["10.0.0.0/8"], port: null, description: "ping" },
          { port: "1024-5000" },
        ],
        applied_to: [],
      },
      actions: [{ command: "set_firewall_rules", status: "success" }],
    });
  });

  it("answers IPv6 ranges in their canonical form", async () => {
    const { make } = startWithFirewall();
    const given = ["AAAA::/16", "2001:0db8:9a3b:ee58:5ca:990c:8bc9:c03b/128", "2001:DB8:0:0:1:0:0:0/80", "0:0::/0"];
    const source_ips = ["aaaa::/16", "2001:db8:9a3b:ee58:5ca:990c:8bc9:c03b/128", "2001:db8:0:0:1::/80", "::/0"];
    const { body } = await make("web", { rules: [{ ...SSH, source_ips: given }] });
    expect(body).toMatchObject({ firewall: { rules: [{ source_ips }] } });
  });

  it("makes one without rules too", async () => {
    const { make } = startWithFirewall();
    expect(await make("web")).toMatchObject({ status: 201, body: { firewall: { rules: [] }, actions: [] } });
  });

  it("refuses a name that is taken", async () => {
    const { make } = startWithFirewall();
    await make("web");
    expect(await make("web")).toMatchObject({ status: 409, body: { error: { code: "uniqueness_error" } } });
  });

  it.each([
    ["no name", { name: undefined }, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a name of 129 characters", { name: "n".repeat(129) }, "name"],
    ["rules that are no list", { rules: SSH }, "rules"],
    ["51 rules", { rules: Array.from({ length: 51 }, () => SSH) }, "rules"],
    ["a target without a type", { apply_to: [{ server: { id: 1 } }] }, "apply_to"],
    ["a server by name", { apply_to: [{ type: "server", server: { id: "a" } }] }, "apply_to"],
    ["a bad selector", { apply_to: [onSelector("a b")] }, "label_selector"],
  ])("refuses %s", async (_what, change, name) => {
    const { sim, send } = startWithFirewall();
    expect(await send("POST", "/v1/firewalls", { name: "web", ...change })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
    });
    expect(sim.state().firewalls).toEqual([]);
  });

  it.each([
    ["an unknown direction", { direction: "inward" }],
    ["an unknown protocol", { protocol: "sctp" }],
    ["tcp without a port", { port: undefined }],
    ["icmp with a port", { protocol: "icmp" }],
    ["port 0", { port: "0" }],
    ["port 65536", { port: "65536" }],
    ["a port range that runs backwards", { port: "443-80" }],
    ["a port by name", { port: "ssh" }],
    ["a port that is a number", { port: 22 }],
    ["no source", { source_ips: [] }],
    ["a destination of an inbound rule", { destination_ips: ["10.0.0.0/8"] }],
    ["an outbound rule with a source", { direction: "out" }],
    ["a source without a prefix length", { source_ips: ["10.0.0.1"] }],
    ["a source with host bits", { source_ips: ["10.0.0.1/8"] }],
    ["an IPv6 source with host bits", { source_ips: ["2001:db8::1/64"] }],
    ["a source that is no address", { source_ips: ["10.0.0.256/32"] }],
    ["an IPv6 source with two gaps", { source_ips: ["2001::db8::/64"] }],
    ["101 sources", { source_ips: Array.from({ length: 101 }, (_, index) => `10.0.0.${index}/32`) }],
    ["a description of 256 characters", { description: "d".repeat(256) }],
  ])("refuses a rule with %s", async (_what, change) => {
    const { make } = startWithFirewall();
    expect(await make("web", { rules: [{ ...SSH, ...change }] })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name: "rules" }] } } },
    });
  });

  it("takes 50 rules with 100 sources each", async () => {
    const { make } = startWithFirewall();
    const source_ips = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}/32`);
    const rules = Array.from({ length: 50 }, () => ({ ...SSH, source_ips }));
    expect(await make("web", { rules })).toMatchObject({ status: 201 });
  });

  it("applies it to servers and selectors at once", async () => {
    const { sim, make, running, send } = startWithFirewall();
    const { id } = await running();
    const { body } = await make("web", { apply_to: [onServer(id), onSelector("env=ci")] });
    expect(body).toMatchObject({
      firewall: { applied_to: [onServer(id), { ...onSelector("env=ci"), applied_to_resources: [] }] },
      actions: [{ command: "apply_firewall" }, { command: "apply_firewall" }],
    });
    sim.advance(1);
    expect((await send("GET", `/v1/servers/${id}`)).body).toMatchObject({
      server: { public_net: { firewalls: [{ id: FIRST_ID, status: "applied" }] } },
    });
  });

  it("refuses servers that are not there, named twice or without a public interface", async () => {
    const { sim, make, running } = startWithFirewall();
    const { id } = await running();
    const bare = sim.addServer({ public_net: { ipv4: null, ipv6: null, floating_ips: [], firewalls: [] } });
    for (const [targets, code] of [
      [[1], "firewall_resource_not_found"],
      [[id, id], "server_already_added"],
      [[bare.id], "incompatible_network_type"],
    ] as const)
      expect(await make("web", { apply_to: targets.map(onServer) })).toMatchObject({
        status: 422,
        body: { error: { code } },
      });
    expect(sim.state().firewalls).toEqual([]);
  });
});

describe("GET /firewalls", () => {
  it.each([
    ["", ["b", "a"]],
    ["?name=a", ["a"]],
    ["?label_selector=env", ["b"]],
    ["?sort=name", ["a", "b"]],
    ["?sort=created:desc", ["a", "b"]],
    ["?per_page=1&page=2", ["a"]],
  ])("%s", async (query, expected) => {
    const { sim, make, names } = startWithFirewall();
    await make("b", { labels: { env: "ci" } });
    sim.advance(1);
    await make("a");
    expect(await names(`/v1/firewalls${query}`)).toEqual(expected);
  });
});

describe("one firewall", () => {
  it("is renamed and relabelled, but not to a name that is taken", async () => {
    const { make, send } = startWithFirewall();
    await make("web", { labels: { env: "ci" } });
    await make("db");
    expect(await send("PUT", PATH, { name: "db" })).toMatchObject({ status: 409 });
    const { body } = await send("PUT", PATH, { name: "www", labels: { run: "7" } });
    expect(body).toMatchObject({ firewall: { name: "www" } });
    expect(body).toHaveProperty("firewall.labels", { run: "7" });
  });

  it("is not changed while another change runs: 409 conflict", async () => {
    const { sim, make, send } = startWithFirewall();
    await make("web");
    await send("POST", `${PATH}/actions/set_rules`, { rules: [SSH] });
    const conflict = { status: 409, body: { error: { code: "conflict" } } };
    expect(await send("PUT", PATH, { name: "www" })).toMatchObject(conflict);
    expect(await send("POST", `${PATH}/actions/set_rules`, { rules: [] })).toMatchObject(conflict);
    expect(await send("DELETE", PATH)).toMatchObject(conflict);
    sim.advance(0.3);
    expect(await send("PUT", PATH, { name: "www" })).toMatchObject({ status: 200 });
  });

  it("is deleted with 204 and then unknown; its id is not used again", async () => {
    const { sim, make, send } = startWithFirewall();
    await make("web");
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
    expect(await send("DELETE", PATH)).toMatchObject({
      status: 404,
      body: { error: { message: "firewall not found" } },
    });
    sim.reset();
    expect((await make("web")).body).toMatchObject({ firewall: { id: FIRST_ID + 1 } });
  });
});
