import { describe, expect, it } from "vitest";
import { behind, held } from "../behind.ts";
import { BODY, createMayfly, HOUR, minutes, MINUTE, NOW, OURS, refusing, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const ALL = { ssh_keys: [KEY_A], firewalls: [{ rules: [SSH] }], networks: [{ ip_range: "10.0.0.0/16" }] };
const UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";
const deletes = (mayfly: Mayfly) =>
  mayfly.simulator
    .requests()
    .filter(({ method, status }) => method === "DELETE" && status < 300)
    .map(({ path }) => path.split("/")[2]);
const outcomes = (report: Awaited<ReturnType<Mayfly["tick"]>>) =>
  report?.phases.flatMap(({ items, failure }) => [
    ...items.map(({ outcome }) => outcome),
    ...(failure ? ["failed"] : []),
  ]);

it("I4: what is due of firewalls is looked for when machines have died, and without the rules that it was made with", async () => {
  const mayfly = createMayfly();
  const ranges = Array.from({ length: 100 }, (_, index) => `10.0.${index}.0/24`);
  const long = Array.from({ length: 5 }, (_, port) => ({ ...SSH, port: String(port + 1), source_ips: ranges }));
  await mayfly.send("POST", "/v1/firewalls", { name: "long", rules: long, ttl: "60s" });
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "60s" });
  mayfly.advance(2 * MINUTE);
  const looks: number[] = [];
  const { DB } = mayfly.bindings;
  const looking = new Proxy(DB, {
    get: (target, key: keyof D1Database) => {
      if (key !== "prepare") return target[key].bind(target);
      return (text: string) => {
        if (text.startsWith("SELECT uid") && text.includes("FROM resources")) looks.push(servers(mayfly).length);
        expect(text).not.toMatch(/^SELECT \*.* FROM resources/s);
        return target.prepare(text);
      };
    },
  });
  mayfly.configure({ DB: looking });
  await mayfly.tick();
  expect(looks).toEqual([0]);
});

describe("tearing down all that an owner has", () => {
  async function fleet(mayfly: Mayfly, token: string) {
    await mayfly.send("POST", "/v1/networks", { name: "lab", ip_range: "10.1.0.0/16", region: "fsn1" }, token);
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH] }, token);
    await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_B }, token);
    for (const name of ["a", "b", "c"])
      await mayfly.send(
        "PUT",
        `/v1/machines/${name}`,
        { ...BODY, networks: ["lab"], firewalls: ["web"], ssh_keys: ["me", KEY_A] },
        token,
      );
    await minutes(mayfly, 1);
  }

  it("S52, S53, S130: with detaching still under way leaves an empty project inside three ticks, in order, and no error", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    await fleet(mayfly, alice);
    await mayfly.send("PUT", "/v1/machines/his", { ...BODY, ssh_keys: [KEY_A] }, bob);
    const before = mayfly.simulator.requests().length;
    // The provider needs a while to take a firewall off a server that is gone.
    const inUse = { status: 422, code: "resource_in_use", message: "firewall is in use" };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/firewalls/", times: 2, ...inUse });
    const torn = await mayfly.send("POST", "/v1/teardown", {}, alice);
    expect(torn.status).toBe(202);
    expect(torn.body).toMatchObject({ machines: [{}, {}, {}], dry_run: false });
    const told = [];
    for (let tick = 0; tick < 3; tick++) {
      mayfly.advance(MINUTE);
      told.push(outcomes(await mayfly.tick()));
    }
    expect(told.flat().filter((one) => one === "error" || one === "alert" || one === "failed")).toEqual([]);
    expect(told.at(-1)).not.toContain("remaining");
    expect(servers(mayfly).map(({ name }) => name.slice(0, 3))).toEqual(["his"]);
    // What the other owner's machine uses is the other owner's too.
    expect(held(mayfly)).toEqual([1, 0, 0, 1]);
    const order = mayfly.simulator
      .requests()
      .slice(before)
      .flatMap(({ method, path, status }) => (method === "DELETE" && status < 300 ? [path.split("/")[2] ?? ""] : []));
    expect(order.lastIndexOf("servers")).toBeLessThan(order.indexOf("firewalls"));
    expect(order.lastIndexOf("servers")).toBeLessThan(order.indexOf("networks"));
    expect(order.lastIndexOf("servers")).toBeLessThan(order.indexOf("ssh_keys"));
    const { results } = await mayfly.bindings.DB.prepare(
      "SELECT count(*) AS open FROM resources WHERE owner = 'tok.alice' AND phase NOT IN ('deleted', 'failed')",
    ).all();
    expect(results).toEqual([{ open: 0 }]);
  });

  it("only names it all in a dry run", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await fleet(mayfly, alice);
    const named = await mayfly.send("POST", "/v1/teardown", { dry_run: true }, alice);
    expect(named.body).toMatchObject({ dry_run: true, machines: [{}, {}, {}] });
    await minutes(mayfly, 3);
    expect(held(mayfly)).toEqual([3, 1, 1, 2]);
    expect((await mayfly.send("POST", "/v1/teardown?owner=tok.alice", {}, await mayfly.tokenOf("bob"))).status).toBe(
      403,
    );
  });

  it("S52: whoever deletes by hand meets the same order: firewalls, networks and keys wait for the machines", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await fleet(mayfly, alice);
    for (const path of ["ssh_keys/me", "networks/lab", "firewalls/web"])
      expect((await mayfly.send("DELETE", `/v1/${path}`, undefined, alice)).status).toBe(202);
    expect(held(mayfly)).toEqual([3, 1, 1, 2]);
    for (const name of ["a", "b", "c"]) await mayfly.send("DELETE", `/v1/machines/${name}`, undefined, alice);
    await minutes(mayfly, 3);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
    expect(deletes(mayfly).slice(0, 4)).toEqual(["servers", "servers", "servers", "firewalls"]);
  });
});

