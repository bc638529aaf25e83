import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toStatus } from "../../../src/driver/hetzner/machine.ts";
import { LIVE_STATUSES } from "../../../src/machine/machine.ts";
import { createMayfly } from "../../mayfly.ts";
import { HOUR, MINUTE, NOW } from "../contract/cloud.ts";
import { openWith } from "./bench.ts";

const OLD = new Date(NOW - HOUR).toISOString();
const statusOf = async (status: unknown, created: unknown = OLD) =>
  (await openWith({ status, created }).get("42")).status;

describe("a server's status", () => {
  it.each([
    ["S3, P46", "initializing", "creating"],
    ["S3, P46", "starting", "creating"],
    ["S4, P46", "running", "running"],
    ["S5, P46", "deleting", "deleting"],
    ["S6, P46", "off", "stopped"],
    ["S6, P46", "stopping", "stopped"],
    ["S7, P46", "migrating", "unknown"],
    ["S7, P46", "rebuilding", "unknown"],
    ["S7, P46", "unknown", "unknown"],
    ["S7, P47", "invented_tomorrow", "unknown"],
    ["S7, P47", "Running", "unknown"],
    ["S7, P47", "constructor", "unknown"],
    ["S7, P47", "", "unknown"],
    ["S7, P47", null, "unknown"],
    ["S7, P47", undefined, "unknown"],
    ["S7, P47", 7, "unknown"],
  ])("%s: %j is %s", async (_, native, status) => {
    expect(await statusOf(native)).toBe(status);
  });

  it("S6, P46, X20: `off` is a step of booting for as long as a boot may take, and never `deleting`", async () => {
    const bornAgo = (milliseconds: number) => statusOf("off", new Date(NOW - milliseconds).toISOString());
    expect(await Promise.all([0, MINUTE, 10 * MINUTE - 1000].map(bornAgo))).toEqual([
      "creating",
      "creating",
      "creating",
    ]);
    expect(await Promise.all([10 * MINUTE, HOUR].map(bornAgo))).toEqual(["stopped", "stopped"]);
    expect(await statusOf("off", null)).toBe("stopped");
  });

  it("S2, S7, P47: any text at all is one of our statuses", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.integer()), fc.integer(), (native, createdAt, now) => {
        expect(LIVE_STATUSES).toContain(toStatus(native, createdAt, now));
      }),
    );
  });
});

