import { describe, expect, it } from "vitest";
import * as z from "zod";
import { actingFor, type Principal } from "../../src/auth/principal.ts";
import { DEFAULT_POLICY, type Policy, type PolicyEntry } from "../../src/auth/policy.ts";
import type { Configuration } from "../../src/deployment.ts";
import { createMachine } from "../../src/lifecycle/create.ts";
import { createResource } from "../../src/lifecycle/create-resource.ts";
import type { MachineOrder } from "../../src/lifecycle/order.ts";
import { releaseMachine } from "../../src/lifecycle/release.ts";
import { renewMachine } from "../../src/lifecycle/renew.ts";
import { removeFirewall } from "../../src/lifecycle/use-resource.ts";
import { behind } from "../behind.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  LOCAL,
  machineIn,
  MINUTE,
  NOW,
  principalOf,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const SSH = { rules: [{ direction: "in" as const, protocol: "tcp" as const, port: "22" }] };
const NET = { ip_range: "10.0.0.0/16" };
type Rights = Omit<PolicyEntry, "name">;
/** A mayfly whose tokens and admin are all under this policy. */
const under = (rights: Rights, profiles: Configuration["profiles"] = {}) =>
  createMayfly({}, { policies: [{ name: "default", ...rights }], profiles });
/** Puts it under another policy while it runs. */
const putUnder = (mayfly: Mayfly, rights: Rights) =>
  mayfly.configure({ POLICIES: JSON.stringify([{ name: "default", ...rights }]) });
const put = (mayfly: Mayfly, body: unknown, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, body);
const written = async (mayfly: Mayfly) => {
  const { DB } = mayfly.bindings;
  const count = async (table: string) => (await DB.prepare(`SELECT * FROM ${table}`).all()).results.length;
  return [await count("machines"), await count("resources"), await count("settings"), await count("events")];
};

/** That a call is refused by what its policy says, and that nothing came of it: no row, and no question to the provider. */
async function expectRefused(mayfly: Mayfly, call: () => Promise<{ status: number; body: unknown }>, field: string) {
  const [rows, asked] = [await written(mayfly), mayfly.simulator.requests().length];
  const next = "Ask for what your policy allows: GET /v1/whoami tells.";
  expect(await call()).toMatchObject({ status: 403, body: { code: "forbidden", policy: "default", field, next } });
  expect([await written(mayfly), mayfly.simulator.requests().length]).toEqual([rows, asked]);
}

describe("what a policy does not let its callers make", () => {
  const MADE: readonly (readonly [name: string, path: string, body: object, within: object])[] = [
    ["ssh_keys", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, [KEY_A]],
    ["firewalls", "/v1/firewalls", { name: "me", ...SSH }, [SSH]],
    ["networks", "/v1/networks", { name: "me", ...NET, region: "fsn1" }, [NET]],
  ];

  it("machines: neither by PUT nor by POST, and what is there is read, renewed and ended all the same", async () => {
    const mayfly = createMayfly(LOCAL);
    await put(mayfly, { ...BODY, ttl: "1h" });
    putUnder(mayfly, { may: ["ssh_keys"] });
    await expectRefused(mayfly, () => put(mayfly, BODY, "other"), "machines");
    await expectRefused(mayfly, () => mayfly.send("POST", "/v1/machines", BODY), "machines");
    expect((await mayfly.send("GET", "/v1/machines/box")).status).toBe(200);
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" })).status).toBe(200);
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBeLessThan(300);
    expect(servers(mayfly)).toEqual([]);
  });

  it.each(MADE)("%s: neither for themselves nor spelt out within a machine", async (what, path, body, within) => {
    const others = (["machines", "ssh_keys", "firewalls", "networks", "snapshots"] as const).filter(
      (one) => one !== what,
    );
    const mayfly = under({ may: others });
    await expectRefused(mayfly, () => mayfly.send("POST", path, body), what);
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, [what]: within }), `${what}.0`);
    for (const [other, , , allowed] of MADE.filter(([name]) => name !== what))
      expect((await put(mayfly, { ...BODY, [other]: allowed }, other.replace("_", "-"))).status).toBe(201);
  });

  it("does not keep them from using what is theirs already", async () => {
    const mayfly = createMayfly();
    for (const [, path, body] of MADE) await mayfly.send("POST", path, body);
    const narrow = { ...principalOf("admin"), policy: { ...DEFAULT_POLICY, may: ["machines"] } } as const;
    const ref = { by: "ref", ref: { by: "name", name: "me" } } as const;
    const attachments = [
      { field: "ssh_keys.0", kind: "ssh_key", ...ref },
      { field: "firewalls.0", kind: "firewall", ...ref },
      { field: "networks.0", kind: "network", ...ref },
    ] as const;
    const order: MachineOrder = { serverTypes: ["cx23"], regions: ["fsn1"], attachments };
    expect(await createMachine(mayfly.context(), narrow, "box", order)).toMatchObject({ ok: true });
  });

  it("snapshots: neither by labels nor by id, however it is written, and system images are there by name", async () => {
    const mayfly = under({ may: ["machines"] });
    for (const image of [{ label_selector: "role=base" }, 4711, "4711", "4711.0", "1e3", "0x10"])
      await expectRefused(mayfly, () => put(mayfly, { ...BODY, image }), "image");
    expect((await put(mayfly, { ...BODY, image: "ubuntu-24.04" })).status).toBe(201);
  });
});

