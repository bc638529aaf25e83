import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { createDrivenSimulator } from "../../driven-simulator.ts";
import { failureOf, MINUTE, NOW } from "../contract/cloud.ts";
import { TOKEN } from "./bench.ts";

const LABELS = { "mayfly-uid": "00000000-0000-4000-8000-000000000001", team: "red" };
const NETWORK = { name: "lab", ipRange: "10.0.0.0/16", region: "fsn1", labels: LABELS };
const CREATE = { method: "POST", path: "/networks$" };

/** `ignored` is a parameter of queries that the provider does not heed. */
function open(ignored = "") {
  let now = NOW;
  const sim = createDrivenSimulator({ now: () => now });
  const fetch = (input: string, init: RequestInit) => {
    const url = new URL(input);
    url.searchParams.delete(ignored);
    return sim.fetch(new Request(url, init));
  };
  const { networks } = createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => now,
    fetch,
  });
  const server = (name: string) => String(sim.addServer({ name, created: new Date(NOW - MINUTE).toISOString() }).id);
  /** Lets everything end that was begun. */
  const settle = () => {
    now += MINUTE;
  };
  /** The only network, when what was begun has ended. */
  const only = () => {
    settle();
    const shown = sim.state().networks;
    expect(shown).toHaveLength(1);
    return shown[0];
  };
  return { sim, networks, server, settle, only };
}

describe("create", () => {
  it("S132, S134: makes a network with one subnet over its range, in the zone that the provider has the region in", async () => {
    for (const [region, zone] of [
      ["fsn1", "eu-central"],
      ["ash", "us-east"],
      ["sin", "ap-southeast"],
    ] as const) {
      const { networks, only } = open();
      const { id } = await networks.create({ ...NETWORK, region });
      expect(only()).toMatchObject({
        id: Number(id),
        ip_range: NETWORK.ipRange,
        labels: LABELS,
        subnets: [{ type: "cloud", ip_range: NETWORK.ipRange, network_zone: zone }],
      });
    }
  });

  it("S133, S134: of a range that is not private or a region that nobody knows makes nothing", async () => {
    const { sim, networks } = open();
    const wrongRange = await failureOf(networks.create({ ...NETWORK, ipRange: "8.8.8.0/24" }));
    expect(wrongRange).toMatchObject({ code: "invalid_input", problem: { field: "ip_range" } });
    expect(sim.requests()).toEqual([]);
    const wrongRegion = await failureOf(networks.create({ ...NETWORK, region: "mars1" }));
    expect(wrongRegion).toMatchObject({ code: "invalid_input", problem: { field: "region" } });
    expect(sim.state().networks).toEqual([]);
  });

  it("S80: is none of those that a list shows though they were not asked for", async () => {
    const { sim, networks } = open("label_selector");
    const labels = { "mayfly-uid": "00000000-0000-4000-8000-000000000002" };
    const other = await networks.create({ ...NETWORK, name: "other", ipRange: "10.1.0.0/16", labels });
    expect((await networks.create(NETWORK)).id).not.toBe(other.id);
    expect(sim.state().networks).toHaveLength(2);
  });

  it("S135: of a uid that has one already is that one, whether its answer was lost or not", async () => {
    const { sim, networks, only } = open();
    sim.fault({ ...CREATE, drop: "after" });
    const { id } = await networks.create(NETWORK);
    expect((await networks.create(NETWORK)).id).toBe(id);
    expect(only()).toMatchObject({ id: Number(id) });
    sim.fault({ ...CREATE, drop: "before" });
    const other = { ...NETWORK, labels: { "mayfly-uid": "00000000-0000-4000-8000-000000000002" } };
    expect(await failureOf(networks.create(other))).toMatchObject({ ambiguous: true });
  });
});

describe("create of a name that is taken", () => {
  it("finds its own that no list showed before, and answers name_taken where it is another's", async () => {
    const { sim, networks } = open();
    const { id } = await networks.create(NETWORK);
    const stranger = { ...NETWORK, labels: { "mayfly-uid": "00000000-0000-4000-8000-000000000002" } };
    expect(await failureOf(networks.create(stranger))).toMatchObject({ code: "name_taken", ambiguous: false });
    // Its list is late by one look.
    let late = true;
    const { networks: again } = createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async (input, init) => {
        const isLook = init.method === "GET" && input.includes("/networks");
        if (!isLook || !late) return sim.fetch(new Request(input, init));
        late = false;
        return Response.json({ networks: [], meta: { pagination: { next_page: null } } });
      },
    });
    expect((await again.create(NETWORK)).id).toBe(id);
    expect(sim.state().networks).toHaveLength(1);
  });
});

describe("create whose answer is not about our network", () => {
  const network = (id: number, labels: unknown) => ({ id, labels, ip_range: "10.0.0.0/16", routes: [], servers: [] });
  const answering = (list: readonly unknown[]) =>
    createHetznerCapabilities({
      token: TOKEN,
      endpoint: "https://hetzner.test/v1",
      now: () => NOW,
      fetch: async (input, { method }) => {
        if (method === "POST") return Response.json({ network: network(777, {}) }, { status: 201 });
        const pagination = { next_page: null };
        const { pathname } = new URL(input);
        if (pathname.endsWith("/locations"))
          return Response.json({ locations: [{ name: "fsn1", network_zone: "eu-central" }], meta: { pagination } });
        return Response.json({ networks: looks++ === 0 ? [] : list, meta: { pagination } });
      },
    }).networks;
  let looks = 0;

  it("finds it by its uid, and takes no id from the answer", async () => {
    looks = 0;
    expect((await answering([network(42, LABELS)]).create(NETWORK)).id).toBe("42");
    looks = 0;
    expect(await failureOf(answering([]).create(NETWORK))).toMatchObject({ code: "unexpected", ambiguous: true });
  });
});

