import { describe, expect, it } from "vitest";
import * as z from "zod";
import { resourceJson } from "../../src/http/resources/json.ts";
import { behind } from "../behind.ts";
import {
  createMayfly,
  HOUR,
  machineIn,
  minutes,
  MINUTE,
  NOW,
  OURS,
  servers,
  type Answer,
  type Mayfly,
} from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22", source_ips: ["203.0.113.0/24"] };
const WALL = { name: "web", rules: [SSH] };
const NET = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" };
const KEY = { name: "me", public_key: `${KEY_A} me@here` };
const BOX = { server_type: "cx23", region: "fsn1" };
const of = (kind: string, { body }: Answer) => z.object({ [kind]: resourceJson }).parse(body)[kind];
const namesIn = ({ body }: Answer) =>
  Object.values(z.record(z.string(), z.unknown()).parse(body))
    .filter(Array.isArray)
    .flatMap((all) =>
      z
        .array(resourceJson)
        .parse(all)
        .map(({ name }) => name),
    );
const state = (mayfly: Mayfly) => mayfly.simulator.state();

describe.each([
  ["ssh_key", "ssh_keys", KEY, { ...KEY, public_key: KEY_B }],
  ["firewall", "firewalls", WALL, { ...WALL, rules: [{ direction: "in", protocol: "icmp" }] }],
  ["network", "networks", NET, { ...NET, ip_range: "10.1.0.0/16" }],
] as const)("a %s", (kind, plural, body, other) => {
  const post = (mayfly: Mayfly, sent: unknown = body, token?: string) =>
    mayfly.send("POST", `/v1/${plural}`, sent, token);

  it("is created once under its owner's name, labelled and leased, and a repeat is the same one", async () => {
    const mayfly = createMayfly();
    const created = await post(mayfly, { ...body, ttl: "2h" });
    expect(created.status).toBe(201);
    const one = of(kind, created);
    expect(one).toMatchObject({ name: body.name, owner: "admin", status: "active", machines: [] });
    expect(one?.expires_at).toBe(new Date(NOW + 2 * HOUR).toISOString());
    expect(created.headers.get("Location")).toBe(`/v1/${plural}/${one?.id}`);
    expect(state(mayfly)[plural]).toMatchObject([
      {
        id: Number(one?.provider_id),
        labels: { ...OURS, "mayfly-owner": "admin", "mayfly-name": body.name, created: String(NOW / 1000) },
      },
    ]);
    const repeat = await post(mayfly, { ...body, ttl: "5h" });
    expect([repeat.status, of(kind, repeat)]).toEqual([200, one]);
    expect(state(mayfly)[plural]).toHaveLength(1);
    for (const ref of [body.name, one?.id])
      expect(of(kind, await mayfly.send("GET", `/v1/${plural}/${ref}`))).toEqual(one);
  });

  it("of another spec under the same name is a conflict", async () => {
    const mayfly = createMayfly();
    await post(mayfly);
    expect(await post(mayfly, other)).toMatchObject({ status: 409, body: { code: "spec_mismatch" } });
    expect(state(mayfly)[plural]).toHaveLength(1);
  });

  it("is its owner's alone: unknown and foreign look the same, and an admin reaches all", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    const one = of(kind, await post(mayfly, body, alice));
    expect((await post(mayfly, other, bob)).status).toBe(201);
    expect(namesIn(await mayfly.send("GET", `/v1/${plural}`, undefined, bob))).toEqual([body.name]);
    expect(namesIn(await mayfly.send("GET", `/v1/${plural}`))).toEqual([body.name, body.name]);
    expect((await mayfly.send("GET", `/v1/${plural}/${one?.id}`, undefined, bob)).status).toBe(404);
    expect((await mayfly.send("DELETE", `/v1/${plural}/${one?.id}`, undefined, bob)).status).toBe(404);
    expect((await mayfly.send("GET", `/v1/${plural}?owner=tok.alice`, undefined, bob)).status).toBe(403);
    expect(state(mayfly)[plural]).toHaveLength(2);
    expect((await mayfly.send("DELETE", `/v1/${plural}/${one?.id}`)).status).toBe(200);
    expect(state(mayfly)[plural]).toHaveLength(1);
  });

  it("is listed page by page, each once", async () => {
    const mayfly = createMayfly();
    for (const sent of [body, { ...other, name: "other" }]) expect((await post(mayfly, sent)).status).toBe(201);
    const pages = [];
    for (const page of [1, 2, 3]) pages.push(await mayfly.send("GET", `/v1/${plural}?per_page=1&page=${page}`));
    const [first = [], second = [], third] = pages.map(namesIn);
    expect([first.length, second.length, third]).toEqual([1, 1, []]);
    expect([...first, ...second].toSorted()).toEqual([body.name, "other"].toSorted());
  });

  it("is deleted by name or id; of none that is what was wanted; its name starts anew", async () => {
    const mayfly = createMayfly();
    await post(mayfly);
    const gone = await mayfly.send("DELETE", `/v1/${plural}/${body.name}`);
    expect([gone.status, of(kind, gone)?.status]).toEqual([200, "deleted"]);
    expect(state(mayfly)[plural]).toEqual([]);
    expect((await mayfly.send("DELETE", `/v1/${plural}/${body.name}`)).status).toBe(200);
    expect((await mayfly.send("DELETE", `/v1/${plural}/never-was`)).status).toBe(204);
    expect((await post(mayfly)).status).toBe(201);
  });

  it("whose answer is lost is found again by its uid, and made once", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: `^/v1/${plural}$`, drop: "after" });
    expect((await post(mayfly)).status).toBe(201);
    expect(state(mayfly)[plural]).toHaveLength(1);
  });

  it("whose answer is lost for long is made by the same call again, once", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: `^/v1/${plural}$`, drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: `^/v1/${plural}`, status: 503, times: 5 });
    const failed = await post(mayfly);
    expect([failed.status, failed.headers.get("Retry-After")]).toEqual([503, "5"]);
    mayfly.simulator.clearFaults();
    expect((await post(mayfly)).status).toBe(200);
    expect(state(mayfly)[plural]).toHaveLength(1);
  });

  it("that the provider refuses for good is refused, and leaves nothing to look after", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({
      method: "POST",
      path: `^/v1/${plural}$`,
      status: 422,
      code: "invalid_input",
      message: "no",
    });
    expect(await post(mayfly)).toMatchObject({ status: 422, body: { code: "invalid_input" } });
    expect(namesIn(await mayfly.send("GET", `/v1/${plural}`))).toEqual([]);
    expect((await post(mayfly)).status).toBe(201);
  });

  it("outlives its lease while a machine uses it, and not for long after", async () => {
    const mayfly = createMayfly();
    const one = of(kind, await post(mayfly, { ...body, ttl: "5m" }));
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", { ...BOX, ttl: "30m", [plural]: [body.name] }));
    expect(of(kind, await mayfly.send("GET", `/v1/${plural}/${one?.id}`))?.machines).toEqual([box.id]);
    await minutes(mayfly, 28);
    expect(state(mayfly)[plural]).toHaveLength(1);
    await minutes(mayfly, 6);
    expect([servers(mayfly), state(mayfly)[plural]]).toEqual([[], []]);
  });

  it("that nobody uses goes with its lease; a repeat in time after that begins a new one", async () => {
    const mayfly = createMayfly();
    await post(mayfly, { ...body, ttl: "5m" });
    mayfly.advance(5 * MINUTE);
    const again = await post(mayfly, { ...body, ttl: "5m" });
    expect([again.status, of(kind, again)?.expires_at]).toEqual([200, new Date(NOW + 10 * MINUTE).toISOString()]);
    await minutes(mayfly, 4);
    expect(state(mayfly)[plural]).toHaveLength(1);
    await minutes(mayfly, 3);
    expect(state(mayfly)[plural]).toEqual([]);
  });
});

