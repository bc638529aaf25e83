import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, servers } from "../mayfly.ts";

const ANYWHERE = ["0.0.0.0/0", "::/0"];
/** What the provider's console puts into a new firewall, as the provider then answers it. */
const DEFAULT_RULES = [
  {
    description: null,
    direction: "in",
    source_ips: ANYWHERE,
    destination_ips: [],
    protocol: "tcp",
    port: "22",
  },
  {
    description: null,
    direction: "in",
    source_ips: ANYWHERE,
    destination_ips: [],
    protocol: "icmp",
    port: null,
  },
];
/** A file of rules as its command line takes one. */
const FILE = [
  {
    description: "Allow port 80",
    direction: "in",
    port: "80",
    protocol: "tcp",
    source_ips: ["192.0.2.1/32", "192.0.2.0/24", "2001:0db8:9a3b:ee58:5ca:990c:8bc9:c03b/128"],
  },
  { description: "Allow port 443", direction: "in", port: "443", protocol: "tcp", source_ips: ANYWHERE },
  { description: "", direction: "out", source_ips: [], destination_ips: ["192.0.2.0/24"], protocol: "udp", port: "53" },
  { direction: "in", protocol: "esp", source_ips: ["198.51.100.7/32"] },
  { direction: "in", protocol: "gre", source_ips: ["198.51.100.7/32"], description: "tunnel" },
];

const withWall = (ranges: string[]) => ({
  ...BODY,
  firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: "22", source_ips: ranges }] }],
});
/** Of that with `AAAA::/16`, as versions wrote it that kept ranges as they came. */
const FORMER = "a0433752f050b11c9fb6fa19b33126f401be8e741ab1b8e1d1253c28fa9f0422";

describe("rules as the provider writes them", () => {
  it.each([
    ["the console's own", DEFAULT_RULES],
    ["those of a file", FILE],
  ])("are taken as they are, shown, and the same to the provider: %s", async (_, rules) => {
    const mayfly = createMayfly();
    const created = await mayfly.send("POST", "/v1/firewalls", { name: "web", rules });
    expect(created.status).toBe(201);
    const [atProvider] = mayfly.simulator.state().firewalls;
    // What the provider answers is taken too, and is the same firewall.
    const again = await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: atProvider?.rules });
    expect([again.status, again.body]).toEqual([200, created.body]);
    const boxed = await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules }] });
    expect(boxed.status).toBe(201);
    expect(mayfly.simulator.state().firewalls[1]?.rules).toEqual(atProvider?.rules);
  });

  it("say what they are for, which is part of what was asked for", async () => {
    const mayfly = createMayfly();
    const { body } = await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: FILE });
    expect(body).toMatchObject({ firewall: { rules: [{ description: "Allow port 80" }, {}, {}, {}, {}] } });
    expect(mayfly.simulator.state().firewalls).toMatchObject([
      { rules: [{ description: "Allow port 80" }, {}, { description: null }, { description: null }, { port: null }] },
    ]);
    const [first, ...others] = FILE;
    const other = [{ ...first, description: "else" }, ...others];
    expect((await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: other })).status).toBe(409);
  });

  it("are refused where an empty list would let everybody in, whatever the other side's says", async () => {
    const mayfly = createMayfly();
    const inbound = { direction: "in", protocol: "icmp", port: null, source_ips: [], destination_ips: [] };
    const outbound = { direction: "out", protocol: "icmp", port: null, source_ips: [], destination_ips: [] };
    for (const [rule, side] of [
      [inbound, "source_ips"],
      [outbound, "destination_ips"],
    ] as const)
      expect(await mayfly.send("POST", "/v1/firewalls", { name: "web", rules: [rule] })).toMatchObject({
        status: 422,
        body: { field: `rules.0.${side}`, rule: expect.stringContaining("at least one address range") as unknown },
      });
    expect(mayfly.simulator.requests()).toEqual([]);
  });
});

describe("ranges that mean the same", () => {
  it("are the same firewall, and are shown in one spelling", async () => {
    const mayfly = createMayfly();
    const post = (range: string) =>
      mayfly.send("POST", "/v1/firewalls", {
        name: "web",
        rules: [{ direction: "in", protocol: "icmp", source_ips: [range] }],
      });
    expect(await post("AAAA::/16")).toMatchObject({
      status: 201,
      body: { firewall: { rules: [{ source_ips: ["aaaa::/16"] }] } },
    });
    expect((await post("aaaa:0::/16")).status).toBe(200);
    expect((await post("aaab::/16")).status).toBe(409);
  });

  it("are the same machine", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await mayfly.send("PUT", "/v1/machines/box", withWall(["AAAA::/16"])));
    const again = await mayfly.send("PUT", "/v1/machines/box", withWall(["aaaa::/16"]));
    expect([again.status, machineIn(again).id]).toEqual([200, first.id]);
    expect((await mayfly.send("PUT", "/v1/machines/box", withWall(["aaab::/16"]))).status).toBe(409);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("are so too in rows from before they had one spelling: the body of then is the same firewall and machine", async () => {
    const mayfly = createMayfly();
    const { rules } = withWall(["AAAA::/16"]).firewalls[0] ?? {};
    await mayfly.send("POST", "/v1/firewalls", { name: "web", rules });
    await mayfly.send("PUT", "/v1/machines/box", withWall(["AAAA::/16"]));
    const { DB } = mayfly.bindings;
    await DB.prepare("UPDATE resources SET spec = replace(spec, 'aaaa', 'AAAA')").run();
    await DB.prepare("UPDATE machines SET spec_sha256 = ?").bind(FORMER).run();
    const again = await mayfly.send("POST", "/v1/firewalls", { name: "web", rules });
    expect(again).toMatchObject({ status: 200, body: { firewall: { rules: [{ source_ips: ["aaaa::/16"] }] } } });
    expect((await mayfly.send("PUT", "/v1/machines/box", withWall(["AAAA::/16"]))).status).toBe(200);
    expect((await mayfly.send("PUT", "/v1/machines/box", withWall(["AAAB::/16"]))).status).toBe(409);
  });
});