describe("the orphans phase", () => {
  it("I4: deletes nothing at the first look, and nothing that a machine began to use between two looks", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH], ttl: "5m" });
    await minutes(mayfly, 5);
    expect(held(mayfly)).toEqual([0, 1, 0, 0]);
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"], ttl: "10m" });
    await minutes(mayfly, 9);
    expect(held(mayfly)).toEqual([1, 1, 0, 0]);
    await minutes(mayfly, 4);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("I2: never deletes what is not the recorded one any more, says so, and gives it up", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH], ttl: "5m" });
    await behind(mayfly, "PUT", `/firewalls/${mayfly.simulator.state().firewalls[0]?.id}`, { labels: {} });
    const told: (string[] | undefined)[] = [];
    for (let minute = 0; minute < 40; minute++) {
      mayfly.advance(MINUTE);
      told.push(outcomes(await mayfly.tick()));
    }
    expect(told.flat()).toContain("alert");
    expect(held(mayfly)).toEqual([0, 1, 0, 0]);
    expect((await mayfly.send("GET", "/v1/firewalls/web")).body).toMatchObject({
      firewall: { status: "deleted", reason: "disowned" },
    });
  });

  it("I2: leaves a network in which another server stands, however long", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, networks: [{ ip_range: "10.0.0.0/16" }], ttl: "5m" });
    const stranger = mayfly.simulator.addServer({ name: "stranger", created: new Date(NOW).toISOString() });
    await minutes(mayfly, 1);
    const [network] = mayfly.simulator.state().networks;
    await behind(mayfly, "POST", `/servers/${stranger.id}/actions/attach_to_network`, { network: network?.id });
    await minutes(mayfly, 60);
    expect(held(mayfly)).toEqual([1, 0, 1, 0]);
    await behind(mayfly, "DELETE", `/servers/${stranger.id}`);
    await minutes(mayfly, 16);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("I8: one that the provider will not delete delays no other, and is tried again", async () => {
    const mayfly = createMayfly();
    for (const [name, ip_range] of [
      ["a", "10.1.0.0/16"],
      ["b", "10.2.0.0/16"],
    ])
      await mayfly.send("POST", "/v1/networks", { name, ip_range, region: "fsn1", ttl: "5m" });
    const [stuck] = mayfly.simulator.state().networks;
    mayfly.simulator.fault({ method: "DELETE", path: `^/v1/networks/${stuck?.id}$`, status: 500, times: 4 });
    await minutes(mayfly, 8);
    expect(mayfly.simulator.state().networks.map(({ id }) => id)).toEqual([stuck?.id]);
    await minutes(mayfly, 40);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("finds once an hour what has no row: past its label's end and used by nobody it goes, at the second look", async () => {
    const mayfly = createMayfly();
    const labels = (uid: string, more = {}) => ({
      ...OURS,
      "mayfly-uid": uid,
      created: String(NOW / 1000),
      "mayfly-expires": String((NOW + HOUR / 2) / 1000),
      ...more,
    });
    await behind(mayfly, "POST", "/firewalls", { name: "old", labels: labels(UID) });
    await behind(mayfly, "POST", "/networks", {
      name: "old",
      ip_range: "10.0.0.0/16",
      labels: labels(UID.replace("9", "8")),
    });
    await behind(mayfly, "POST", "/ssh_keys", {
      name: "old",
      public_key: KEY_A,
      labels: labels(UID.replace("9", "7")),
    });
    const later = { "mayfly-expires": String((NOW + 20 * HOUR) / 1000) };
    await behind(mayfly, "POST", "/firewalls", { name: "promised", labels: labels(UID.replace("9", "6"), later) });
    await behind(mayfly, "POST", "/firewalls", { name: "foreign", labels: { "mayfly-uid": UID } });
    await minutes(mayfly, 59);
    expect(held(mayfly)).toEqual([0, 3, 1, 1]);
    await minutes(mayfly, 4);
    expect(mayfly.simulator.state().firewalls.map(({ name }) => name)).toEqual(["promised", "foreign"]);
    expect(held(mayfly)).toEqual([0, 2, 0, 0]);
  });

  it("I4: leaves what has no row alone while it is so young that one may be on its way", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    mayfly.advance(55 * MINUTE);
    const seconds = (at: number) => String(at / 1000);
    const times = { created: seconds(mayfly.now()), "mayfly-expires": seconds(mayfly.now() + MINUTE) };
    await behind(mayfly, "POST", "/firewalls", { name: "young", labels: { ...OURS, "mayfly-uid": UID, ...times } });
    await minutes(mayfly, 15);
    expect(held(mayfly)).toEqual([0, 1, 0, 0]);
  });

  it("is looked for once an hour, not at every tick: each look is three lists", async () => {
    const mayfly = createMayfly();
    await mayfly.tick();
    mayfly.advance(HOUR);
    await minutes(mayfly, 10);
    const lists = mayfly.simulator
      .requests()
      .filter(({ path }) => /^\/v1\/(?:firewalls|networks|ssh_keys)$/.test(path));
    expect(lists).toHaveLength(3);
  });

  it("finds a hundred without a row in some ticks, each within what a free plan allows", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 100; number++)
      await behind(mayfly, "POST", "/firewalls", {
        name: `f${number}`,
        labels: {
          ...OURS,
          "mayfly-uid": `9c1d7e60-4b1f-4f3e-8a77-${String(number).padStart(12, "0")}`,
          created: String(NOW / 1000),
          "mayfly-expires": String((NOW + HOUR / 2) / 1000),
        },
      });
    mayfly.advance(HOUR);
    for (let tick = 0; tick < 20; tick++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
      expect(report?.statements).toBeLessThanOrEqual(40);
    }
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("finds what landed after its row had ended, and deletes it", async () => {
    const mayfly = createMayfly();
    const inputs = { name: "web", rules: [SSH] };
    await mayfly.send("POST", "/v1/firewalls", inputs);
    const [made] = mayfly.simulator.state().firewalls;
    await mayfly.send("DELETE", "/v1/firewalls/web");
    await behind(mayfly, "POST", "/firewalls", { name: made?.name, labels: made?.labels });
    expect((await mayfly.send("POST", "/v1/firewalls", inputs)).status).toBe(409);
    await minutes(mayfly, 63);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
    expect((await mayfly.send("POST", "/v1/firewalls", inputs)).status).toBe(201);
  });

  it("stays within what a free plan allows, and gets through a hundred in the end", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 100; number++)
      await mayfly.send("POST", "/v1/firewalls", { name: `f${number}`, rules: [SSH], ttl: "5m" });
    mayfly.advance(5 * MINUTE);
    for (let tick = 0; tick < 12; tick++) {
      mayfly.advance(MINUTE);
      const report = await mayfly.tick();
      expect(report?.fetches).toBeLessThanOrEqual(40);
      expect(report?.statements).toBeLessThanOrEqual(40);
    }
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("is foretold by a dry run, which deletes nothing", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [SSH], ttl: "5m" });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ...ALL, ttl: "5m" });
    const shown = (report: Awaited<ReturnType<Mayfly["tick"]>>) =>
      report?.phases.map(({ phase, items, failure }) => [phase, items, failure]);
    for (let minute = 0; minute < 12; minute++) {
      mayfly.advance(MINUTE);
      const before = held(mayfly);
      const dry = await mayfly.tick(mayfly.now(), true);
      expect(held(mayfly)).toEqual(before);
      expect(shown(await mayfly.tick())).toEqual(shown(dry));
    }
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("that D1 refuses stops nothing else", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "5m" });
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /resource/) });
    await minutes(mayfly, 6);
    expect(servers(mayfly)).toEqual([]);
  });
});
