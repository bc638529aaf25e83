import { describe, expect, it } from "vitest";
import type { Configuration } from "../../src/deployment.ts";
import { BODY, createMayfly, LOCAL, machineIn, minutes, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

type Profiles = NonNullable<Configuration["profiles"]>;
const rule = (port: string) => ({ rules: [{ direction: "in" as const, protocol: "tcp" as const, port }] });
const CANARY = "canary-in-a-cloud-init";
const SMALL = {
  ...BODY,
  image: "ubuntu-24.04",
  ttl: "30m",
  labels: { team: "ci", tier: "small" },
  cloud_init: `#!/bin/sh\necho ${CANARY}`,
  keep_on_failure: "2h",
  ssh_keys: [KEY_A],
  firewalls: [rule("22")],
};
const withProfiles = (profiles: Profiles) => createMayfly(LOCAL, { profiles });
/** Changes what the profiles say while it runs. */
const change = (mayfly: Mayfly, profiles: Profiles) => mayfly.configure({ PROFILES: JSON.stringify(profiles) });
const put = (mayfly: Mayfly, body: object, name = "box") => mayfly.send("PUT", `/v1/machines/${name}`, body);
const held = (mayfly: Mayfly) => {
  const { firewalls, networks, ssh_keys } = mayfly.simulator.state();
  return [firewalls.length, networks.length, ssh_keys.length];
};

describe("a machine by a profile", () => {
  it("has what the profile says of all that is left out, by PUT and by POST", async () => {
    const mayfly = withProfiles({ small: SMALL });
    const created = await put(mayfly, { profile: "small" });
    expect(created.status).toBe(201);
    const machine = machineIn(created);
    expect(Date.parse(machine.expires_at) - mayfly.now()).toBe(30 * 60_000);
    expect(machine).toMatchObject({ server_type: "cx23", region: "fsn1", labels: SMALL.labels });
    expect(servers(mayfly)).toMatchObject([
      { image: { name: "ubuntu-24.04" }, user_data: SMALL.cloud_init, labels: SMALL.labels, ssh_keys: { length: 1 } },
    ]);
    expect(held(mayfly)).toEqual([1, 0, 1]);
    expect((await mayfly.store.machines.byName("admin", "box"))?.keepOnFailureMs).toBe(2 * 3_600_000);
    expect((await mayfly.send("POST", "/v1/machines", { profile: "small" })).status).toBe(201);
    expect(servers(mayfly)).toHaveLength(2);
  });

  it("has what the caller says in place of it, field by field; labels are merged by key", async () => {
    const mayfly = withProfiles({ small: SMALL });
    const own = {
      server_type: "cx33",
      region: "hel1",
      image: "debian-12",
      ttl: "10m",
      labels: { tier: "large", run: "7" },
      cloud_init: "#!/bin/sh\necho own",
      keep_on_failure: "1h",
      enable_ipv4: false,
      ssh_keys: [KEY_B],
      firewalls: [rule("80"), rule("443")],
    };
    const created = await put(mayfly, { profile: "small", ...own });
    expect(created.status).toBe(201);
    expect(servers(mayfly)).toMatchObject([
      {
        server_type: { name: "cx33" },
        location: { name: "hel1" },
        image: { name: "debian-12" },
        user_data: own.cloud_init,
        labels: { team: "ci", tier: "large", run: "7" },
        public_net: { ipv4: null },
      },
    ]);
    expect(machineIn(created).labels).toEqual({ team: "ci", tier: "large", run: "7" });
    const { ssh_keys } = mayfly.simulator.state();
    expect(ssh_keys.map(({ public_key }) => public_key)).toEqual([KEY_B]);
    expect(held(mayfly)).toEqual([2, 0, 1]);
  });

  it("has none of what the caller says there is to be none of", async () => {
    const mayfly = withProfiles({ small: SMALL });
    expect((await put(mayfly, { profile: "small", firewalls: [] })).status).toBe(201);
    expect(held(mayfly)).toEqual([0, 0, 1]);
    expect((await put(mayfly, { profile: "small", ssh_keys: [], cloud_init: "" }, "bare")).status).toBe(201);
    expect(servers(mayfly)[1]).toMatchObject({ ssh_keys: [], user_data: null });
    expect(held(mayfly)[0]).toBe(1);
  });

  it("is of the caller's type where the profile says an architecture, and the other way round", async () => {
    const mayfly = withProfiles({ typed: BODY, arch: { arch: "arm64", region: "fsn1" } });
    expect(machineIn(await put(mayfly, { profile: "arch" }, "a")).server_type).toMatch(/^cax/);
    expect(machineIn(await put(mayfly, { profile: "arch", server_type: "cx33" }, "b")).server_type).toBe("cx33");
    expect(machineIn(await put(mayfly, { profile: "typed", arch: "arm64" }, "c")).server_type).toMatch(/^cax/);
    expect(await put(mayfly, { profile: "typed", arch: "arm64", server_type: "cx23" }, "d")).toMatchObject({
      status: 422,
      body: { field: "arch" },
    });
  });

  it("has its network in the region that it is tried in first, wherever the profile would have it", async () => {
    const networks = [{ ip_range: "10.0.0.0/16" }];
    const mayfly = withProfiles({ placed: { server_type: "cpx22", region: "fsn1", networks }, open: { networks } });
    const regions = async () => {
      const { results } = await mayfly.bindings.DB.prepare("SELECT spec FROM resources ORDER BY requested_at").all();
      return results.map(({ spec }) => /"region":"(\w+)"/.exec(String(spec))?.[1]);
    };
    expect((await put(mayfly, { profile: "placed" }, "a")).status).toBe(201);
    mayfly.advance(1000);
    expect((await put(mayfly, { profile: "placed", region: ["hel1", "fsn1"] }, "b")).status).toBe(201);
    mayfly.advance(1000);
    expect((await put(mayfly, { profile: "open", server_type: "cx23", region: "nbg1" }, "c")).status).toBe(201);
    expect(await regions()).toEqual(["fsn1", "hel1", "nbg1"]);
  });

  it("still needs what neither says", async () => {
    const mayfly = withProfiles({ image: { image: "debian-12" }, placed: { region: "fsn1" } });
    expect(await put(mayfly, { profile: "image" })).toMatchObject({ status: 422, body: { field: "region" } });
    expect(await put(mayfly, { profile: "placed" })).toMatchObject({ status: 422, body: { field: "server_type" } });
    expect(mayfly.simulator.requests()).toEqual([]);
  });

  it("that does not exist is refused, with those that do", async () => {
    const mayfly = withProfiles({ small: SMALL, large: BODY });
    for (const profile of ["huge", "constructor", "to-string"])
      expect(await put(mayfly, { profile })).toMatchObject({
        status: 422,
        body: { code: "invalid_input", field: "profile", rule: "must be one of large, small" },
      });
    for (const profile of ["Small", " small", "small ", "", "__proto__", ["small"], null, 1])
      expect(await put(mayfly, { profile })).toMatchObject({ status: 422, body: { field: "profile" } });
    expect(await put(createMayfly(), { ...BODY, profile: "small" })).toMatchObject({
      status: 422,
      body: { field: "profile", rule: "must be left out: there are no profiles to name" },
    });
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("a repeat of a create by a profile", () => {
  const OTHER = { ...SMALL, server_type: "cx33", cloud_init: "#!/bin/sh\necho new", firewalls: [rule("443")] };

  it("is the same machine, also after the profile has changed", async () => {
    const mayfly = withProfiles({ small: SMALL });
    const { id } = machineIn(await put(mayfly, { profile: "small", labels: { run: "1" } }));
    change(mayfly, { small: OTHER });
    const again = await put(mayfly, { profile: "small", labels: { run: "1" }, ttl: "5m" });
    expect([again.status, machineIn(again).id]).toEqual([200, id]);
    expect(servers(mayfly)).toMatchObject([{ server_type: { name: "cx23" } }]);
  });

  it("with another field, another profile, or none, is another spec", async () => {
    const mayfly = withProfiles({ small: SMALL, same: SMALL });
    await put(mayfly, { profile: "small" });
    const others = [
      { profile: "same" },
      SMALL,
      { profile: "small", image: "ubuntu-24.04" },
      { profile: "small", firewalls: [] },
      { profile: "small", ssh_keys: [] },
      { profile: "small", labels: {} },
      { profile: "small", keep_on_failure: "2h" },
    ];
    for (const body of others)
      expect(await put(mayfly, body), JSON.stringify(body)).toMatchObject({
        status: 409,
        body: { code: "spec_mismatch" },
      });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("goes on with what the profile says now, where the first call was cut off", async () => {
    const mayfly = withProfiles({ small: SMALL });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await put(mayfly, { profile: "small", labels: { run: "1" } })).status).toBe(503);
    expect([servers(mayfly), held(mayfly)]).toEqual([[], [1, 0, 1]]);
    change(mayfly, { small: { ...OTHER, labels: { team: "new" }, keep_on_failure: "3h" } });
    const again = await put(mayfly, { profile: "small", labels: { run: "1" } });
    expect(again.status).toBe(200);
    const [server] = servers(mayfly);
    expect(server).toMatchObject({ server_type: { name: "cx33" }, user_data: OTHER.cloud_init });
    expect(server?.labels).toMatchObject({ team: "new", run: "1" });
    expect(server?.labels).not.toHaveProperty("tier");
    const row = await mayfly.store.machines.byName("admin", "box");
    expect(row).toMatchObject({ labels: { team: "new", run: "1" }, keepOnFailureMs: 3 * 3_600_000 });
    mayfly.advance(60_000);
    await mayfly.tick();
    const applied = mayfly.simulator.state().firewalls.filter(({ applied_to }) => applied_to.length > 0);
    expect(applied).toMatchObject([{ rules: [{ port: "443" }] }]);
    // What the first call had made goes too, when the machine goes.
    await minutes(mayfly, 33);
    expect([servers(mayfly), held(mayfly)]).toEqual([[], [0, 0, 0]]);
  });

  it("takes up what the first call did make, which goes again if it lacks a firewall that the profile has now", async () => {
    const mayfly = withProfiles({ small: SMALL });
    for (const name of ["same", "other"]) {
      mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "after", times: 1 });
      mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503, times: 3 });
      expect((await put(mayfly, { profile: "small" }, name)).status).toBe(503);
      mayfly.simulator.clearFaults();
    }
    expect(servers(mayfly)).toHaveLength(2);
    change(mayfly, { small: { ...SMALL, cloud_init: "#!/bin/sh\necho new" } });
    expect((await put(mayfly, { profile: "small" }, "same")).status).toBe(200);
    change(mayfly, { small: OTHER });
    expect((await put(mayfly, { profile: "small" }, "other")).status).toBe(200);
    expect(servers(mayfly)).toHaveLength(2);
    await minutes(mayfly, 6);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/same")).status).toBe("running");
    expect(machineIn(await mayfly.send("GET", "/v1/machines/other")).reason).toBe("attach_failed");
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("leaves nothing of either content, where it is refused", async () => {
    const mayfly = withProfiles({ small: SMALL });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    await put(mayfly, { profile: "small" });
    change(mayfly, { small: OTHER });
    mayfly.simulator.stock({ server_type: "cx33", location: "fsn1", orderable: false });
    expect(await put(mayfly, { profile: "small" })).toMatchObject({ status: 503, body: { code: "capacity" } });
    await minutes(mayfly, 20);
    expect([servers(mayfly), held(mayfly)]).toEqual([[], [0, 0, 0]]);
  });

  it("is judged by the profiles that there are now", async () => {
    const mayfly = withProfiles({ small: SMALL });
    await put(mayfly, { profile: "small" });
    change(mayfly, {});
    expect(await put(mayfly, { profile: "small" })).toMatchObject({ status: 422, body: { field: "profile" } });
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("a profile that names what the policy forbids", () => {
  const PROFILES: Profiles = {
    type: { ...SMALL, server_type: "ccx13" },
    region: { ...SMALL, region: "hel1" },
    image: { ...SMALL, image: "fedora-43" },
    network: { ...SMALL, networks: [{ ip_range: "10.0.0.0/16" }] },
    open: { ...SMALL, firewalls: [] },
    long: { ...SMALL, ttl: "3h" },
    kept: { ...SMALL, keep_on_failure: "3h" },
    snapshot: { ...SMALL, image: { label_selector: "role=base" } },
    small: SMALL,
  };
  const POLICY = {
    name: "default",
    server_types: ["cx*"],
    regions: ["fsn1"],
    images: ["ubuntu-*", "role=base"],
    longest: "2h",
    needs_firewall: true,
    cloud_init: false,
    only_profiles: true,
  };

  it.each([
    ["type", "server_type", "forbidden"],
    ["region", "region", "forbidden"],
    ["image", "image", "forbidden"],
    ["open", "firewalls", "forbidden"],
    ["long", "ttl", "limit_lease"],
    ["kept", "keep_on_failure", "limit_lease"],
  ])("is refused: %s", async (profile, field, code) => {
    const mayfly = createMayfly({}, { policies: [POLICY], profiles: PROFILES });
    expect(await put(mayfly, { profile })).toMatchObject({ status: 403, body: { code, field, policy: "default" } });
    expect([await mayfly.store.machines.byName("admin", "box"), mayfly.simulator.requests()]).toEqual([null, []]);
  });

  it("is not refused over what only counts where the caller says it: what is made with it, its cloud-init, a snapshot", async () => {
    const policy = { ...POLICY, may: ["machines" as const] };
    const mayfly = createMayfly({}, { policies: [policy], profiles: PROFILES });
    const labels = { role: "base", "mayfly-image": "" };
    mayfly.simulator.addImage({ architecture: "x86", labels, disk_size: 5 });
    for (const profile of ["small", "network", "snapshot"])
      expect((await put(mayfly, { profile }, profile)).status, profile).toBe(201);
    expect(held(mayfly)).toEqual([3, 1, 1]);
    expect(servers(mayfly)).toHaveLength(3);
  });
});

describe("the cloud-init of a profile", () => {
  it("is in no answer, no log, no error and no table", async () => {
    const policies = [{ name: "default", server_types: ["cx*"], longest: "2h" }];
    const mayfly = createMayfly(LOCAL, { policies, profiles: { small: SMALL } });
    const said: string[] = [];
    const send = async (method: string, path: string, body?: object) => {
      said.push((await mayfly.send(method, path, body)).text);
    };
    const quoted = { status: 422, code: "invalid_input", message: `user_data ${SMALL.cloud_init} is not valid` };
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", times: 1, ...quoted });
    for (const body of [{}, {}, { image: 1 }, { server_type: "ccx13" }, { ttl: "3h" }, { profile: "x" }])
      await send("PUT", "/v1/machines/box", { profile: "small", ...body });
    expect(servers(mayfly)).toMatchObject([{ user_data: SMALL.cloud_init }]);
    await send("GET", "/v1/machines");
    await send("GET", "/v1/machines/box?wait=5");
    await send("GET", "/v1/whoami");
    await send("POST", "/v1/machines/box/renew", { ttl: "1h" });
    change(mayfly, { small: { ...SMALL, cloud_init: CANARY.repeat(2000) } });
    await send("GET", "/v1/whoami");
    mayfly.configure({ PROFILES: `{"small": {"cloud_init": "${CANARY}"` });
    await send("GET", "/v1/whoami");
    expect(said.at(-1)).toContain('"code":"misconfigured"');
    expect(said.at(-2)).toContain('"code":"misconfigured"');
    expect(JSON.stringify(mayfly.logs)).toContain("Misconfigured: profiles.small.cloud_init must be");
    mayfly.configure({ PROFILES: "" });
    await send("DELETE", "/v1/machines/box");
    await mayfly.tick();
    const { DB } = mayfly.bindings;
    const { results: tables } = await DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = tables
      .map(({ name }) => String(name))
      .filter((name) => !name.startsWith("_") && !name.startsWith("sqlite"));
    const rows = await Promise.all(
      names.map(async (name) => (await DB.prepare(`SELECT * FROM "${name}"`).all()).results),
    );
    expect(names).toContain("machines");
    expect(said.length).toBeGreaterThan(10);
    expect(said.join() + JSON.stringify(mayfly.logs) + JSON.stringify(rows)).not.toContain(CANARY);
  });
});