describe("an SSH key", () => {
  const post = (mayfly: Mayfly, name: string, token: string, public_key = KEY_A) =>
    mayfly.send("POST", "/v1/ssh_keys", { name, public_key }, token);

  it("S98, S100: that the provider has under any name is reused: one row an owner, and the last one deletes", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    const first = of("ssh_key", await post(mayfly, "laptop", alice));
    const second = of("ssh_key", await post(mayfly, "work", bob, `${KEY_A} bob@work`));
    expect(second?.provider_id).toBe(first?.provider_id);
    expect(second?.id).not.toBe(first?.id);
    expect((await mayfly.send("DELETE", "/v1/ssh_keys/laptop", undefined, alice)).status).toBe(200);
    expect(state(mayfly).ssh_keys).toHaveLength(1);
    expect((await mayfly.send("DELETE", "/v1/ssh_keys/work", undefined, bob)).status).toBe(200);
    expect(state(mayfly).ssh_keys).toEqual([]);
  });

  it("S104: trap: that was in the project before is reused, and never ours to delete", async () => {
    const mayfly = createMayfly();
    await behind(mayfly, "POST", "/ssh_keys", { name: "somebody's", public_key: KEY_A });
    const alice = await mayfly.tokenOf("alice");
    expect((await post(mayfly, "laptop", alice)).status).toBe(201);
    const gone = of("ssh_key", await mayfly.send("DELETE", "/v1/ssh_keys/laptop", undefined, alice));
    expect(gone).toMatchObject({ status: "deleted", reason: "requested" });
    expect(state(mayfly).ssh_keys).toMatchObject([{ name: "somebody's" }]);
  });

  it("that is just being deleted for one owner is not promised to another", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    await post(mayfly, "laptop", alice);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/ssh_keys/", status: 503 });
    expect((await mayfly.send("DELETE", "/v1/ssh_keys/laptop", undefined, alice)).status).toBe(202);
    expect(await post(mayfly, "work", bob)).toMatchObject({ status: 409, body: { code: "releasing" } });
    await minutes(mayfly, 3);
    expect((await post(mayfly, "work", bob)).status).toBe(201);
    expect(state(mayfly).ssh_keys).toHaveLength(1);
  });
});