describe("attach", () => {
  it("S137, X10: puts a machine into it, and a second time is success", async () => {
    const { networks, server, only } = open();
    const machine = server("box");
    const { id } = await networks.create(NETWORK);
    await networks.attach(id, machine);
    expect(only()).toMatchObject({ servers: [Number(machine)] });
    await networks.attach(id, machine);
    expect(only()).toMatchObject({ servers: [Number(machine)] });
  });

  it.each([
    [422, "ip_not_available", "quota"],
    [422, "no_subnet_available", "quota"],
    [422, "networks_overlap", "invalid_input"],
    [409, "conflict", "conflict"],
  ])("S138, X10: trap: %i %s is not success: the machine is not in the network", async (status, code, ours) => {
    const { sim, networks, server, only } = open();
    const { id } = await networks.create(NETWORK);
    sim.fault({ method: "POST", path: "attach_to_network$", status, code, message: "no" });
    expect((await failureOf(networks.attach(id, server("box")))).code).toBe(ours);
    expect(only()).toMatchObject({ servers: [] });
  });
});

describe("attach and addRoute", () => {
  it("answer what the provider then does; nothing where it is done already", async () => {
    const { networks, server, settle } = open();
    const machine = server("box");
    const { id } = await networks.create(NETWORK);
    settle();
    const running = [{ state: "running", error: null }];
    expect(await networks.attach(id, machine)).toMatchObject(running);
    settle();
    expect(await networks.attach(id, machine)).toEqual([]);
    expect(await networks.addRoute(id, "10.1.0.0/16", "10.0.0.9")).toMatchObject(running);
    settle();
    expect(await networks.addRoute(id, "10.1.0.0/16", "10.0.0.9")).toEqual([]);
  });
});

describe("addRoute", () => {
  const route = ["0.0.0.0/0", "10.0.0.2"] as const;

  it("S139, S140: adds it once; the same again is success, another gateway for it a conflict", async () => {
    const { networks, only } = open();
    const { id } = await networks.create(NETWORK);
    only();
    await networks.addRoute(id, ...route);
    const routes = [{ destination: "0.0.0.0/0", gateway: "10.0.0.2" }];
    expect(only()).toMatchObject({ routes });
    await networks.addRoute(id, ...route);
    const conflict = await failureOf(networks.addRoute(id, "0.0.0.0/0", "10.0.0.3"));
    expect(conflict).toMatchObject({ code: "conflict", retryable: false });
    expect(only()).toMatchObject({ routes });
  });

  it("S141: over an address that the provider keeps, or to the public, is refused here", async () => {
    const { sim, networks, only } = open();
    const { id } = await networks.create(NETWORK);
    only();
    expect((await failureOf(networks.addRoute(id, "0.0.0.0/0", "10.0.0.1"))).problem?.field).toBe("gateway");
    expect((await failureOf(networks.addRoute(id, "8.8.8.0/24", "10.0.0.2"))).problem?.field).toBe("destination");
    expect(sim.requests().filter(({ path }) => path.includes("add_route"))).toEqual([]);
  });

  it("S142: while another change runs is a conflict that passes", async () => {
    const { networks, only } = open();
    const { id } = await networks.create(NETWORK);
    only();
    await networks.addRoute(id, "10.1.0.0/16", "10.0.0.2");
    expect(await failureOf(networks.addRoute(id, ...route))).toMatchObject({ code: "conflict", retryable: true });
    only();
    await networks.addRoute(id, ...route);
    expect(only()?.routes).toHaveLength(2);
  });

  it("of a network that is not there is not_found, and an id that is none never gets out", async () => {
    const { sim, networks } = open();
    for (const call of [networks.addRoute("a", ...route), networks.attach("1", ""), networks.delete("../1")])
      expect((await failureOf(call)).code).toBe("invalid_input");
    expect(sim.requests()).toEqual([]);
    expect((await failureOf(networks.addRoute("99", ...route))).code).toBe("not_found");
  });
});

describe("list and delete", () => {
  it("S136, S144: name those with these labels, over all pages; one goes with a machine in it, and twice is success", async () => {
    const { sim, networks, server, settle } = open();
    const ids = [];
    for (let number = 0; number < 51; number++)
      ids.push((await networks.create({ ...NETWORK, labels: { team: "red" }, name: `n${number}` })).id);
    expect((await networks.list({ team: "red" })).map(({ id }) => id)).toEqual(ids);
    expect(await networks.list({ team: "blue" })).toEqual([]);
    const [first = ""] = ids;
    await networks.attach(first, server("box"));
    settle();
    await networks.delete(first);
    await networks.delete(first);
    expect(sim.state().networks).toHaveLength(50);
  });
});