describe("a server's fields", () => {
  it.each([1, 42, 2 ** 53 - 1])("S55: the id %i is text", async (id) => {
    expect((await openWith({ id }).get(String(id))).providerId).toBe(String(id));
  });

  it.each([
    ["x86", "amd64"],
    ["arm", "arm64"],
    ["riscv", "riscv"],
    ["constructor", "constructor"],
    ["", ""],
    [null, ""],
    [undefined, ""],
  ])("S56: the architecture %j is %j", async (architecture, arch) => {
    expect((await openWith({ server_type: { name: "t", architecture, prices: [] } }).get("42")).arch).toBe(arch);
  });

  it.each([
    ["2001:db8::/64", "2001:db8::"],
    ["2001:db8:1:2::/64", "2001:db8:1:2::"],
    ["2001:db8::", "2001:db8::"],
    ["2001:db8:1:2:0:0:0:0/64", "2001:db8:1:2::"],
    ["2001:0DB8:0001:0002::/64", "2001:db8:1:2::"],
    ["2001:db8:1:2::1/64", "2001:db8:1:2::"],
    ["2001:db8:0:2::/64", "2001:db8:0:2::"],
    ["2001:db8:1:2::7", "2001:db8:1:2::7"],
    ["odd", "odd"],
  ])("S57: the network %s is shown by its base address", async (ip, base) => {
    expect((await openWith({ public_net: { ipv4: null, ipv6: { ip } } }).get("42")).publicIpv6).toBe(base);
  });

  it("S58, X14: the address to dial is the first of that network", async () => {
    const { publicIpv6 } = await openWith({ public_net: { ipv6: { ip: "2001:db8:1:2::/64" } } }).get("42");
    expect(`${publicIpv6}1`).toBe("2001:db8:1:2::1");
    const mayfly = createMayfly();
    const { text } = await mayfly.send("PUT", "/v1/machines/v6", { server_type: "cx23", region: "fsn1" });
    const network = mayfly.simulator.state().servers[0]?.public_net.ipv6?.ip ?? "";
    expect(text).toContain(`"ipv6":"${network.replace("/64", "1")}"`);
  });

  it("S58: nor does it go by how the provider, or a row from before, spells that network", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/v6", { server_type: "cx23", region: "fsn1" });
    await mayfly.bindings.DB.prepare("UPDATE machines SET public_ipv6 = '2001:db8:1:2:0:0:0:0'").run();
    const { body } = await mayfly.send("GET", "/v1/machines?status=running&status=creating");
    expect(body).toMatchObject({ machines: [{ public_ipv6: "2001:db8:1:2::", ipv6: "2001:db8:1:2::1" }] });
  });

  it.each([
    [{ ipv4: null, ipv6: null }],
    [{ ipv4: null }],
    [{}],
    [null],
    [undefined],
    ["odd"],
    [{ ipv4: { ip: null }, ipv6: { ip: 6 } }],
  ])("S59, P5: with %j for a public network both addresses are empty", async (public_net) => {
    expect(await openWith({ public_net }).get("42")).toMatchObject({ publicIpv4: "", publicIpv6: "" });
  });

  it.each([
    [[{ ip: "10.0.0.2" }, { ip: "10.1.0.2" }], "10.0.0.2"],
    [[], ""],
    [null, ""],
    [undefined, ""],
    ["odd", ""],
  ])("S60: of the private networks %j the first address counts", async (private_net, ip) => {
    expect((await openWith({ private_net }).get("42")).privateIpv4).toBe(ip);
  });

  it.each([
    ["2026-11-30T11:00:00+00:00", Date.UTC(2026, 10, 30, 11)],
    ["2026-11-30T11:00:00Z", Date.UTC(2026, 10, 30, 11)],
    ["2026-11-30T13:30:00+02:30", Date.UTC(2026, 10, 30, 11)],
    ["2026-11-30T06:00:00.250-05:00", Date.UTC(2026, 10, 30, 11) + 250],
  ])("S62: %s is one instant, whatever its offset", async (created, at) => {
    expect((await openWith({ created }).get("42")).createdAt).toBe(at);
  });

  it.each([
    [undefined],
    [null],
    [""],
    ["yesterday"],
    [0],
    [1_796_040_000],
    ["1970-01-01T00:00:00Z"],
    ["2026-13-45T00:00:00Z"],
    ["2026-11-30"],
    [{}],
  ])("S62, P48: %j as the time of creation is no time: neither now nor 1970", async (created) => {
    expect((await openWith({ created }).get("42")).createdAt).toBeNull();
  });

  it.each([[null], [undefined], ["odd"], [7], [[]]])("S70, P4: %j for labels is no labels", async (labels) => {
    expect((await openWith({ labels }).get("42")).labels).toEqual({});
  });

  it("S70: a label that is not text is left out, and cannot make a machine ours", async () => {
    const machine = await openWith({ labels: { "mayfly-managed": "true", a: "1", b: null } }).get("42");
    expect(machine).toMatchObject({ labels: { "mayfly-managed": "true", a: "1" }, hasLabels: true });
    const odd = await openWith({ labels: { "mayfly-managed": true, a: "1" } }).get("42");
    expect(odd).toMatchObject({ labels: {}, hasLabels: false });
  });

  it.each([
    [{ delete: true, rebuild: true }, true],
    [{ delete: false, rebuild: false }, false],
    [{ delete: "yes" }, false],
    [null, false],
    [undefined, false],
  ])("S49: the protection %j keeps it from being destroyed: %s", async (protection, deleteProtected) => {
    expect((await openWith({ protection }).get("42")).deleteProtected).toBe(deleteProtected);
  });

  it("case 12: whatever a field holds, a server with an id can be read", async () => {
    const fields = ["name", "status", "created", "labels", "public_net", "private_net", "server_type", "location"];
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom(...fields, "protection", "more"), fc.jsonValue()),
        async (over) => {
          const machine = await openWith(over).get("42");
          expect(machine.providerId).toBe("42");
          expect(LIVE_STATUSES).toContain(machine.status);
        },
      ),
    );
  });
});

describe("a server's firewalls", () => {
  const attached = async (firewalls: unknown) =>
    (await openWith({ status: "running", created: OLD, public_net: { firewalls }, private_net: [] }).get("42"))
      .attached;

  it("are on it, pending unless they are said to be applied", async () => {
    const firewalls = ["applied", "pending", "invented_tomorrow", "Applied", "", null, undefined, 7].map(
      (status, id) => ({
        id: id + 1,
        status,
      }),
    );
    expect(await attached(firewalls)).toEqual({
      firewallIds: ["1", "2", "3", "4", "5", "6", "7", "8"],
      pendingFirewallIds: ["2", "3", "4", "5", "6", "7", "8"],
      networkIds: [],
    });
  });

  it("are not known where one of them cannot be read", async () => {
    for (const firewalls of [undefined, null, {}, [{ status: "applied" }], [{ id: 1, status: "applied" }, null]])
      expect(await attached(firewalls)).toBeNull();
  });
});

describe("a server's networks", () => {
  const attached = async (private_net: unknown) =>
    (await openWith({ status: "running", created: OLD, public_net: { firewalls: [] }, private_net }).get("42"))
      .attached;

  it("are those that it is in", async () => {
    const networks = [
      { network: 7, ip: "10.0.0.5" },
      { network: 8, ip: "10.1.0.5" },
    ];
    expect(await attached(networks)).toMatchObject({ networkIds: ["7", "8"] });
    expect(await attached([])).toMatchObject({ networkIds: [] });
  });

  it("are not known where one of them cannot be read", async () => {
    for (const networks of [undefined, null, {}, [{ network: 7 }, null], [{ ip: "10.0.0.5" }], [{ network: "7" }]])
      expect(await attached(networks)).toBeNull();
  });
});