describe("a firewall", () => {
  it("tells its rules as they were asked for, each with the addresses of its own side", async () => {
    const rules = [SSH, { direction: "out", protocol: "udp", port: "53", destination_ips: ["192.0.2.53/32"] }];
    const mayfly = createMayfly();
    expect(of("firewall", await mayfly.send("POST", "/v1/firewalls", { name: "web", rules }))).toMatchObject({ rules });
    expect(of("firewall", await mayfly.send("GET", "/v1/firewalls/web"))).toMatchObject({ rules });
  });
});

describe("what a machine uses", () => {
  const box = (mayfly: Mayfly, more: object = {}, name = "box") =>
    mayfly.send("PUT", `/v1/machines/${name}`, { ...BOX, ...more });

  it("S122, S124: a firewall is applied to machines and taken off, and a repeat is success", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WALL);
    const machine = machineIn(await box(mayfly));
    const act = (action: string) => mayfly.send("POST", `/v1/firewalls/web/${action}`, { machines: ["box"] });
    for (let time = 0; time < 2; time++) {
      expect(of("firewall", await act("apply_to_resources"))?.machines).toEqual([machine.id]);
      mayfly.advance(MINUTE);
    }
    expect(state(mayfly).firewalls).toMatchObject([{ applied_to: [{ server: { id: Number(machine.provider_id) } }] }]);
    for (let time = 0; time < 2; time++) {
      expect(of("firewall", await act("remove_from_resources"))?.machines).toEqual([]);
      mayfly.advance(MINUTE);
    }
    expect(state(mayfly).firewalls).toMatchObject([{ applied_to: [] }]);
  });

  it("S128: trap: a firewall that a live machine uses goes when the machine does, and not before", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WALL);
    await box(mayfly, { firewalls: ["web"], ttl: "10m" });
    const marked = await mayfly.send("DELETE", "/v1/firewalls/web");
    expect([marked.status, of("firewall", marked)?.status]).toEqual([202, "deleting"]);
    expect(await box(mayfly, { firewalls: ["web"] }, "other")).toMatchObject({ status: 422 });
    await minutes(mayfly, 9);
    expect(state(mayfly).firewalls).toHaveLength(1);
    await minutes(mayfly, 3);
    expect([servers(mayfly), state(mayfly).firewalls]).toEqual([[], []]);
  });

  it("a network is joined later, and S140: the same route again is success, another gateway for it a conflict", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", NET);
    await box(mayfly);
    mayfly.advance(MINUTE);
    const joined = await mayfly.send("POST", "/v1/machines/box/attach_to_network", { network: "lab" });
    expect(joined.status).toBe(200);
    mayfly.advance(MINUTE);
    expect(state(mayfly).networks).toMatchObject([{ servers: [Number(machineIn(joined).provider_id)] }]);
    const route = (gateway: string) =>
      mayfly.send("POST", "/v1/networks/lab/add_route", { destination: "0.0.0.0/0", gateway });
    for (let time = 0; time < 2; time++) {
      expect((await route("10.0.0.2")).status).toBe(200);
      mayfly.advance(MINUTE);
    }
    expect(await route("10.0.0.3")).toMatchObject({ status: 409, body: { code: "spec_mismatch" } });
    expect(await route("192.168.0.3")).toMatchObject({ status: 422, body: { field: "gateway" } });
    const shown = machineIn(await mayfly.send("GET", "/v1/machines/box"));
    expect(shown.private_ipv4).toMatch(/^10\.0\./);
  });

  it("a machine that has ended joins no network, and the provider is not asked", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", NET);
    await box(mayfly);
    mayfly.advance(MINUTE);
    await mayfly.send("DELETE", "/v1/machines/box");
    const asked = mayfly.simulator.requests().length;
    const joined = await mayfly.send("POST", "/v1/machines/box/attach_to_network", { network: "lab" });
    expect([joined.status, mayfly.simulator.requests().length]).toEqual([404, asked]);
  });

  it("case 31: what another change of the server or network stops for a moment is told so, and works when repeated", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", NET);
    await box(mayfly);
    mayfly.advance(MINUTE);
    for (const [status, code] of [
      [423, "locked"],
      [409, "conflict"],
    ] as const)
      mayfly.simulator.fault({ method: "POST", path: "attach_to_network$", status, code, message: "busy" });
    const attach = () => mayfly.send("POST", "/v1/machines/box/attach_to_network", { network: "lab" });
    for (const status of [503, 503, 200]) expect((await attach()).status).toBe(status);
    expect((await mayfly.send("DELETE", "/v1/networks/lab")).status).toBe(202);
  });

  it("is not noted as used where the provider surely refused, so that it can go", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", NET);
    await box(mayfly);
    mayfly.advance(MINUTE);
    const refusal = { status: 422, code: "networks_overlap", message: "networks overlap" };
    mayfly.simulator.fault({ method: "POST", path: "attach_to_network$", ...refusal });
    expect(await mayfly.send("POST", "/v1/machines/box/attach_to_network", { network: "lab" })).toMatchObject({
      status: 422,
      body: { code: "invalid_input", field: "network" },
    });
    expect((await mayfly.send("DELETE", "/v1/networks/lab")).status).toBe(200);
    expect(state(mayfly).networks).toEqual([]);
  });

  it("belongs to the same owner: nobody reaches another's machine through a network, or joins another's network", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    const net = of("network", await mayfly.send("POST", "/v1/networks", NET, alice));
    await mayfly.send("POST", "/v1/firewalls", WALL, alice);
    const machine = machineIn(await mayfly.send("PUT", "/v1/machines/box", BOX, bob));
    const asks: [string, string, object][] = [
      ["POST", "/v1/machines/box/attach_to_network", { network: net?.id }],
      ["PUT", "/v1/machines/other", { ...BOX, networks: [net?.id] }],
      ["POST", `/v1/networks/${net?.id}/add_route`, { destination: "0.0.0.0/0", gateway: "10.0.0.2" }],
    ];
    for (const [method, path, body] of asks) {
      const { status } = await mayfly.send(method, path, body, bob);
      expect([404, 422], path).toContain(status);
    }
    const apply = { machines: [machine.id] };
    expect((await mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", apply, alice)).status).toBe(422);
    expect(state(mayfly).networks).toMatchObject([{ servers: [], routes: [] }]);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("of a machine that was deleted by hand, or of one that is gone itself, nobody is sent to compare anything", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WALL);
    await mayfly.send("POST", "/v1/networks", NET);
    const machine = machineIn(await box(mayfly));
    mayfly.advance(MINUTE);
    await behind(mayfly, "DELETE", `/servers/${machine.provider_id}`);
    const anew: unknown = expect.stringContaining("create it anew");
    const gone = { status: 409, body: { code: "identity_mismatch", next: anew } };
    for (const [path, body] of [
      ["/v1/firewalls/web/apply_to_resources", { machines: ["box"] }],
      ["/v1/firewalls/web/remove_from_resources", { machines: ["box"] }],
      ["/v1/machines/box/attach_to_network", { network: "lab" }],
    ] as const)
      expect(await mayfly.send("POST", path, body)).toMatchObject(gone);
    await behind(mayfly, "DELETE", `/firewalls/${state(mayfly).firewalls[0]?.id}`);
    await mayfly.send("DELETE", "/v1/machines/box");
    expect((await box(mayfly)).status).toBe(201);
    expect(await mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", { machines: ["box"] })).toMatchObject(
      gone,
    );
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("I2: neither firewall nor network is put on a server that is not the machine any more", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WALL);
    const machine = machineIn(await box(mayfly));
    mayfly.advance(MINUTE);
    await behind(mayfly, "PUT", `/servers/${machine.provider_id}`, { labels: {} });
    expect(await mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", { machines: ["box"] })).toMatchObject({
      status: 409,
      body: { code: "identity_mismatch" },
    });
    expect(state(mayfly).firewalls).toMatchObject([{ applied_to: [] }]);
  });
});
