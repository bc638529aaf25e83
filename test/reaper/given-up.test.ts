import { describe, expect, it } from "vitest";
import { behind, held } from "../behind.ts";
import { createMayfly, HOUR, minutes, MINUTE, NOW, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const WEB = { name: "web", rules: [SSH], ttl: "5m" };
const LAB = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1", ttl: "5m" };
const KEY = { name: "me", public_key: KEY_A, ttl: "5m" };
const IN_USE = { status: 422, code: "resource_in_use", message: "it is in use", times: Infinity };

const itemsOf = (report: Awaited<ReturnType<Mayfly["tick"]>>) => report?.phases.flatMap(({ items }) => items) ?? [];
const select = (mayfly: Mayfly) =>
  behind(mayfly, "POST", `/firewalls/${mayfly.simulator.state().firewalls[0]?.id}/actions/apply_to_resources`, {
    apply_to: [{ type: "label_selector", label_selector: { selector: "role=web" } }],
  });

/** Lets hours pass with a tick each quarter; answers all alerts. */
async function hours(mayfly: Mayfly, count: number) {
  const told = [];
  for (let quarter = 0; quarter < count * 4; quarter++) {
    mayfly.advance(15 * MINUTE);
    told.push(...itemsOf(await mayfly.tick()));
  }
  return told.filter(({ outcome }) => outcome === "alert");
}

describe("a firewall that somebody has put on a label selector", () => {
  it("is taken off it and goes after its end, as its dry run tells", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    await select(mayfly);
    for (let minute = 0; minute < 10; minute++) {
      mayfly.advance(MINUTE);
      const dry = itemsOf(await mayfly.tick(mayfly.now(), true));
      expect(itemsOf(await mayfly.tick())).toEqual(dry);
    }
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("goes on its owner's word with the sweep after it", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    await select(mayfly);
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(202);
    await minutes(mayfly, 2);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });
});

describe("what the provider does not let go of", () => {
  it.each([
    ["firewalls", WEB, { firewall: { status: "failed", reason: "given_up" } }],
    ["networks", LAB, { network: { status: "failed", reason: "given_up" } }],
    ["ssh_keys", KEY, { ssh_key: { status: "failed", reason: "given_up" } }],
  ] as const)(
    "is given up after some hours, once, with an alert, and its name is free: %s",
    async (path, body, gone) => {
      const mayfly = createMayfly();
      await mayfly.send("POST", `/v1/${path}`, body);
      mayfly.simulator.fault({ method: "DELETE", path: `^/v1/${path}/`, ...IN_USE });
      expect(await hours(mayfly, 5)).toEqual([]);
      expect(await mayfly.send("POST", `/v1/${path}`, body)).toMatchObject({
        status: 409,
        body: { code: "releasing" },
      });
      expect(await hours(mayfly, 20)).toMatchObject([{ reason: "given_up" }]);
      expect((await mayfly.send("GET", `/v1/${path}/${body.name}`)).body).toMatchObject(gone);
      expect(mayfly.simulator.state()[path]).toHaveLength(1);
      expect((await mayfly.send("POST", `/v1/${path}`, { ...body, ttl: "5h" })).status).toBe(201);
      expect((await mayfly.send("POST", `/v1/${path}`, { ...body, ttl: "5h" })).status).toBe(200);
    },
  );

  it("costs no sweep anything more, and is not brought back by the hourly look", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", LAB);
    const stranger = mayfly.simulator.addServer({ name: "stranger", created: new Date(NOW).toISOString() });
    const [network] = mayfly.simulator.state().networks;
    await behind(mayfly, "POST", `/servers/${stranger.id}/actions/attach_to_network`, { network: network?.id });
    await hours(mayfly, 9);
    const before = mayfly.simulator.requests().length;
    expect(await hours(mayfly, 3)).toEqual([]);
    const looks = mayfly.simulator.requests().slice(before);
    expect(looks.filter(({ path }) => path.includes("/networks/"))).toEqual([]);
    expect(looks.filter(({ path }) => path.endsWith("/networks"))).not.toEqual([]);
    expect(held(mayfly)).toEqual([1, 0, 1, 0]);
  });

  it("is not given up for an outage, however long, nor at the first refusal after it", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", WEB);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/firewalls/", status: 503, times: Infinity });
    await hours(mayfly, 12);
    mayfly.simulator.clearFaults();
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/firewalls/", ...IN_USE, times: 1 });
    await hours(mayfly, 1);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
    expect((await mayfly.send("GET", "/v1/firewalls/web")).body).toMatchObject({ firewall: { status: "deleted" } });
  });

  it("is not given up for an answer of the provider's that cannot be read", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", LAB);
    const [network] = mayfly.simulator.state().networks;
    const odd = { network: { ...network, servers: [null] } };
    const fault = { method: "GET", path: `^/v1/networks/${network?.id}$`, status: 200, body: odd, times: Infinity };
    mayfly.simulator.fault(fault);
    await hours(mayfly, 12);
    mayfly.simulator.clearFaults();
    await hours(mayfly, 1);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("is what a network is that somebody has protected, and never on its owner's DELETE, which would call it gone", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/networks", { ...LAB, ttl: "9h" });
    mayfly.simulator.fault({
      method: "DELETE",
      path: "^/v1/networks/",
      status: 423,
      code: "protected",
      times: Infinity,
    });
    for (let quarter = 0; quarter < 60; quarter++) {
      expect((await mayfly.send("DELETE", "/v1/networks/lab")).status).toBe(202);
      mayfly.advance(15 * MINUTE);
    }
    expect(await hours(mayfly, 1)).toMatchObject([{ reason: "given_up" }]);
    mayfly.advance(HOUR);
    expect((await mayfly.send("POST", "/v1/networks", LAB)).status).toBe(201);
  });
});
