import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BODY, createMayfly, machineIn, servers, type Mayfly } from "../mayfly.ts";

const RULES = [{ direction: "in", protocol: "tcp", port: "22" }];

/** Two owners, each with a machine of the name `box`. */
async function withTwo() {
  const mayfly = createMayfly();
  const [ann, bob] = [await mayfly.tokenOf("ann"), await mayfly.tokenOf("bob")];
  const of = async (token: string) => machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, token));
  return { mayfly, ann, bob, anns: await of(ann), bobs: await of(bob) };
}

describe("a machine is found", () => {
  it("by the provider's id, whatever is done to it; answers tell that id and its name there", async () => {
    const { mayfly, ann, anns } = await withTwo();
    const id = anns.provider_id ?? "";
    const server = servers(mayfly).find((one) => String(one.id) === id);
    expect([server?.name, id]).toEqual([anns.provider_name, expect.stringMatching(/^\d+$/)]);
    const path = `/v1/machines/${id}`;
    expect(machineIn(await mayfly.send("GET", path, undefined, ann)).id).toBe(anns.id);
    expect((await mayfly.send("POST", `${path}/renew`, { ttl: "2h" }, ann)).status).toBe(200);
    expect((await mayfly.send("DELETE", path, undefined, ann)).status).toBe(200);
    expect(servers(mayfly).map((one) => String(one.id))).not.toContain(id);
    expect((await mayfly.send("DELETE", path, undefined, ann)).status).toBe(204);
  });

  it("by that of one's own alone; an admin finds everybody's, and as an owner that owner's", async () => {
    const { mayfly, bob, anns } = await withTwo();
    const path = `/v1/machines/${anns.provider_id}`;
    expect((await mayfly.send("GET", path, undefined, bob)).status).toBe(404);
    expect((await mayfly.send("DELETE", path, undefined, bob)).status).toBe(204);
    expect((await mayfly.send("DELETE", `${path}?owner=bob`)).status).toBe(204);
    expect(servers(mayfly)).toHaveLength(2);
    expect((await mayfly.send("DELETE", path)).status).toBe(200);
  });

  it("by its name before that, also where the name's machine has ended or the name was given up", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/first", BODY, ann);
    const id = String((servers(mayfly)[0]?.id ?? 0) + 1);
    expect((await mayfly.send("DELETE", `/v1/machines/${id}?tombstone=10m`, undefined, ann)).status).toBe(204);
    const made = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, ann));
    expect(made.provider_id).toBe(id);
    expect((await mayfly.send("DELETE", `/v1/machines/${id}`, undefined, ann)).status).toBe(204);
    expect(servers(mayfly)).toHaveLength(2);
    mayfly.advance(11 * 60_000);
    expect((await mayfly.send("PUT", `/v1/machines/${id}`, BODY, ann)).status).toBe(201);
    expect((await mayfly.send("DELETE", `/v1/machines/${id}`, undefined, ann)).status).toBe(200);
    expect(machineIn(await mayfly.send("DELETE", `/v1/machines/${id}`, undefined, ann))).toMatchObject({ name: id });
    expect(servers(mayfly)).toHaveLength(2);
  });

  it("by that id, but no name is forbidden by it: whoever means the machine is not told that there is none", async () => {
    const { mayfly, ann, bob, anns } = await withTwo();
    const path = `/v1/machines/${anns.provider_id}?tombstone=10m`;
    for (const token of [ann, undefined])
      expect(await mayfly.send("DELETE", path, undefined, token)).toMatchObject({
        status: 422,
        body: { code: "invalid_input", field: "tombstone" },
      });
    // To anybody else it is a name, whatever stands under that number.
    expect((await mayfly.send("DELETE", path, undefined, bob)).status).toBe(204);
    expect(servers(mayfly)).toHaveLength(2);
    expect((await mayfly.send("DELETE", `/v1/machines/${anns.provider_id}`, undefined, ann)).status).toBe(200);
  });

  it("by that id in what has happened, of one's own alone", async () => {
    const { mayfly, ann, bob, anns } = await withTwo();
    const path = `/v1/events?machine=${anns.provider_id}`;
    const kinds = z.object({ events: z.array(z.object({ kind: z.string() })) });
    const told = async (token?: string) =>
      kinds.parse((await mayfly.send("GET", path, undefined, token)).body).events.map(({ kind }) => kind);
    expect(await told(ann)).toEqual(["created", "requested"]);
    expect(await told()).toEqual(["created", "requested"]);
    expect(await told(bob)).toEqual([]);
    const second = await mayfly.send("GET", `${path}&per_page=1&page=2`, undefined, ann);
    expect(kinds.parse(second.body).events).toMatchObject([{ kind: "requested" }]);
    await mayfly.send("PUT", `/v1/machines/${anns.provider_id}`, BODY, bob);
    expect(await told(bob)).toEqual(["created", "requested"]);
  });

  it("where a firewall is applied to it, a network is put over it, and by their ids as well", async () => {
    const { mayfly, ann, anns } = await withTwo();
    const made = await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: RULES }, ann);
    const [firewall] = mayfly.simulator.state().firewalls;
    expect(made.status).toBe(201);
    const path = `/v1/firewalls/${firewall?.id}`;
    const applied = await mayfly.send("POST", `${path}/apply_to_resources`, { machines: [anns.provider_id] }, ann);
    expect([200, 202]).toContain(applied.status);
    expect((await mayfly.send("GET", path, undefined, ann)).status).toBe(200);
    expect((await mayfly.send("DELETE", path, undefined, ann)).status).toBe(202);
    expect((await mayfly.send("GET", path, undefined, await mayfly.tokenOf("eve"))).status).toBe(404);
  });
});

