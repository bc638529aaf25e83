/** Firewalls and networks of the provider's project that are nobody's here, where a policy lists them. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { behind } from "../behind.ts";
import { BODY, createMayfly, LOCAL, minutes, MINUTE, servers, type Mayfly } from "../mayfly.ts";

const RULES = [{ direction: "in", protocol: "icmp", source_ips: ["0.0.0.0/0"], destination_ips: [] }];
const SUBNET = { type: "cloud", ip_range: "10.0.0.0/24", network_zone: "eu-central" };
const idIn = (body: unknown, kind: string) =>
  z.object({ [kind]: z.object({ id: z.int() }) }).parse(body)[kind]?.id ?? 0;

/** A mayfly beside a firewall and a network of somebody's, and what its policy is then. */
async function beside(rights: (ids: { firewall: string; network: string }) => object, profiles: object = {}) {
  const mayfly = createMayfly(LOCAL);
  const firewall = await behind(mayfly, "POST", "/firewalls", {
    name: "theirs",
    rules: RULES,
    labels: { team: "ops" },
  });
  const network = await behind(mayfly, "POST", "/networks", {
    name: "theirs",
    ip_range: "10.0.0.0/16",
    subnets: [SUBNET],
  });
  const ids = { firewall: `id:${idIn(firewall, "firewall")}`, network: `id:${idIn(network, "network")}` };
  mayfly.configure({
    POLICIES: JSON.stringify([{ name: "default", ...rights(ids) }]),
    PROFILES: JSON.stringify(profiles),
  });
  return { mayfly, ids };
}
const put = (mayfly: Mayfly, more: object, name = "box") =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more });
const rowsOf = async (mayfly: Mayfly) => (await mayfly.bindings.DB.prepare("SELECT * FROM resources").all()).results;