describe("what a policy lets its callers name", () => {
  it("server_types: each of a list, and a number is a name as any other", async () => {
    const mayfly = under({ server_types: ["cx*", "cpx22"] });
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, server_type: "ccx13" }), "server_type");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, server_type: ["cx23", "ccx13"] }), "server_type.1");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, server_type: "CX23" }), "server_type");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, server_type: "114" }), "server_type");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, server_type: ["cx23", "cx23", "22"] }), "server_type.2");
    expect((await put(mayfly, { ...BODY, server_type: " cx23" })).status).toBe(422);
    expect((await put(mayfly, { ...BODY, server_type: [] })).status).toBe(422);
    expect(await put(mayfly, { ...BODY, server_type: "ccx13" })).toMatchObject({
      body: { rule: "must be one of cx*, cpx22 (server_types)" },
    });
    expect(servers(mayfly)).toEqual([]);
    expect((await put(mayfly, { ...BODY, server_type: ["cpx22", "cx23"] })).status).toBe(201);
  });

  it("server_types: what an architecture finds is of these, though others are cheaper, or nothing is", async () => {
    const open = createMayfly();
    await put(open, { arch: "amd64", region: "fsn1" }, "open");
    expect(servers(open)[0]?.server_type.name).toBe("cx23");
    const mayfly = under({ server_types: ["cpx*"] });
    await put(mayfly, { arch: "amd64", region: "fsn1" });
    expect(servers(mayfly)[0]?.server_type.name).toMatch(/^cpx/);
    expect(await put(mayfly, { arch: "arm64", region: "fsn1" }, "arm")).toMatchObject({
      status: 403,
      body: { code: "forbidden", field: "arch", rule: "must be that of a type that may be used: cpx* (server_types)" },
    });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("regions: of machines, of networks, and of networks that are spelt out in a machine", async () => {
    const mayfly = under({ regions: ["fsn1", "nbg1"] });
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, region: "hel1" }), "region");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, region: ["fsn1", "hel1"] }), "region.1");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, region: "FSN1" }), "region");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, region: "1" }), "region");
    const network = (region: string) => mayfly.send("POST", "/v1/networks", { name: region, ...NET, region });
    await expectRefused(mayfly, () => network("ash"), "region");
    expect((await network("nbg1")).status).toBe(201);
    expect((await put(mayfly, { ...BODY, region: ["nbg1", "fsn1"], networks: [NET] })).status).toBe(201);
    const elsewhere: MachineOrder = {
      serverTypes: ["cx23"],
      regions: ["fsn1"],
      attachments: [
        {
          field: "networks.0",
          kind: "network",
          by: "spec",
          spec: { kind: "network", ipRange: "10.0.0.0/16", region: "ash" },
        },
      ],
    };
    const caller = { ...principalOf("hook.ci"), policy: { ...DEFAULT_POLICY, regions: ["fsn1"] } };
    expect(await createMachine(mayfly.context(), caller, "job", elsewhere)).toMatchObject({
      refusal: { code: "forbidden", problem: { field: "networks.0" } },
    });
  });

  it("images: the default one counts, and ids by their text", async () => {
    const mayfly = under({ images: ["ubuntu-*", "4711"] });
    await expectRefused(mayfly, () => put(mayfly, BODY), "image");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, image: "debian-12" }), "image");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, image: 4712 }), "image");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, image: { label_selector: "role=base" } }), "image");
    expect((await put(mayfly, { ...BODY, image: "ubuntu-24.04" })).status).toBe(201);
    // What is allowed goes on to the provider, which has none of that id.
    expect((await put(mayfly, { ...BODY, image: 4711 }, "id")).status).toBe(422);
  });

  it.each([
    ["begins like a name that a pattern fits", ["debian-*"], "debian-x!=y,team=payroll"],
    ["is the key of a label that is called like an image", ["debian-12", "debian-*", "*", "**"], "debian-12"],
    ["is several such keys", ["debian-12,a/b", "**"], "debian-12,a/b"],
    ["fits a pattern alone", ["team=ci*", "team=*", "**"], "team=ci"],
    ["says more than what is listed", ["team=ci"], "role=x,team=ci"],
    ["is written otherwise", ["team=ci"], "team==ci"],
  ])("images: no snapshot by a selector that %s", async (_, images, label_selector) => {
    const mayfly = under({ images });
    mayfly.simulator.addImage({
      architecture: "x86",
      disk_size: 5,
      labels: { team: "payroll", "debian-12": "", "mayfly-image": "" },
    });
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, image: { label_selector } }), "image");
    expect(servers(mayfly)).toEqual([]);
  });

  it.each(["team=ci", "team!=x,role", "team in (ci, cd)", "!x,role"])(
    "images: a selector that is listed as it is, white space around it aside: %s",
    async (selector) => {
      const mayfly = under({ images: ["ubuntu-*", selector] });
      mayfly.simulator.addImage({
        architecture: "x86",
        disk_size: 5,
        labels: { team: "ci", role: "base", "mayfly-image": "" },
      });
      const image = { label_selector: ` ${selector} ` };
      expect((await put(mayfly, { ...BODY, image })).status).toBe(201);
      await expectRefused(
        mayfly,
        () => put(mayfly, { ...BODY, image: { label_selector: "role=base" } }, "other"),
        "image",
      );
    },
  );

  it("profiles: only those that it lists, and whether there are others is not told", async () => {
    const profiles = { small: BODY, large: { ...BODY, server_type: "cx33" } };
    const mayfly = under({ profiles: ["s*"] }, profiles);
    await expectRefused(mayfly, () => put(mayfly, { profile: "large" }), "profile");
    await expectRefused(mayfly, () => put(mayfly, { profile: "huge" }), "profile");
    const mistyped = await put(mayfly, { profile: "smal" });
    expect(mistyped).toMatchObject({ status: 422, body: { field: "profile", rule: "must be one of small" } });
    expect((await put(mayfly, { profile: "small" })).status).toBe(201);
    expect((await put(mayfly, BODY, "plain")).status).toBe(201);
    expect(await put(under({ profiles: ["x*"] }, profiles), { profile: "xs" }, "xs")).toMatchObject({
      status: 422,
      body: { field: "profile", rule: "must be left out: there are no profiles to name" },
    });
  });
});

