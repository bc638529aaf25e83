import { describe, expect, it } from "vitest";
import { behind, between, held } from "../behind.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  minutes,
  MINUTE,
  NOW,
  OURS,
  refusing,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { isObject } from "../simulator/json.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const UID = "9c1d7e60-4b1f-4f3e-8a77-5e2f9b0c4d11";
const WEB = { name: "web", rules: [SSH], ttl: "10m" };
const LAB = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1", ttl: "10m" };
/** As one of ours looks whose row was lost half an hour before its end. */
const STRAY = {
  ...OURS,
  "mayfly-uid": UID,
  created: String(NOW / 1000),
  "mayfly-expires": String((NOW + HOUR / 2) / 1000),
};
/** Makes what is read of one network odd. */
const oddNetwork = (mayfly: Mayfly, odd: Record<string, unknown>) =>
  between(mayfly, async (request, real) => {
    const answer = await real(request);
    const isOne = request.method === "GET" && /networks\/\d+$/.test(new URL(request.url).pathname) && answer.ok;
    if (!isOne) return answer;
    const body: unknown = await answer.json();
    const network = isObject(body) && isObject(body["network"]) ? body["network"] : {};
    return Response.json({ network: { ...network, ...odd } }, { headers: answer.headers });
  });

describe("a machine", () => {
  it("is never made without the firewall that it was asked with, wherever a try was cut", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    const { DB } = mayfly.bindings;
    mayfly.configure({ DB: refusing(DB, /INSERT INTO resource_uses/) });
    expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] })).status).toBe(503);
    mayfly.configure({ DB });
    mayfly.advance(31 * SECOND);
    await mayfly.send("DELETE", "/v1/firewalls/web");
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", status: 503 });
    await mayfly.send("POST", "/v1/firewalls", WEB);
    expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] })).status).not.toBe(200);
    expect(servers(mayfly).filter((one) => one.public_net.firewalls.length === 0)).toEqual([]);
  });

  it("whose firewall could not be put on at its create is destroyed, with the reason kept", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", action_error: { command: "apply_firewall" } });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules: [SSH] }] });
    await minutes(mayfly, 6);
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/machines/box")).body).toMatchObject({ machine: { reason: "attach_failed" } });
  });

  it("is still missed without its firewall when its owner takes another off it, or cannot take it off", async () => {
    const mayfly = createMayfly();
    for (const name of ["web", "other"]) await mayfly.send("POST", "/v1/firewalls", { ...WEB, name, ttl: "5h" });
    const broken = { method: "POST", path: "^/v1/servers$", action_error: { command: "apply_firewall" }, times: 2 };
    mayfly.simulator.fault(broken);
    for (const name of ["a", "b"]) await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, firewalls: ["web"] });
    mayfly.advance(10 * SECOND);
    const off = (firewall: string, name: string) =>
      mayfly.send("POST", `/v1/firewalls/${firewall}/remove_from_resources`, { machines: [name] });
    expect((await off("other", "a")).status).toBe(200);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/firewalls/", status: 503 });
    expect((await off("web", "b")).status).toBe(503);
    await minutes(mayfly, 8);
    expect(servers(mayfly)).toEqual([]);
  });

  it("whose row is lost while it is made is missed without its firewall all the same", async () => {
    const mayfly = createMayfly();
    const { DB } = mayfly.bindings;
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      if (request.method === "POST" && request.url.endsWith("/servers")) await DB.prepare("DELETE FROM machines").run();
      return answer;
    });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", action_error: { command: "apply_firewall" } });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules: [SSH] }] });
    await minutes(mayfly, 6);
    expect(servers(mayfly)).toEqual([]);
  });

  it("that never joined the network it was made with is destroyed at LAUNCH_DEADLINE, and not before", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", action_error: { command: "attach_to_network" } });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, networks: [{ ip_range: "10.0.0.0/16" }] });
    await minutes(mayfly, 15);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 4);
    expect(servers(mayfly)).toEqual([]);
  });

  it("whose firewalls cannot be read is not taken for one without", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules: [SSH] }] });
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      const text = await answer.text();
      const odd = text.replaceAll(/"firewalls":\[\{"id":\d+/g, '"firewalls":[{"id":null');
      return new Response(answer.status === 204 ? null : odd, answer);
    });
    await minutes(mayfly, 10);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("with as much as a body may ask for stays within fifty calls and statements", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const firewalls = [1, 2].map((port) => ({ rules: [{ ...SSH, port: String(port) }] }));
    const networks = [0, 1, 2].map((third) => ({ ip_range: `10.${third}.0.0/16` }));
    await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, alice);
    const region = ["fsn1", "nbg1", "hel1"];
    const server_type = ["cx23", "cx33", "cx43", "cpx22", "cpx32", "ccx13"];
    for (const type of server_type)
      for (const location of region) mayfly.simulator.stock({ server_type: type, location, orderable: false });
    const body = { server_type, region, firewalls, networks, ssh_keys: ["me"], image: { label_selector: "a=b" } };
    mayfly.simulator.addImage({
      created: new Date(NOW).toISOString(),
      labels: { a: "b", "mayfly-image": "" },
      disk_size: 5,
    });
    expect((await mayfly.send("PUT", "/v1/machines/box", body, alice)).status).toBe(503);
    const last = mayfly.logs.findLast(({ event }) => event === "request");
    expect(Number(last?.["statements"])).toBeLessThanOrEqual(50);
    expect(Number(last?.["fetches"])).toBeLessThanOrEqual(50);
  });
});

