import { describe, expect, it } from "vitest";
import * as z from "zod";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";
import { BODY, createMayfly, machineIn, machinesIn } from "../mayfly.ts";

describe("an owner", () => {
  it("sees and touches only its own; foreign and unknown look the same", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const bob = await mayfly.tokenOf("bob");
    const hers = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, alice));
    const his = await mayfly.send("PUT", "/v1/machines/box", { ...BODY, region: "hel1" }, bob);
    expect(his.status).toBe(201);
    expect(hers).toMatchObject({ owner: "tok.alice", account: "tok.alice" });
    expect(mayfly.simulator.state().servers).toHaveLength(2);

    expect(machinesIn(await mayfly.send("GET", "/v1/machines", undefined, bob))).toMatchObject([{ owner: "tok.bob" }]);
    const foreign = await mayfly.send("GET", `/v1/machines/${hers.id}`, undefined, bob);
    const unknown = await mayfly.send(
      "GET",
      `/v1/machines/mch_${"f".repeat(8)}-1111-4111-8111-${"f".repeat(12)}`,
      undefined,
      bob,
    );
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    const masked = (text: string) => text.replace(/"request_id":"[^"]+"/, "");
    expect(masked(foreign.text)).toBe(masked(unknown.text));
    expect((await mayfly.send("DELETE", `/v1/machines/${hers.id}`, undefined, bob)).status).toBe(404);
    expect(mayfly.simulator.state().servers).toHaveLength(2);

    for (const method of ["GET", "DELETE"])
      expect(await mayfly.send(method, "/v1/machines/box?owner=tok.alice", undefined, bob)).toMatchObject({
        status: 403,
        body: { code: "forbidden", field: "owner" },
      });
    expect((await mayfly.send("PUT", "/v1/machines/x?owner=tok.alice", BODY, bob)).status).toBe(403);
    expect((await mayfly.send("GET", "/v1/machines?owner=tok.alice", undefined, bob)).status).toBe(403);
    expect((await mayfly.send("GET", "/v1/machines?owner=tok.bob", undefined, bob)).status).toBe(200);
  });

  it("can use nothing of another's, nor end it, by whichever id or name, though it has things of its own to use it on", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    const make = async (kind: string, path: string, body: object, token: string) =>
      z.record(z.string(), z.object({ id: z.string() })).parse((await mayfly.send("POST", path, body, token)).body)[
        kind
      ]?.id ?? "";
    const net = { ip_range: "10.0.0.0/16", region: "fsn1" };
    await make("network", "/v1/networks", { name: "yard", ...net }, bob);
    await make("firewall", "/v1/firewalls", { name: "fence", deny_all: true }, bob);
    await mayfly.send("PUT", "/v1/machines/mine?wait=30", BODY, bob);
    const network = await make("network", "/v1/networks", { name: "lab", ...net }, alice);
    const firewall = await make("firewall", "/v1/firewalls", { name: "wall", deny_all: true }, alice);
    const key = await make("ssh_key", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, alice);
    const order = { ...BODY, firewalls: ["wall"], networks: ["lab"] };
    const { id: box } = machineIn(await mayfly.send("PUT", "/v1/machines/box?wait=30", order, alice));
    const before = await everything();

    const calls: [string, string, unknown, number][] = [];
    for (const ref of [box, "box"])
      calls.push(
        ["GET", `/v1/machines/${ref}`, undefined, 404],
        ["POST", `/v1/machines/${ref}/renew`, { ttl: "5h" }, 404],
        ["POST", `/v1/machines/${ref}/attach_to_network`, { network: "yard" }, 404],
        ["POST", "/v1/firewalls/fence/apply_to_resources", { machines: [ref] }, 422],
        ["POST", "/v1/firewalls/fence/remove_from_resources", { machines: [ref] }, 422],
      );
    for (const ref of [firewall, "wall"])
      calls.push(
        ["GET", `/v1/firewalls/${ref}`, undefined, 404],
        ["POST", `/v1/firewalls/${ref}/apply_to_resources`, { machines: ["mine"] }, 404],
        ["POST", `/v1/firewalls/${ref}/remove_from_resources`, { machines: ["mine"] }, 404],
        ["PUT", "/v1/machines/new", { ...BODY, firewalls: [ref] }, 422],
      );
    for (const ref of [network, "lab"])
      calls.push(
        ["GET", `/v1/networks/${ref}`, undefined, 404],
        ["POST", `/v1/networks/${ref}/add_route`, { destination: "0.0.0.0/0", gateway: "10.0.0.2" }, 404],
        ["POST", "/v1/machines/mine/attach_to_network", { network: ref }, 422],
        ["PUT", "/v1/machines/new", { ...BODY, networks: [ref] }, 422],
      );
    for (const ref of [key, "me"])
      calls.push(
        ["GET", `/v1/ssh_keys/${ref}`, undefined, 404],
        ["PUT", "/v1/machines/new", { ...BODY, ssh_keys: [ref] }, 422],
      );
    for (const [kind, id, name] of [
      ["machines", box, "box"],
      ["firewalls", firewall, "wall"],
      ["networks", network, "lab"],
      ["ssh_keys", key, "me"],
    ] as const)
      calls.push(["DELETE", `/v1/${kind}/${id}`, undefined, 404], ["DELETE", `/v1/${kind}/${name}`, undefined, 204]);
    for (const [method, path, body, status] of calls)
      expect([method, path, body, (await mayfly.send(method, path, body, bob)).status]).toEqual([
        method,
        path,
        body,
        status,
      ]);
    for (const kind of ["machines", "firewalls", "networks", "ssh_keys"])
      expect((await mayfly.send("GET", `/v1/${kind}`, undefined, bob)).text).not.toContain("tok.alice");
    expect(await everything()).toEqual(before);

    // When he takes down all that he has, it is his alone.
    await mayfly.send("POST", "/v1/teardown", {}, bob);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toMatchObject([{ id: box, status: "running" }]);
    const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
    for (const left of [firewalls, networks, ssh_keys])
      expect(left).toMatchObject([{ labels: { "mayfly-owner": "tok.alice" } }]);
  });

  it("may neither mint, list or revoke tokens nor run or read sweeps", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const calls: [string, string, unknown][] = [
      ["POST", "/v1/tokens", { owner: "alice" }],
      ["GET", "/v1/tokens", undefined],
      ["DELETE", "/v1/tokens/tok_x", undefined],
      ["POST", "/v1/sweeps", {}],
      ["GET", "/v1/sweeps", undefined],
    ];
    for (const [method, path, body] of calls)
      expect(await mayfly.send(method, path, body, alice), `${method} ${path}`).toMatchObject({
        status: 403,
        body: { code: "forbidden", rule: "needs the admin token" },
      });
  });

  it("finds nothing to destroy under a name that it never used: 204, and nothing is stored", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    expect((await mayfly.send("DELETE", "/v1/machines/nothing", undefined, alice)).status).toBe(204);
    expect(mayfly.simulator.requests()).toEqual([]);
    expect((await mayfly.bindings.DB.prepare("SELECT * FROM machines").all()).results).toEqual([]);
  });
});

describe("the admin", () => {
  it("sees all, reaches others by id or ?owner=, and may act for them", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const hers = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, alice));
    await mayfly.send("PUT", "/v1/machines/mine", BODY);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines")).map(({ name }) => name)).toEqual(["box", "mine"]);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines?owner=tok.alice")).map(({ name }) => name)).toEqual([
      "box",
    ]);
    expect((await mayfly.send("GET", "/v1/machines/box")).status).toBe(404);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box?owner=tok.alice")).id).toBe(hers.id);
    expect(machineIn(await mayfly.send("GET", `/v1/machines/${hers.id}`)).id).toBe(hers.id);
    expect((await mayfly.send("GET", `/v1/machines/${hers.id}?owner=tok.bob`)).status).toBe(404);
    const made = machineIn(await mayfly.send("PUT", "/v1/machines/other?owner=tok.alice", BODY));
    expect(made).toMatchObject({ owner: "tok.alice", account: "tok.alice" });
    expect((await mayfly.send("DELETE", `/v1/machines/${hers.id}`)).status).toBe(200);
    expect((await mayfly.send("DELETE", "/v1/machines/other?owner=tok.alice")).status).toBe(200);
  });
});