describe("what a policy keeps to profiles", () => {
  it("only_profiles: a profile and a ttl can be said, and nothing else, not even an empty one", async () => {
    const mayfly = under({ only_profiles: true }, { small: { ...BODY, labels: { team: "ci" } } });
    await expectRefused(mayfly, () => put(mayfly, {}), "profile");
    await expectRefused(mayfly, () => put(mayfly, BODY), "profile");
    const more: readonly (readonly [field: string, value: unknown, named?: string])[] = [
      ["server_type", "cx23"],
      ["region", "fsn1"],
      ["arch", "amd64"],
      ["image", "debian-12"],
      ["labels", {}],
      ["cloud_init", ""],
      ["enable_ipv4", true],
      ["enable_ipv6", true],
      ["keep_on_failure", "1h"],
      ["ssh_keys", []],
      ["firewalls", []],
      ["networks", []],
      ["ssh_keys", ["me"], "ssh_keys.0"],
      ["firewalls", ["web"], "firewalls.0"],
      ["networks", [NET], "networks.0"],
    ];
    for (const [field, value, named = field] of more)
      await expectRefused(mayfly, () => put(mayfly, { profile: "small", [field]: value }), named);
    expect((await put(mayfly, { profile: "small", ttl: "30m" })).status).toBe(201);
    expect((await mayfly.send("POST", "/v1/machines", { profile: "small" })).status).toBe(201);
  });

  it("only_profiles: what the profile attached stays, and nothing else comes to it", async () => {
    const mayfly = under({ only_profiles: true }, { small: { ...BODY, firewalls: [{ deny_all: true }] } });
    await put(mayfly, { profile: "small" });
    mayfly.advance(MINUTE);
    await mayfly.tick();
    await mayfly.send("POST", "/v1/firewalls", { name: "open", ...SSH });
    await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" });
    const list = z.object({ firewalls: z.array(z.object({ name: z.string() })) });
    const { firewalls } = list.parse((await mayfly.send("GET", "/v1/firewalls")).body);
    const made = firewalls.find(({ name }) => name !== "open")?.name ?? "";
    const change = (path: string, body: object) => () => mayfly.send("POST", `/v1/${path}`, body);
    const machines = { machines: ["box"] };
    await expectRefused(mayfly, change("firewalls/open/apply_to_resources", machines), "machines");
    await expectRefused(mayfly, change(`firewalls/${made}/remove_from_resources`, machines), "machines");
    await expectRefused(mayfly, change("machines/box/attach_to_network", { network: "lab" }), "network");
  });

  it("cloud_init: none of the caller's own, not even an empty one over the profile's", async () => {
    const mayfly = under({ cloud_init: false }, { small: { ...BODY, cloud_init: "#!/bin/sh\necho profile" } });
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, cloud_init: "#!/bin/sh" }), "cloud_init");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, cloud_init: "" }), "cloud_init");
    await expectRefused(mayfly, () => put(mayfly, { profile: "small", cloud_init: "" }), "cloud_init");
    expect((await put(mayfly, { profile: "small" })).status).toBe(201);
    expect(servers(mayfly)).toMatchObject([{ user_data: "#!/bin/sh\necho profile" }]);
  });
});