describe("an owner", () => {
  const named = (mayfly: Mayfly, owner: string) => mayfly.send("GET", `/v1/machines/box?owner=${owner}`);

  it("of a minted token is named with `tok.` and without", async () => {
    const { mayfly, anns } = await withTwo();
    for (const owner of ["ann", "tok.ann"]) expect(machineIn(await named(mayfly, owner)).id).toBe(anns.id);
    for (const account of ["ann", "tok.ann"])
      expect(await mayfly.send("GET", `/v1/usage?account=${account}`)).toMatchObject({
        status: 200,
        body: { usage: { account: "tok.ann" } },
      });
    const created = await mayfly.send("PUT", "/v1/machines/more?owner=ann", BODY);
    expect([created.status, machineIn(created).owner]).toEqual([201, "tok.ann"]);
  });

  it.each([
    "team.ci",
    "tok.-",
    "gh.1",
    "gh.octo.1",
    "gl.20.7",
    "hook.",
    "hook.ci.main",
    "id.12345678.short",
    "toto.ann",
    `tok.${"a".repeat(60)}`,
    "Ann",
  ])("that nobody can be is refused, to whoever looks, creates or ends: %s", async (owner) => {
    const { mayfly } = await withTwo();
    const refused = { status: 422, body: { code: "invalid_input", field: "owner" } };
    expect(await named(mayfly, owner)).toMatchObject(refused);
    expect(await mayfly.send("PUT", `/v1/machines/more?owner=${owner}`, BODY)).toMatchObject(refused);
    expect(await mayfly.send("POST", `/v1/machines?owner=${owner}`, BODY)).toMatchObject(refused);
    expect(await mayfly.send("DELETE", `/v1/machines/box?owner=${owner}`)).toMatchObject(refused);
    expect(servers(mayfly)).toHaveLength(2);
  });

  it("`lost` makes nothing: it is the owner of what was found without one", async () => {
    const mayfly = createMayfly();
    const refused = { status: 422, body: { code: "invalid_input", field: "owner" } };
    expect(await mayfly.send("PUT", "/v1/machines/box?owner=lost", BODY)).toMatchObject(refused);
    const firewall = { name: "web", deny_all: true };
    expect(await mayfly.send("POST", "/v1/firewalls?owner=lost", firewall)).toMatchObject(refused);
    expect(mayfly.simulator.requests()).toEqual([]);
  });

  it.each([
    "admin",
    "lost",
    "gh.4711.123",
    "gh.4711.nightly",
    "gh.0123abcd.4711.9",
    "gl.0123abcd.20.7",
    "hook.ci",
    "hook.ci.4711",
    `id.0123abcd.${"0f".repeat(16)}`,
  ])("of every kind is taken: %s", async (owner) => {
    const mayfly = createMayfly();
    expect((await mayfly.send("GET", `/v1/machines?owner=${owner}`)).status).toBe(200);
  });
});

describe("a name with a slash, or an empty one", () => {
  it.each([
    ["PUT", "/v1/machines/feature/login", BODY],
    ["PUT", "/v1/machines/feature%2Flogin", BODY],
    ["GET", "/v1/machines/feature/login", undefined],
    ["DELETE", "/v1/machines/feature/login", undefined],
    ["DELETE", "/v1/firewalls/feature/login", undefined],
    ["GET", "/v1/networks/a/b/c", undefined],
    ["PUT", "/v1/machines/", BODY],
    ["DELETE", "/v1/firewalls/", undefined],
    ["POST", "/v1/machines/feature/login/renew", { ttl: "1h" }],
    ["POST", "/v1/machines/feature/login/attach_to_network", { network: "lab" }],
    ["POST", "/v1/firewalls/feature/login/apply_to_resources", { machines: ["box"] }],
    ["POST", "/v1/networks/feature%2Flogin/add_route", { destination: "0.0.0.0/0", gateway: "10.0.0.2" }],
  ])("is told the rule of names: %s %s", async (method, path, body) => {
    const mayfly = createMayfly();
    const ofNames: unknown = expect.stringContaining("RFC 1123");
    expect(await mayfly.send(method, path, body)).toMatchObject({
      status: 422,
      body: { code: "invalid_input", rule: ofNames },
    });
    expect((await mayfly.send(method, path, body, null)).status).toBe(401);
  });

  it("is none in a path that somebody made up", async () => {
    const mayfly = createMayfly();
    for (const [method, path] of [
      ["POST", "/v1/machines/box/reboot"],
      ["GET", "/v1/boxes/a/b"],
    ] as const)
      expect((await mayfly.send(method, path)).status).toBe(404);
  });
});
