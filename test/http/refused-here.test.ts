/** What a rule can tell of a body, nobody asks the provider for: it is refused by its field, and changes nothing. */
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, MINUTE, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const LAB = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" };

async function expectRefused(mayfly: Mayfly, call: [string, string, unknown], field: string, rule: string) {
  const before = mayfly.simulator.requests().length;
  const [method, path, body] = call;
  expect(await mayfly.send(method, path, body), JSON.stringify(body)).toMatchObject({
    status: 422,
    body: { code: "invalid_input", field, rule: expect.stringContaining(rule) as unknown },
  });
  expect(mayfly.simulator.requests()).toHaveLength(before);
}

it("a public key is taken with any white space between its parts and around it, alone and with a machine", async () => {
  const mayfly = createMayfly();
  const odd = ` \t${KEY_A.replace(" ", " \t ")}\t me@here \n`;
  const post = (public_key: string) => mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key });
  expect(await post(odd)).toMatchObject({ status: 201, body: { ssh_key: { public_key: KEY_A } } });
  expect((await post(KEY_A)).status).toBe(200);
  expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ssh_keys: [odd] })).status).toBe(201);
  expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ssh_keys: [KEY_A] })).status).toBe(200);
  const tabbed = KEY_A.replace(" ", "\t");
  expect((await mayfly.send("PUT", "/v1/machines/tab", { ...BODY, ssh_keys: [tabbed] })).status).toBe(201);
  expect(mayfly.simulator.state().ssh_keys).toHaveLength(1);
});

describe("a route", () => {
  it.each([
    ["a destination that is none", { destination: "everywhere", gateway: "10.0.0.2" }, "destination"],
    ["a public destination", { destination: "8.8.8.0/24", gateway: "10.0.0.2" }, "destination"],
    ["a destination with host bits", { destination: "10.1.0.1/16", gateway: "10.0.0.2" }, "destination"],
    ["a destination in the network itself", { destination: "10.0.7.0/24", gateway: "10.0.0.2" }, "destination"],
    ["a destination that the provider keeps", { destination: "172.31.0.0/16", gateway: "10.0.0.2" }, "destination"],
    ["a gateway that is no address", { destination: "0.0.0.0/0", gateway: "gw" }, "gateway"],
    ["a gateway outside of the network", { destination: "0.0.0.0/0", gateway: "10.1.0.2" }, "gateway"],
    ["a gateway that is the provider's own", { destination: "0.0.0.0/0", gateway: "10.0.0.1" }, "gateway"],
  ])("with %s", async (_, route, field) => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", LAB);
    await expectRefused(mayfly, ["POST", "/v1/networks/lab/add_route", route], field, "must");
    expect(mayfly.simulator.state().networks).toMatchObject([{ routes: [] }]);
  });
});

describe("networks of one machine", () => {
  it("whose ranges overlap, whether they are there or made with it", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", LAB);
    await mayfly.send("POST", "/v1/networks", { ...LAB, name: "wide", ip_range: "10.0.0.0/8" });
    const put = (...networks: unknown[]): [string, string, unknown] => [
      "PUT",
      "/v1/machines/box",
      { ...BODY, networks },
    ];
    await expectRefused(mayfly, put("lab", "wide"), "networks.1", "overlap with `networks.0`");
    await expectRefused(mayfly, put("lab", { ip_range: "10.0.4.0/24" }), "networks.1", "10.0.4.0/24 and 10.0.0.0/16");
    const twice = { ip_range: "192.168.0.0/24" };
    await expectRefused(mayfly, put("lab", twice, twice), "networks.2", "overlap with `networks.1`");
    // The same one twice is one.
    const [, path, body] = put("lab", "lab", twice);
    expect((await mayfly.send("PUT", path, body)).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("machines that a firewall is put on", () => {
  it("of which one is named twice, by name or id", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true });
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY));
    mayfly.advance(MINUTE);
    for (const action of ["apply_to_resources", "remove_from_resources"])
      for (const other of ["box", box.id])
        await expectRefused(
          mayfly,
          ["POST", `/v1/firewalls/web/${action}`, { machines: ["box", other] }],
          "machines.1",
          "same machine as `machines.0`",
        );
    expect(mayfly.simulator.state().firewalls).toMatchObject([{ applied_to: [] }]);
  });
});
