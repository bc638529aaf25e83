import { describe, expect, it } from "vitest";
import { UNKNOWN_PRICES } from "../../../src/machine/money.ts";
import { DEFAULT_IMAGE } from "../../../src/machine/spec.ts";
import { createMayfly } from "../../mayfly.ts";
import { spec } from "../contract/cloud.ts";
import type { MachineSpec } from "../../../src/machine/spec.ts";
import { openCanned, openSimulated, pageOf, serverJson } from "./bench.ts";

/** The body of the one `POST /servers` that a create sends. */
async function bodyOf(over: Partial<MachineSpec> = {}): Promise<unknown> {
  const { driver, sent } = openCanned(() =>
    Response.json({ server: serverJson({ labels: spec().labels }) }, { status: 201 }),
  );
  await driver.create(spec(over));
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /servers"]);
  return sent[0]?.body;
}

describe("the body of a create", () => {
  it("S28, S32, S35: says every default out loud, sends nothing as null and nothing that is not needed", async () => {
    expect(await bodyOf({ labels: {} })).toEqual({
      name: "ci-1",
      server_type: "cx23",
      image: "debian-12",
      location: "fsn1",
      labels: {},
      public_net: { enable_ipv4: true, enable_ipv6: true },
    });
  });

  it("S15, S17, S18: what a caller leaves out is debian-12 with both address families", async () => {
    const mayfly = createMayfly();
    const { status } = await mayfly.send("PUT", "/v1/machines/plain", { server_type: "cx23", region: "fsn1" });
    expect([status, DEFAULT_IMAGE]).toEqual([201, "debian-12"]);
    const [server] = mayfly.simulator.state().servers;
    expect(server?.image).toMatchObject({ name: "debian-12" });
    expect(server?.public_net.ipv4).not.toBeNull();
    expect(server?.public_net.ipv6).not.toBeNull();
  });

  it.each(["ubuntu-24.04", "317629862"])("S16: passes the image %s on unchanged", async (image) => {
    expect(await bodyOf({ image })).toMatchObject({ image });
  });

  it.each([
    ["S17: both", true, true],
    ["S18: IPv4 alone", true, false],
    ["S19, S20: IPv6 alone", false, true],
  ])("%s is said explicitly", async (_, enableIpv4, enableIpv6) => {
    expect(await bodyOf({ enableIpv4, enableIpv6 })).toMatchObject({
      public_net: { enable_ipv4: enableIpv4, enable_ipv6: enableIpv6 },
    });
  });

  it("S19, S20: without IPv4 the address is empty, and IPv6 is still there", async () => {
    const { driver } = openSimulated();
    const machine = await driver.create(spec({ enableIpv4: false }));
    expect(machine.publicIpv4).toBe("");
    expect(machine.publicIpv6).toMatch(/^2001:db8:/);
  });

  it.each(["#cloud-config\nruncmd:\n  - 'true'\n", "\r\n\ttabs, \u0000 and 🦋\n\n"])(
    "S27: cloud-init arrives byte for byte (%j)",
    async (cloudInit) => {
      const { driver, sim } = openSimulated();
      await driver.create(spec({ cloudInit }));
      expect(sim.state().servers[0]?.user_data).toBe(cloudInit);
    },
  );

  it("S27: empty cloud-init is not sent at all", async () => {
    expect(await bodyOf({ cloudInit: "" })).not.toHaveProperty("user_data");
  });

  it("S34, case 13: the region goes out as `location`; data centres are neither sent nor asked for", async () => {
    const { driver, sim, sent } = openSimulated();
    await driver.create(spec({ region: "nbg1" }));
    await driver.list({});
    await driver.priceEurPerHour("nbg1", "cx23");
    const post = sent.find(({ method }) => method === "POST");
    expect(post?.body).toMatchObject({ location: "nbg1" });
    expect(post?.body).not.toHaveProperty("datacenter");
    expect(sim.requests().filter(({ path }) => path.includes("datacenter"))).toEqual([]);
    expect(sim.state().servers[0]?.location).toMatchObject({ name: "nbg1" });
  });

  it("S35: a server is started by default, so nothing is said about it", async () => {
    expect(await bodyOf()).not.toHaveProperty("start_after_create");
  });

  it("S22, S32: keys and networks go out as numbers; with a network neither address family is needed", async () => {
    const body = await bodyOf({ enableIpv4: false, enableIpv6: false, networkIds: ["7"], sshKeyIds: ["1", "2"] });
    expect(body).toMatchObject({ networks: [7], ssh_keys: [1, 2], public_net: { enable_ipv4: false } });
  });

  it.each([{ sshKeyIds: ["my-key"] }, { networkIds: ["1.5"] }])(
    "refuses %j, which are no Hetzner ids",
    async (over) => {
      const { driver, sent } = openCanned(() => pageOf([]));
      await expect(driver.create(spec(over))).rejects.toMatchObject({ code: "invalid_input" });
      expect(sent).toEqual([]);
    },
  );

  it("P22: labels are part of the create call, and nothing is written after it", async () => {
    const { driver, sim, sent } = openSimulated();
    const { labels } = spec();
    await driver.create(spec());
    expect(sent.filter(({ method }) => method !== "GET").map(({ body }) => body)).toMatchObject([{ labels }]);
    expect(sim.state().servers[0]?.labels).toEqual(labels);
  });

  it("S37: one POST, answered with the server's id as text, and no waiting", async () => {
    const { driver, sim, count } = openSimulated();
    const machine = await driver.create(spec());
    expect(machine).toMatchObject({ providerId: String(sim.state().servers[0]?.id), status: "creating" });
    expect([count("POST"), count("GET"), count("GET", `/servers/${machine.providerId}`)]).toEqual([1, 0, 0]);
  });

  it("S38: everything about the new machine is read from that one answer", async () => {
    const answer = serverJson({
      id: 77,
      name: "ci-1",
      status: "initializing",
      hasLabels: true,
      labels: { ...spec().labels, team: "b" },
      private_net: [{ ip: "10.0.0.5" }],
      server_type: {
        name: "cax11",
        architecture: "arm",
        prices: [{ location: "hel1", price_hourly: { net: "0.0084", gross: "0.009996" } }],
      },
      location: { name: "hel1" },
    });
    const { driver, sent } = openCanned(() => Response.json({ server: answer }, { status: 201 }));
    expect(await driver.create(spec())).toEqual({
      providerId: "77",
      name: "ci-1",
      status: "creating",
      labels: { ...spec().labels, team: "b" },
      hasLabels: true,
      arch: "arm64",
      serverType: "cax11",
      region: "hel1",
      publicIpv4: "192.0.2.1",
      publicIpv6: "2001:db8:1:2::",
      privateIpv4: "10.0.0.5",
      createdAt: Date.UTC(2026, 10, 30, 11),
      ...UNKNOWN_PRICES,
      priceEurPerHour: 0.009996,
      deleteProtected: false,
      attached: null,
    });
    expect(sent).toHaveLength(1);
  });
});
