import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import type { FirewallRule } from "../../../src/machine/firewall.ts";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { failureOf, MINUTE, NOW } from "../contract/cloud.ts";
import { TOKEN } from "./bench.ts";

const LABELS = { "mayfly-uid": "00000000-0000-4000-8000-000000000001", team: "red" };
const SSH: FirewallRule = { direction: "in", protocol: "tcp", port: "22", ranges: ["203.0.113.0/24"] };
const ANYWHERE = ["0.0.0.0/0", "::/0"];
const plain = (name: string, more: Partial<Parameters<ReturnType<typeof open>["firewalls"]["create"]>[0]> = {}) => ({
  name,
  rules: [SSH],
  denyAll: false,
  labels: LABELS,
  machineIds: [],
  ...more,
});

function open() {
  let now = NOW;
  const sim = createDrivenSimulator({ now: () => now });
  const bodies: unknown[] = [];
  const fetch = (input: string, init: RequestInit) => {
    if (typeof init.body === "string") bodies.push(JSON.parse(init.body));
    return sim.fetch(new Request(input, init));
  };
  const capabilities = createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => now,
    fetch,
  });
  const { firewalls } = capabilities;
  const server = (name: string) => String(sim.addServer({ name, created: new Date(NOW - MINUTE).toISOString() }).id);
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { sim, firewalls, capabilities, bodies, server, pass };
}

describe("create", () => {
  it("S108: makes it with its rules and labels and answers its id; without machines there is no word of any", async () => {
    const { sim, firewalls, bodies } = open();
    const { id } = await firewalls.create(plain("web"));
    expect(sim.state().firewalls).toMatchObject([{ id: Number(id), name: "web", labels: LABELS, applied_to: [] }]);
    expect(bodies[0]).not.toHaveProperty("apply_to");
  });

  it("S108: applies it to machines from the start", async () => {
    const { sim, firewalls, server, pass } = open();
    const machine = server("box");
    await firewalls.create(plain("web", { machineIds: [machine] }));
    pass(MINUTE);
    expect(sim.state().firewalls).toMatchObject([
      { applied_to: [{ type: "server", server: { id: Number(machine) } }] },
    ]);
  });

  it("S109, S110, S111, X8: each rule names the addresses of its own side alone, anywhere where none are given", async () => {
    const { firewalls, bodies } = open();
    const icmp: FirewallRule = { direction: "in", protocol: "icmp", port: null, ranges: [] };
    const out: FirewallRule = { direction: "out", protocol: "udp", port: "53", ranges: [] };
    await firewalls.create(plain("web", { rules: [SSH, icmp, out] }));
    expect(bodies).toMatchObject([
      {
        rules: [
          { direction: "in", protocol: "tcp", port: "22", source_ips: ["203.0.113.0/24"] },
          { direction: "in", protocol: "icmp", source_ips: ANYWHERE },
          { direction: "out", protocol: "udp", port: "53", destination_ips: ANYWHERE },
        ],
      },
    ]);
    expect(JSON.stringify(bodies)).not.toMatch(/"in"[^}]*destination_ips|"out"[^}]*source_ips|"icmp","port"/);
  });

  it("says what a rule is for, knows esp and gre, and spells ranges as the provider will", async () => {
    const { firewalls, bodies } = open();
    const from = { direction: "in", port: null } as const;
    const rules: FirewallRule[] = [
      { ...from, protocol: "esp", ranges: ["AAAA::/16"], description: "tunnel" },
      { ...from, protocol: "gre", ranges: [] },
    ];
    await firewalls.create(plain("web", { rules }));
    expect(bodies).toMatchObject([
      {
        rules: [
          { direction: "in", protocol: "esp", source_ips: ["aaaa::/16"], description: "tunnel" },
          { direction: "in", protocol: "gre", source_ips: ANYWHERE },
        ],
      },
    ]);
    expect(JSON.stringify(bodies)).not.toContain("port");
  });

  it("S119: of a name that is taken is a conflict, and no second firewall", async () => {
    const { sim, firewalls } = open();
    await firewalls.create(plain("web"));
    expect((await failureOf(firewalls.create(plain("web")))).code).toBe("name_taken");
    expect(sim.state().firewalls).toHaveLength(1);
  });

  it.each([
    ["nobody's", {}],
    ["another's", { "mayfly-uid": "00000000-0000-4000-8000-000000000009" }],
    ["null for", null],
  ])("whose answer has %s labels may have made ours, and no id is taken from it", async (_, labels) => {
    const { firewalls } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async () => Response.json({ firewall: { id: 7, labels, applied_to: [] }, actions: [] }, { status: 201 }),
    });
    expect(await failureOf(firewalls.create(plain("web")))).toMatchObject({ code: "unexpected", ambiguous: true });
    expect((await firewalls.create(plain("web", { labels: { team: "red" } }))).id).toBe("7");
  });

  it("S121: of no rules is refused before any call, unless that is said out loud", async () => {
    const { sim, firewalls } = open();
    const refused = await failureOf(firewalls.create(plain("shut", { rules: [] })));
    expect(refused).toMatchObject({ code: "invalid_input", problem: { field: "rules" } });
    expect(sim.requests()).toEqual([]);
    await firewalls.create(plain("shut", { rules: [], denyAll: true }));
    expect(sim.state().firewalls).toMatchObject([{ rules: [] }]);
  });
});