describe("a machine without a firewall, where the policy needs one", () => {
  const firewall = (mayfly: Mayfly, name: string) => mayfly.send("POST", "/v1/firewalls", { name, ...SSH });
  const remove = (mayfly: Mayfly, name: string, machines: readonly string[] = ["box"]) =>
    mayfly.send("POST", `/v1/firewalls/${name}/remove_from_resources`, { machines });
  const firewallsOf = (mayfly: Mayfly) => servers(mayfly).map(({ public_net }) => public_net.firewalls?.length ?? 0);
  /** Two machines with a key and both firewalls, and the time that it takes to put these on. */
  async function guarded() {
    const mayfly = under({ needs_firewall: true });
    for (const name of ["web", "ssh"]) await firewall(mayfly, name);
    const body = { ...BODY, firewalls: ["web", "ssh"], ssh_keys: [KEY_A] };
    for (const name of ["box", "other"]) await put(mayfly, body, name);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    return mayfly;
  }

  it("is not made, neither by leaving it out, by an empty list, nor by overruling the profile's", async () => {
    const mayfly = under({ needs_firewall: true }, { guarded: { ...BODY, firewalls: [SSH] }, open: BODY });
    await expectRefused(mayfly, () => put(mayfly, BODY), "firewalls");
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, firewalls: [] }), "firewalls");
    await expectRefused(mayfly, () => put(mayfly, { profile: "open" }), "firewalls");
    await expectRefused(mayfly, () => put(mayfly, { profile: "guarded", firewalls: [] }), "firewalls");
    const hidden = { enable_ipv4: false, enable_ipv6: false, networks: [NET] };
    await expectRefused(mayfly, () => put(mayfly, { ...BODY, ...hidden }), "firewalls");
    expect((await put(mayfly, { profile: "guarded" })).status).toBe(201);
    expect(firewallsOf(mayfly)).toEqual([1]);
  });

  it("does not come about by taking its last firewall off; one of two can be taken off", async () => {
    const mayfly = await guarded();
    expect((await remove(mayfly, "web")).status).toBe(200);
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
    await expectRefused(mayfly, () => remove(mayfly, "ssh"), "machines.0");
    await expectRefused(mayfly, () => remove(mayfly, "ssh", ["other", "box"]), "machines.1");
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
    // What is noted to use it has not changed: it is not deleted under the machines.
    expect((await mayfly.send("GET", "/v1/firewalls/ssh")).body).toMatchObject({
      firewall: { machines: { length: 2 } },
    });
    expect((await remove(mayfly, "web")).status).toBe(200);
    expect((await mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", { machines: ["box"] })).status).toBe(200);
    expect((await remove(mayfly, "ssh")).status).toBe(200);
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
  });

  it("does not come about by two calls at once, each of which leaves the other's firewall", async () => {
    const mayfly = await guarded();
    const answers = await Promise.all([remove(mayfly, "web"), remove(mayfly, "ssh")]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403]);
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
  });

  it("does not come about where the other one is to be deleted", async () => {
    const mayfly = await guarded();
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(202);
    expect(await remove(mayfly, "ssh")).toMatchObject({ status: 403, body: { field: "machines.0" } });
    expect(firewallsOf(mayfly)).toEqual([2, 2]);
  });

  it.each([0, SECOND])("does not come about by another that is agreed to and then fails, %d ms later", async (wait) => {
    const mayfly = under({ needs_firewall: true });
    for (const name of ["web", "ssh"]) await firewall(mayfly, name);
    await put(mayfly, { ...BODY, firewalls: ["web"] });
    mayfly.advance(MINUTE);
    await mayfly.tick();
    mayfly.simulator.fault({ method: "POST", path: "actions/apply_to_resources$", action_error: true });
    const applied = await mayfly.send("POST", "/v1/firewalls/ssh/apply_to_resources", { machines: ["box"] });
    expect(applied.status).toBe(503);
    mayfly.advance(wait);
    expect((await remove(mayfly, "web")).status).toBe(403);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect(firewallsOf(mayfly)).toEqual([1]);
  });

  it("does not come about because another is still being put on", async () => {
    const mayfly = await guarded();
    const ssh = mayfly.simulator.state().firewalls.find(({ labels }) => labels["mayfly-name"] === "ssh");
    await behind(mayfly, "POST", `/firewalls/${ssh?.id}/actions/set_rules`, {
      rules: [{ direction: "in", protocol: "tcp", port: "22", source_ips: ["0.0.0.0/0"] }],
    });
    const shown = () =>
      servers(mayfly)[0]
        ?.public_net.firewalls?.map(({ status }) => status)
        .toSorted();
    expect(shown()).toEqual(["applied", "pending"]);
    const refused = await remove(mayfly, "web");
    expect(refused).toMatchObject({ status: 403, body: { code: "forbidden", field: "machines.0" } });
    expect(firewallsOf(mayfly)).toEqual([2, 2]);
    mayfly.advance(MINUTE);
    expect(shown()).toEqual(["applied", "applied"]);
    expect((await remove(mayfly, "web")).status).toBe(200);
  });

  it("does not come about because another is noted that the provider does not show", async () => {
    const mayfly = await guarded();
    const { firewalls } = mayfly.simulator.state();
    const [web] = firewalls;
    const [box] = servers(mayfly);
    // Somebody takes one off in the provider's console.
    await mayfly.simulator.fetch(
      new Request(`https://api.hetzner.cloud/v1/firewalls/${web?.id}/actions/remove_from_resources`, {
        method: "POST",
        headers: { Authorization: `Bearer ${mayfly.bindings.HCLOUD_TOKEN}` },
        body: JSON.stringify({ remove_from: [{ type: "server", server: { id: box?.id } }] }),
      }),
    );
    mayfly.advance(MINUTE);
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
    expect(await remove(mayfly, "ssh")).toMatchObject({
      status: 403,
      body: { code: "forbidden", field: "machines.0" },
    });
    expect(firewallsOf(mayfly)).toEqual([1, 2]);
    expect((await mayfly.send("GET", "/v1/firewalls/ssh")).body).toMatchObject({
      firewall: { machines: { length: 2 } },
    });
  });

  it.each([
    { drop: "before" as const },
    { action_error: true as const },
    { status: 422, code: "invalid_input" },
    { status: 423, code: "locked" },
  ])("keeps the users of a firewall that is to be deleted, where it cannot be taken off: %o", async (fault) => {
    const mayfly = await guarded();
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(202);
    const users = async () => (await mayfly.send("GET", "/v1/firewalls/web")).body;
    const before = await users();
    expect(before).toMatchObject({ firewall: { status: "deleting", machines: { length: 2 } } });
    mayfly.simulator.fault({ method: "POST", path: "remove_from_resources$", times: 9, ...fault });
    expect((await remove(mayfly, "web")).status).toBeGreaterThan(400);
    expect(await users()).toEqual(before);
  });

  it("is what the use case refuses too, and where none is needed the last one goes", async () => {
    const mayfly = createMayfly();
    await firewall(mayfly, "web");
    await put(mayfly, { ...BODY, firewalls: ["web"] });
    mayfly.advance(MINUTE);
    await mayfly.tick();
    const [web, box] = [
      await mayfly.store.resources.byName("firewall", "admin", "web"),
      await mayfly.store.machines.byName("admin", "box"),
    ];
    if (web === null || box === null) throw new Error("there is no row");
    const needs = { ...DEFAULT_POLICY, needsFirewall: true };
    expect(await removeFirewall(mayfly.context(), needs, web, [box])).toMatchObject({
      refusal: { code: "forbidden", policy: "default" },
    });
    expect(await removeFirewall(mayfly.context(), DEFAULT_POLICY, web, [box])).toMatchObject({ value: "done" });
  });
});