describe("what lands late, or twice", () => {
  it("is deleted though it is younger than the one of its row", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    const [made] = mayfly.simulator.state().firewalls;
    await mayfly.send("DELETE", "/v1/firewalls/web");
    mayfly.advance(SECOND);
    await behind(mayfly, "POST", "/firewalls", { name: made?.name, labels: made?.labels });
    await minutes(mayfly, 64);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("S135: is deleted beside the one that its row has, which stays", async () => {
    const mayfly = createMayfly();
    let late: Request | undefined;
    const real = between(mayfly, (request, answer) => {
      if (late !== undefined || request.method !== "POST" || !request.url.endsWith("/networks")) return answer(request);
      late = new Request(request);
      throw new Error("no answer yet");
    });
    expect((await mayfly.send("POST", "/v1/networks", { ...LAB, ttl: "5h" })).status).toBe(503);
    mayfly.advance(5 * SECOND);
    expect((await mayfly.send("POST", "/v1/networks", { ...LAB, ttl: "5h" })).status).toBe(200);
    mayfly.advance(5 * SECOND);
    // Its name is taken by now; only one of another name can stand beside it.
    if (late) await real(late);
    const [made] = mayfly.simulator.state().networks;
    await behind(mayfly, "POST", "/networks", { name: "copy", ip_range: made?.ip_range, labels: made?.labels });
    expect(held(mayfly)).toEqual([0, 0, 2, 0]);
    const kept = made?.id;
    await minutes(mayfly, 64);
    expect(mayfly.simulator.state().networks.map(({ id }) => id)).toEqual([kept]);
  });

  it.each([
    ["networks", LAB, 1],
    ["firewalls", WEB, 0],
  ] as const)(
    "of %s is found by the next call where the look after a lost answer was refused",
    async (plural, body, after) => {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ method: "POST", path: `^/v1/${plural}$`, drop: "after" });
      const refused = { status: 429, code: "rate_limit_exceeded", times: 9, after };
      mayfly.simulator.fault({ method: "GET", path: `^/v1/${plural}$`, ...refused });
      expect((await mayfly.send("POST", `/v1/${plural}`, body)).status).toBe(503);
      mayfly.simulator.clearFaults();
      expect((await mayfly.send("POST", `/v1/${plural}`, body)).status).toBe(200);
      expect(mayfly.simulator.state()[plural]).toHaveLength(1);
    },
  );
});