describe("apply and remove", () => {
  it("S122, S124: put it on and take it off, and either twice is success", async () => {
    const { sim, firewalls, server, pass } = open();
    const machine = server("box");
    const { id } = await firewalls.create(plain("web"));
    const appliedTo = () => {
      pass(MINUTE);
      return sim.state().firewalls.map(({ applied_to }) => applied_to.length);
    };
    await firewalls.apply(id, [machine]);
    expect(appliedTo()).toEqual([1]);
    await firewalls.apply(id, [machine]);
    expect(appliedTo()).toEqual([1]);
    await firewalls.remove(id, [machine]);
    expect(appliedTo()).toEqual([0]);
    await firewalls.remove(id, [machine]);
    expect(appliedTo()).toEqual([0]);
  });

  it("S123: trap: `firewall_already_applied` is success, not an error", async () => {
    const { sim, firewalls, server } = open();
    const { id } = await firewalls.create(plain("web"));
    const refusal = { status: 422, code: "firewall_already_applied", message: "firewall already applied" };
    sim.fault({ method: "POST", path: "apply_to_resources$", ...refusal });
    await expect(firewalls.apply(id, [server("box")])).resolves.toEqual([]);
  });

  it("S125: trap: a removal sends `remove_from`, and no `apply_to`, which the API would not understand", async () => {
    const { firewalls, bodies, server, pass } = open();
    const machine = server("box");
    const { id } = await firewalls.create(plain("web", { machineIds: [machine] }));
    pass(MINUTE);
    await firewalls.remove(id, [machine]);
    expect(bodies.at(-1)).toEqual({ remove_from: [{ type: "server", server: { id: Number(machine) } }] });
  });

  it("S126: what the provider refuses for another reason surfaces", async () => {
    const { sim, firewalls, server } = open();
    const { id } = await firewalls.create(plain("web"));
    for (const [code, retryable] of [
      ["firewall_managed_by_label_selector", false],
      ["private_net_only_server", true],
    ] as const) {
      sim.fault({ method: "POST", path: "apply_to_resources$", status: 422, code, message: "no" });
      expect((await failureOf(firewalls.apply(id, [server(`on-${code.length}`)]))).retryable).toBe(retryable);
      sim.fault({ method: "POST", path: "remove_from_resources$", status: 422, code, message: "no" });
      expect((await failureOf(firewalls.remove(id, [server(`off-${code.length}`)]))).retryable).toBe(retryable);
    }
  });

  it("S127: of no machines asks nobody, and an id that is none never gets out", async () => {
    const { sim, firewalls } = open();
    await firewalls.apply("1", []);
    await firewalls.remove("1", []);
    for (const call of [firewalls.apply("../1", ["1"]), firewalls.remove("1", ["a"]), firewalls.delete("")])
      expect((await failureOf(call)).code).toBe("invalid_input");
    expect(sim.requests()).toEqual([]);
  });
});