describe("how long a policy lets machines live", () => {
  const ends = async (mayfly: Mayfly, name = "box") => {
    const { expires_at, max_until } = machineIn(await mayfly.send("GET", `/v1/machines/${name}`));
    return [Date.parse(expires_at) - mayfly.now(), Date.parse(max_until) - mayfly.now()];
  };
  const tooLong = (field: string, limit: string, asked: string) => ({
    status: 403,
    body: { code: "limit_lease", policy: "default", field, figures: { limit, asked } },
  });

  it("longest: a ttl, the default one, what is kept on failure, and max_until with its label", async () => {
    const mayfly = under({ longest: "30m" });
    const [rows] = [await written(mayfly)];
    expect(await put(mayfly, { ...BODY, ttl: "31m" })).toMatchObject(tooLong("ttl", "30m", "31m"));
    expect(await put(mayfly, { ...BODY, keep_on_failure: "2h" })).toMatchObject(
      tooLong("keep_on_failure", "30m", "2h"),
    );
    expect([await written(mayfly), mayfly.simulator.requests()]).toEqual([rows, []]);
    expect((await put(mayfly, BODY)).status).toBe(201);
    expect(await ends(mayfly)).toEqual([30 * MINUTE, 30 * MINUTE]);
    const labels = servers(mayfly)[0]?.labels;
    expect(labels?.["mayfly-max"]).toBe(String((mayfly.now() + 30 * MINUTE) / 1000));
    expect((await put(mayfly, { ...BODY, ttl: "30m", keep_on_failure: "30m" }, "other")).status).toBe(201);
  });

  it("longest: what is longer than MAX_AGE allows no more than that", async () => {
    const mayfly = under({ longest: "9d" });
    expect((await put(mayfly, { ...BODY, ttl: "25h" })).status).toBe(422);
    await put(mayfly, { ...BODY, ttl: "24h" });
    expect(await ends(mayfly)).toEqual([24 * HOUR, 24 * HOUR]);
  });

  it("longest: of firewalls, networks and keys, too, whose default is no longer", async () => {
    const mayfly = under({ longest: "30m" });
    const send = (ttl?: string) => mayfly.send("POST", "/v1/firewalls", { name: "web", ...SSH, ttl });
    expect(await send("1h")).toMatchObject(tooLong("ttl", "30m", "1h"));
    expect(mayfly.simulator.requests()).toEqual([]);
    expect(await send()).toMatchObject({
      status: 201,
      body: { firewall: { expires_at: new Date(mayfly.now() + 30 * MINUTE).toISOString() } },
    });
  });

  it("a renewal counts from when the machine was asked for, by the policy of now", async () => {
    const mayfly = createMayfly(LOCAL);
    await put(mayfly, { ...BODY, ttl: "1h" });
    putUnder(mayfly, { longest: "2h" });
    const renew = (ttl: string) => mayfly.send("POST", "/v1/machines/box/renew", { ttl });
    mayfly.advance(30 * MINUTE);
    const most = new Date(NOW + 2 * HOUR).toISOString();
    expect(await renew("3h")).toMatchObject({
      status: 200,
      body: { clamped_to: "policy", machine: { expires_at: most } },
    });
    const renewed = await renew("91m");
    expect(renewed).toMatchObject(tooLong("ttl", "2h", "121m"));
    expect(renewed.text).toContain(`cannot move the end: this machine may live until ${most}, and does`);
    expect((await renew("90m")).status).toBe(200);
    expect((await ends(mayfly))[0]).toBe(90 * MINUTE);
    const context = mayfly.context();
    const row = await mayfly.store.machines.byName("admin", "box");
    if (row === null) throw new Error("there is no row");
    const hour: Policy = { ...DEFAULT_POLICY, name: "hour", longestMs: HOUR };
    expect(await renewMachine(context, { ...principalOf("x"), policy: hour }, row, "31m")).toMatchObject({
      refusal: { code: "limit_lease", policy: "hour", figures: { limit: "1h", asked: "61m" } },
    });
    // What the machine was promised at most binds whoever has no policy that binds more.
    expect(await renewMachine(context, principalOf("x"), { ...row, maxUntil: row.expiresAt }, "3h")).toMatchObject({
      refusal: { code: "invalid_input" },
    });
  });

  it("a policy that was narrowed ends nothing: a lease that is longer stays, and is only renewed no more", async () => {
    const mayfly = createMayfly(LOCAL);
    await put(mayfly, { ...BODY, ttl: "5h" });
    putUnder(mayfly, { longest: "1h" });
    expect((await put(mayfly, BODY)).status).toBe(200);
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "10m" })).status).toBe(200);
    expect((await ends(mayfly))[0]).toBe(5 * HOUR);
    mayfly.advance(2 * HOUR);
    await mayfly.tick();
    expect(await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "10m" })).toMatchObject({
      status: 403,
      body: { code: "limit_lease" },
    });
    expect((await ends(mayfly))[0]).toBe(3 * HOUR);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("what is kept after a failure is kept within it, counted in the same way, and where none is left not at all", async () => {
    const free = createMayfly();
    for (const name of ["box", "late"]) await put(free, { ...BODY, ttl: "5h", keep_on_failure: "4h" }, name);
    const context = free.context();
    const rowOf = async (name: string) => {
      const row = await free.store.machines.byName("admin", name);
      if (row === null) throw new Error("there is no row");
      return row;
    };
    const caller: Principal = { ...principalOf("admin"), policy: { ...DEFAULT_POLICY, longestMs: 2 * HOUR } };
    free.advance(HOUR);
    expect(await releaseMachine(context, caller, await rowOf("box"), true)).toMatchObject({
      value: { isKept: true, row: { expiresAt: free.now() + HOUR } },
    });
    free.advance(2 * HOUR);
    expect(await releaseMachine(context, caller, await rowOf("late"), true)).toMatchObject({
      value: { isKept: false },
    });
  });
});