describe("what a policy lists of the project", () => {
  it("is on the machine from the start, has no row here, and stays as it is when the machine is gone", async () => {
    const { mayfly, ids } = await beside(({ firewall, network }) => ({ firewalls: [firewall], networks: [network] }));
    const before = mayfly.simulator.state();
    const made = await put(mayfly, { firewalls: [ids.firewall], networks: [ids.network], ttl: "5m" });
    expect(made.status).toBe(201);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toMatchObject([
      {
        public_net: { firewalls: [{ status: "applied" }] },
        private_net: [{ ip: expect.stringMatching(/^10\.0\.0\./) as unknown }],
      },
    ]);
    expect(await rowsOf(mayfly)).toEqual([]);
    for (const plural of ["firewalls", "networks"])
      expect((await mayfly.send("GET", `/v1/${plural}`)).body).toMatchObject({ [plural]: [] });
    await minutes(mayfly, 90);
    expect(servers(mayfly)).toEqual([]);
    const { firewalls, networks } = mayfly.simulator.state();
    expect([firewalls, networks]).toEqual([before.firewalls, before.networks]);
    const changing = mayfly.simulator
      .requests()
      .filter(({ method, path }) => method !== "GET" && /firewalls|networks/.test(path));
    // The two with which they came to be, behind mayfly's back.
    expect(changing).toHaveLength(2);
  });

  it("is part of what was asked for, and goes beside one's own and what is made with the machine", async () => {
    const { mayfly, ids } = await beside(({ firewall }) => ({ firewalls: [firewall, "id:4711"] }));
    await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true });
    const mixed = { firewalls: [ids.firewall, "web", { deny_all: true }] };
    expect((await put(mayfly, mixed)).status).toBe(201);
    expect((await put(mayfly, mixed)).status).toBe(200);
    expect(await put(mayfly, { firewalls: ["id:4711", "web", { deny_all: true }] })).toMatchObject({
      status: 409,
      body: { code: "spec_mismatch" },
    });
    expect(servers(mayfly)).toMatchObject([{ public_net: { firewalls: { length: 3 } } }]);
  });

  it("counts where a policy needs a firewall", async () => {
    const { mayfly, ids } = await beside(({ firewall }) => ({ firewalls: [firewall], needs_firewall: true }));
    expect((await put(mayfly, {})).status).toBe(403);
    expect((await put(mayfly, { firewalls: [ids.firewall] })).status).toBe(201);
  });

  it("may be a profile's, named by a caller who may name it by no other way", async () => {
    const { mayfly, ids } = await beside(({ firewall }) => ({ firewalls: [firewall], only_profiles: true }));
    mayfly.configure({ PROFILES: JSON.stringify({ small: { ...BODY, firewalls: [ids.firewall] } }) });
    expect((await mayfly.send("PUT", "/v1/machines/box", { profile: "small" })).status).toBe(201);
    expect(servers(mayfly)).toMatchObject([{ public_net: { firewalls: { length: 1 } } }]);
  });

  it("that is gone there is told so, and no machine is made", async () => {
    const { mayfly } = await beside(() => ({ firewalls: ["id:4711"], networks: ["id:4712"] }));
    for (const more of [{ firewalls: ["id:4711"] }, { networks: ["id:4712"] }])
      expect(await put(mayfly, more)).toMatchObject({
        status: 422,
        body: { code: "invalid_input", next: expect.stringContaining("leave out what is named by `id:`") as unknown },
      });
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("what a policy lists and somebody has here", () => {
  it("is not used by its id: it goes when its owner says so", async () => {
    const mayfly = createMayfly(LOCAL);
    const alice = await mayfly.tokenOf("alice");
    const { body } = await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, alice);
    const { provider_id: id } = z.object({ firewall: z.object({ provider_id: z.string() }) }).parse(body).firewall;
    mayfly.configure({ POLICIES: JSON.stringify([{ name: "default", firewalls: [`id:${id}`] }]) });
    for (const token of [alice, undefined])
      expect(await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: [`id:${id}`] }, token)).toMatchObject({
        status: 422,
        body: { code: "invalid_input", field: "firewalls.0" },
      });
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("what it does not list", () => {
  it.each([
    ["nothing", {}, "must be one of your own (firewalls)"],
    ["another", { firewalls: ["id:4711"] }, "must be one of your own, or id:4711 (firewalls)"],
    ["networks alone", { networks: ["id:30001"] }, "must be one of your own (firewalls)"],
  ])("is refused by policy, field and rule, and nobody is asked: where it lists %s", async (_, rights, rule) => {
    const { mayfly, ids } = await beside(() => rights);
    const asked = mayfly.simulator.requests().length;
    expect(await put(mayfly, { firewalls: [ids.firewall] })).toMatchObject({
      status: 403,
      body: { code: "forbidden", policy: "default", field: "firewalls.0", rule },
    });
    expect(await mayfly.send("POST", "/v1/machines", { ...BODY, networks: [ids.network] })).toMatchObject({
      status: 403,
    });
    expect([mayfly.simulator.requests().length, servers(mayfly)]).toEqual([asked, []]);
  });

  it("is refused to a profile's word as well", async () => {
    const { mayfly, ids } = await beside(() => ({}));
    mayfly.configure({ PROFILES: JSON.stringify({ small: { ...BODY, firewalls: [ids.firewall] } }) });
    expect((await mayfly.send("PUT", "/v1/machines/box", { profile: "small" })).status).toBe(403);
  });

  it.each(["id:", "id:0", "id:a", "id:1 ", "id:9999999999999999", "id:-1"])("nor is %j an id", async (text) => {
    const mayfly = createMayfly();
    for (const plural of ["firewalls", "networks"])
      expect(await put(mayfly, { [plural]: [text] })).toMatchObject({ status: 422, body: { field: `${plural}.0` } });
  });

  it("is never a key", async () => {
    expect(await put(createMayfly(), { ssh_keys: ["id:4711"] })).toMatchObject({
      status: 422,
      body: { field: "ssh_keys.0" },
    });
  });
});