describe("a key", () => {
  it("that is about to go as a leftover is promised to nobody, and made anew once it is gone", async () => {
    const mayfly = createMayfly();
    await behind(mayfly, "POST", "/ssh_keys", { name: "old", public_key: KEY_A, labels: STRAY });
    await minutes(mayfly, 60);
    mayfly.advance(20 * SECOND);
    const post = () => mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A, ttl: "2h" });
    expect(await post()).toMatchObject({ status: 409, body: { code: "releasing" } });
    await minutes(mayfly, 2);
    expect((await post()).status).toBe(201);
    await minutes(mayfly, 60);
    expect(held(mayfly)).toEqual([0, 0, 0, 1]);
  });

  it("stays while a machine of another owner uses it, though that owner has deleted it", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    for (const token of [alice, bob])
      await mayfly.send("POST", "/v1/ssh_keys", { name: "k", public_key: KEY_A }, token);
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ssh_keys: ["k"] }, bob);
    expect((await mayfly.send("DELETE", "/v1/ssh_keys/k", undefined, bob)).status).toBe(202);
    await mayfly.send("DELETE", "/v1/ssh_keys/k", undefined, alice);
    expect(held(mayfly)).toEqual([1, 0, 0, 1]);
    await mayfly.send("DELETE", "/v1/machines/box", undefined, bob);
    await minutes(mayfly, 2);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("of two rows that end at once is deleted once, as its dry run tells", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b"]) await mayfly.send("POST", "/v1/ssh_keys", { name, public_key: KEY_A, ttl: "5m" });
    const shown = (report: Awaited<ReturnType<Mayfly["tick"]>>) =>
      report?.phases.flatMap(({ items }) => items.map(({ outcome, reason }) => `${outcome} ${reason}`));
    for (let minute = 0; minute < 8; minute++) {
      mayfly.advance(MINUTE);
      const dry = shown(await mayfly.tick(mayfly.now(), true));
      expect(shown(await mayfly.tick())).toEqual(dry);
    }
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });
});

describe("odd answers", () => {
  it.each([{ servers: [null] }, { servers: undefined }, { load_balancers: [4711] }])(
    "a network that reads %j is not deleted under whoever may be in it",
    async (odd) => {
      const mayfly = createMayfly();
      await mayfly.send("POST", "/v1/networks", LAB);
      oddNetwork(mayfly, odd);
      await minutes(mayfly, 20);
      expect(held(mayfly)).toEqual([0, 0, 1, 0]);
    },
  );

  it("a network whose routes cannot be read is deleted all the same", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", LAB);
    oddNetwork(mayfly, { routes: null });
    await minutes(mayfly, 14);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("an answer to a create that is about another firewall is not believed", async () => {
    const mayfly = createMayfly();
    const foreign = await behind(mayfly, "POST", "/firewalls", { name: "foreign", rules: [] });
    mayfly.simulator.fault({ method: "POST", path: "^/v1/firewalls$", status: 201, body: JSON.stringify(foreign) });
    expect((await mayfly.send("POST", "/v1/firewalls", WEB)).status).toBe(503);
    expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] })).status).toBe(422);
    expect(servers(mayfly)).toEqual([]);
  });

  it("I8: a kind that cannot be listed hides no other, and no caller's name stops the hourly look", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    const [made] = mayfly.simulator.state().firewalls;
    await mayfly.send("DELETE", "/v1/firewalls/web");
    await mayfly.send("POST", "/v1/firewalls", { ...WEB, name: made?.labels["mayfly-uid"], ttl: "24h" });
    await behind(mayfly, "POST", "/firewalls", { name: made?.name, labels: made?.labels });
    await behind(mayfly, "POST", "/networks", { name: "old", ip_range: "10.0.0.0/16", labels: STRAY });
    mayfly.simulator.fault({ method: "GET", path: "^/v1/firewalls$", status: 500, times: 5 });
    await minutes(mayfly, 70);
    expect(held(mayfly)).toEqual([0, 1, 0, 0]);
  });
});