describe("a create that is repeated under a narrower policy than its first call", () => {
  /** A mayfly with a row whose create never came to the provider. */
  const cutOff = async (body: object) => {
    const mayfly = createMayfly(LOCAL);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await put(mayfly, body)).status).toBe(503);
    expect(servers(mayfly)).toEqual([]);
    return mayfly;
  };
  const narrowings: readonly (readonly [name: string, rights: Rights, field: string])[] = [
    ["type", { server_types: ["cpx*"] }, "server_type"],
    ["region", { regions: ["hel1"] }, "region"],
    ["image", { images: ["ubuntu-*"] }, "image"],
    ["firewall", { needs_firewall: true }, "firewalls"],
    ["machine", { may: [] }, "machines"],
  ];

  it.each(narrowings)("is refused over its %s, where the first did not come about", async (_, rights, field) => {
    const mayfly = await cutOff(BODY);
    putUnder(mayfly, rights);
    await expectRefused(mayfly, () => put(mayfly, BODY), field);
    expect(servers(mayfly)).toEqual([]);
  });

  it("does not make the long lease that its row was begun with", async () => {
    const mayfly = await cutOff({ ...BODY, ttl: "20h" });
    const asked = mayfly.simulator.requests().length;
    putUnder(mayfly, { longest: "1h" });
    expect(await put(mayfly, { ...BODY, ttl: "30m" })).toMatchObject({
      status: 403,
      body: { code: "limit_lease", figures: { limit: "1h", asked: "20h" } },
    });
    expect([servers(mayfly), mayfly.simulator.requests().length]).toEqual([[], asked]);
    putUnder(mayfly, { longest: "20h" });
    expect((await put(mayfly, { ...BODY, ttl: "30m" })).status).toBe(200);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("a firewall that is asked for again under a policy that makes none", () => {
  it("is refused, whether the first call came about or not", async () => {
    const mayfly = createMayfly(LOCAL);
    const ask = (name: string) => mayfly.send("POST", "/v1/firewalls", { name, ...SSH });
    expect((await ask("made")).status).toBe(201);
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", drop: "before" });
    expect((await ask("cut-off")).status).toBe(503);
    putUnder(mayfly, { may: ["machines"] });
    for (const name of ["made", "cut-off"]) await expectRefused(mayfly, () => ask(name), "firewalls");
    expect(mayfly.simulator.state().firewalls).toHaveLength(1);
  });
});

describe("whose policy counts", () => {
  it("the admin's is `default`, if one is configured, for others as well; reading is not its to forbid", async () => {
    const mayfly = under({ server_types: ["cpx22"], longest: "1h" });
    const asAlice = (body: object) => mayfly.send("PUT", "/v1/machines/box?owner=tok.alice", body);
    await expectRefused(mayfly, () => asAlice(BODY), "server_type");
    expect((await asAlice({ ...BODY, server_type: "cpx22" })).status).toBe(201);
    expect(await mayfly.send("POST", "/v1/machines/box/renew?owner=tok.alice", { ttl: "2h" })).toMatchObject({
      status: 403,
      body: { code: "limit_lease" },
    });
    expect((await mayfly.send("GET", "/v1/machines?owner=tok.alice")).status).toBe(200);
    const admin: Principal = {
      ...principalOf("admin"),
      kind: "admin",
      policy: { ...DEFAULT_POLICY, may: [] },
      seesAll: true,
    };
    const alice = actingFor(admin, "tok.alice");
    if (alice === null) throw new Error("an admin acts for anybody");
    const key = { name: "me", spec: { kind: "ssh_key", publicKey: KEY_A.split(" ").slice(0, 2).join(" ") } } as const;
    expect(await createResource(mayfly.context(), alice, key)).toMatchObject({ refusal: { code: "forbidden" } });
  });
});

describe("without HTTP", () => {
  const PROFILES: Configuration["profiles"] = { small: { ...BODY, cloud_init: "#!/bin/sh" } };
  const ORDER: MachineOrder = { serverTypes: ["cx23"], regions: ["fsn1"] };
  const CASES: readonly (readonly [name: string, policy: Partial<Policy>, order: MachineOrder, field: string])[] = [
    ["may", { may: ["networks"] }, ORDER, "machines"],
    ["snapshots", { may: ["machines"] }, { ...ORDER, image: 4711 }, "image"],
    ["server_types", { serverTypes: ["cpx*"] }, ORDER, "server_type"],
    ["regions", { regions: ["hel1"] }, ORDER, "region"],
    ["images", { images: ["ubuntu-*"] }, ORDER, "image"],
    ["profiles", { profiles: ["large"] }, { profile: "small" }, "profile"],
    ["only_profiles", { onlyProfiles: true }, { profile: "small", without: ["firewall"] }, "firewalls"],
    ["cloud_init", { takesCloudInit: false }, { ...ORDER, cloudInit: "" }, "cloud_init"],
    [
      "firewalls",
      { existing: { firewall: ["4712"], network: ["4711"] } },
      { ...ORDER, attachments: [{ field: "firewalls.0", kind: "firewall", by: "id", id: "4711" }] },
      "firewalls.0",
    ],
    ["needs_firewall", { needsFirewall: true }, ORDER, "firewalls"],
    ["longest", { longestMs: HOUR }, { ...ORDER, ttl: "2h" }, "ttl"],
  ];

  it.each(CASES)("%s holds as well, and names itself", async (_, policy, order, field) => {
    const mayfly = createMayfly({}, { profiles: PROFILES });
    const caller = { ...principalOf("hook.ci"), policy: { ...DEFAULT_POLICY, name: "narrow", ...policy } };
    const outcome = await createMachine(mayfly.context(), caller, "job", order);
    expect(outcome).toMatchObject({ ok: false, refusal: { policy: "narrow", problem: { field } } });
    expect([await written(mayfly), mayfly.simulator.requests()]).toEqual([[0, 0, 0, 0], []]);
  });
});