describe("apply and remove, seen from outside", () => {
  it("answer what the provider then does, which can be read again until it has ended", async () => {
    const { sim, firewalls, capabilities, server, pass } = open();
    const machine = server("box");
    const { id } = await firewalls.create(plain("web"));
    const [applying] = await firewalls.apply(id, [machine]);
    expect(applying).toMatchObject({ state: "running", error: null });
    pass(MINUTE);
    expect(await capabilities.action(applying?.id ?? "")).toEqual({ ...applying, state: "done" });
    sim.fault({
      method: "POST",
      path: "remove_from_resources$",
      action_error: { code: "action_failed", message: "no" },
    });
    const [removing] = await firewalls.remove(id, [machine]);
    pass(MINUTE);
    const failed = { ...removing, state: "failed", error: "action_failed: no" };
    expect(await capabilities.action(removing?.id ?? "")).toEqual(failed);
  });

  it("a removal from a machine that is gone is success, and takes it off the others all the same", async () => {
    const { sim, firewalls, server, pass } = open();
    const machines = [server("box"), server("other")];
    const { id } = await firewalls.create(plain("web", { machineIds: machines }));
    pass(MINUTE);
    expect(await firewalls.remove(id, ["999"])).toEqual([]);
    expect(await firewalls.remove(id, ["999", ...machines])).toHaveLength(2);
    pass(MINUTE);
    expect(sim.state().firewalls).toMatchObject([{ applied_to: [] }]);
  });

  it("tell the label selectors that it is applied to, and take it off those", async () => {
    const { sim, firewalls, server, pass } = open();
    const { id } = await firewalls.create(plain("web", { machineIds: [server("box")] }));
    const apply_to = ["team=red", "env in (a,b)"].map((selector) => ({
      type: "label_selector",
      label_selector: { selector },
    }));
    await sim.fetch(
      new Request(`https://hetzner.test/v1/firewalls/${id}/actions/apply_to_resources`, {
        method: "POST",
        headers: { Authorization: `Bearer ${TOKEN}` },
        body: JSON.stringify({ apply_to }),
      }),
    );
    pass(MINUTE);
    const { selectors, machineIds } = await firewalls.get(id);
    expect([selectors, machineIds?.length]).toEqual([["team=red", "env in (a,b)"], 1]);
    expect(await firewalls.removeSelectors(id, selectors)).toMatchObject([{ state: "running" }, { state: "running" }]);
    pass(MINUTE);
    expect((await firewalls.get(id)).selectors).toEqual([]);
    expect(await firewalls.removeSelectors(id, [])).toEqual([]);
  });

  it("what it is applied to in a way that nobody knows makes its machines unreadable, not absent", async () => {
    const { firewalls } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async () => Response.json({ firewall: { id: 7, labels: {}, applied_to: [{ type: "new", new: {} }] } }),
    });
    expect(await firewalls.get("7")).toMatchObject({ machineIds: null, selectors: [] });
  });
});

describe("list and delete", () => {
  it("S131: names those with these labels, over all pages", async () => {
    const { firewalls } = open();
    const ids = [];
    for (let number = 0; number < 51; number++) ids.push((await firewalls.create(plain(`f${number}`))).id);
    await firewalls.create(plain("other", { labels: { team: "blue" } }));
    expect((await firewalls.list({ team: "red" })).map(({ id }) => id)).toEqual(ids);
    expect(await firewalls.list({})).toHaveLength(52);
  });

  it("S128, S129, S130, X11: one still applied is in use, which passes; one that is not there is success", async () => {
    const { sim, firewalls, server, pass } = open();
    const machine = server("box");
    const { id } = await firewalls.create(plain("web", { machineIds: [machine] }));
    pass(MINUTE);
    expect(await failureOf(firewalls.delete(id))).toMatchObject({ code: "in_use", retryable: true });
    await firewalls.remove(id, [machine]);
    pass(MINUTE);
    await firewalls.delete(id);
    expect(sim.state().firewalls).toEqual([]);
    await firewalls.delete(id);
  });
});

describe("get", () => {
  it("does not believe an answer about another: what is done next would be done to that", async () => {
    const shown = { id: 43, name: "web", labels: {}, rules: [], applied_to: [], created: "2026-11-30T11:00:00+00:00" };
    const { firewalls } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async () => Response.json({ firewall: shown }),
    });
    expect((await firewalls.get("43")).id).toBe("43");
    expect((await failureOf(firewalls.get("42"))).code).toBe("unexpected");
  });
});
