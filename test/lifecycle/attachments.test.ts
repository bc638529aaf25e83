import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, minutes, OURS, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const MORE = { ssh_keys: [KEY_A], firewalls: [{ rules: [SSH] }], networks: [{ ip_range: "10.0.0.0/16" }] };
const put = (mayfly: Mayfly, body: object, name = "box", token?: string) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...body }, token);
const held = (mayfly: Mayfly) => {
  const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
  return [firewalls.length, networks.length, ssh_keys.length];
};

describe("what is made with a machine", () => {
  it("is there from the create call on, labelled as the machine's owner's, and dies with the machine", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const created = await put(mayfly, { ...MORE, ttl: "10m" }, "box", alice);
    expect(created.status).toBe(201);
    const id = Number(machineIn(created).provider_id);
    await minutes(mayfly, 1);
    const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
    expect(firewalls).toMatchObject([
      { applied_to: [{ server: { id } }], labels: { ...OURS, "mayfly-owner": "tok.alice" } },
    ]);
    expect(networks).toMatchObject([{ servers: [id], labels: { ...OURS, "mayfly-owner": "tok.alice" } }]);
    expect(ssh_keys).toMatchObject([{ public_key: KEY_A, labels: { ...OURS, "mayfly-owner": "tok.alice" } }]);
    await minutes(mayfly, 8);
    expect(held(mayfly)).toEqual([1, 1, 1]);
    await minutes(mayfly, 4);
    expect([servers(mayfly), ...held(mayfly)]).toEqual([[], 0, 0, 0]);
  });

  it("is made once under a create that is repeated after a lost answer", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await put(mayfly, MORE)).status).toBe(503);
    expect((await put(mayfly, MORE)).status).toBe(200);
    expect([servers(mayfly).length, ...held(mayfly)]).toEqual([1, 1, 1, 1]);
  });

  it("goes where the machine never comes: a refusal leaves nothing", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.stock({ server_type: "cx23", location: "fsn1", orderable: false });
    expect(await put(mayfly, MORE)).toMatchObject({ status: 503, body: { code: "capacity" } });
    await minutes(mayfly, 3);
    expect(held(mayfly)).toEqual([0, 0, 0]);
  });

  it("that cannot be made keeps the machine from being made: none without its firewall", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", status: 503, times: 2 });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/firewalls", status: 503, times: 2 });
    expect(await put(mayfly, MORE)).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect(servers(mayfly)).toEqual([]);
    mayfly.simulator.clearFaults();
    expect((await put(mayfly, MORE)).status).toBe(201);
    await minutes(mayfly, 4);
    expect([servers(mayfly).length, ...held(mayfly)]).toEqual([1, 1, 1, 1]);
  });

  it("counts as part of the spec: other rules are another machine, and a body without any is what it was", async () => {
    const mayfly = createMayfly();
    await put(mayfly, MORE);
    expect((await put(mayfly, MORE)).status).toBe(200);
    expect((await put(mayfly, { ...MORE, ssh_keys: [KEY_B] })).status).toBe(409);
    expect((await put(mayfly, {})).status).toBe(409);
    await put(mayfly, {}, "plain");
    expect((await put(mayfly, { ssh_keys: [], networks: [] }, "plain")).status).toBe(200);
  });

  it("S100: of one key for two machines is one key, which stays as long as either lives", async () => {
    const mayfly = createMayfly();
    await put(mayfly, { ssh_keys: [KEY_A], ttl: "5m" });
    await put(mayfly, { ssh_keys: [`${KEY_A} again`, KEY_A], ttl: "20m" }, "other");
    expect(servers(mayfly)).toHaveLength(2);
    expect(held(mayfly)).toEqual([0, 0, 1]);
    await minutes(mayfly, 15);
    expect([servers(mayfly).length, ...held(mayfly)]).toEqual([1, 0, 0, 1]);
    await minutes(mayfly, 9);
    expect([servers(mayfly), ...held(mayfly)]).toEqual([[], 0, 0, 0]);
  });

  it("S120: a firewall of allowing rules for what comes in names nothing that goes out, which stays open", async () => {
    const mayfly = createMayfly();
    await put(mayfly, { firewalls: [{ rules: [SSH] }] });
    expect(mayfly.simulator.state().firewalls).toMatchObject([
      { rules: [{ direction: "in", port: "22", source_ips: ["0.0.0.0/0", "::/0"], destination_ips: [] }] },
    ]);
    await put(mayfly, {}, "open");
    expect(servers(mayfly).at(-1)?.public_net.firewalls).toEqual([]);
  });

  it("is not what PROVIDER=memory has, and says so by name", async () => {
    const mayfly = createMayfly({ PROVIDER: "memory" });
    const body = { server_type: "small", region: "here", ...MORE };
    expect(await mayfly.send("PUT", "/v1/machines/box", body)).toMatchObject({
      status: 422,
      body: { code: "invalid_input" },
    });
    expect(
      (await mayfly.send("POST", "/v1/networks", { name: "a", ip_range: "10.0.0.0/16", region: "here" })).status,
    ).toBe(422);
  });
});

it("S143: private machines reach the world through a gateway machine: network, gateway, node, default route", async () => {
  const mayfly = createMayfly();
  const forwarding = "#cloud-config\nruncmd:\n  - sysctl -w net.ipv4.ip_forward=1\n";
  await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1", ttl: "2h" });
  await put(mayfly, { networks: ["lab"], cloud_init: forwarding, ssh_keys: [KEY_A] }, "gateway");
  await put(mayfly, { networks: ["lab"], enable_ipv4: false, enable_ipv6: false, ssh_keys: [KEY_A] }, "node");
  await minutes(mayfly, 1);
  const [gateway, node] = [
    machineIn(await mayfly.send("GET", "/v1/machines/gateway")),
    machineIn(await mayfly.send("GET", "/v1/machines/node")),
  ];
  expect([gateway.status, node.status]).toEqual(["running", "running"]);
  expect([node.public_ipv4, node.public_ipv6]).toEqual(["", ""]);
  expect(gateway.public_ipv4).not.toBe("");
  for (const { private_ipv4 } of [gateway, node]) expect(private_ipv4).toMatch(/^10\.0\./);
  const route = { destination: "0.0.0.0/0", gateway: gateway.private_ipv4 };
  expect((await mayfly.send("POST", "/v1/networks/lab/add_route", route)).status).toBe(200);
  await minutes(mayfly, 1);
  expect(mayfly.simulator.state().networks).toMatchObject([
    { servers: [Number(gateway.provider_id), Number(node.provider_id)], routes: [route] },
  ]);
});
