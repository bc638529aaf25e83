import { describe, expect, it } from "vitest";
import * as z from "zod";
import { UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { machineOf } from "../machine/fixtures.ts";
import { BODY, createMayfly, HOUR, machineIn, machinesIn, MINUTE, NOW, SECOND } from "../mayfly.ts";

describe("a machine over HTTP", () => {
  it("P3: is created, listed, shown and destroyed", async () => {
    const mayfly = createMayfly();
    const created = await mayfly.send("PUT", "/v1/machines/first", { ...BODY, ttl: "5m", labels: { team: "red" } });
    expect(created.status).toBe(201);
    const machine = machineIn(created);
    expect(machine).toMatchObject({
      name: "first",
      owner: "admin",
      account: "admin",
      status: "creating",
      reason: null,
      provider: "hetzner",
      server_type: "cx23",
      region: "fsn1",
      image: "debian-12",
      arch: "amd64",
      labels: { team: "red" },
      created_at: "2026-11-30T12:00:00.000Z",
      expires_at: "2026-11-30T12:05:00.000Z",
      max_until: "2026-12-01T12:00:00.000Z",
      destroyed_at: null,
    });
    expect(machine.id).toMatch(/^mch_[0-9a-f-]{36}$/);
    expect(machine.ipv6).toBe(`${machine.public_ipv6}1`);
    expect(created.headers.get("Location")).toBe(`/v1/machines/${machine.id}`);

    mayfly.advance(30 * SECOND);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toMatchObject([{ id: machine.id, status: "running" }]);
    const shown = machineIn(await mayfly.send("GET", `/v1/machines/${machine.id}`));
    expect(shown).toEqual(machineIn(await mayfly.send("GET", "/v1/machines/first")));

    const gone = await mayfly.send("DELETE", "/v1/machines/first");
    expect(gone.status).toBe(200);
    expect(machineIn(gone)).toMatchObject({ status: "destroyed", reason: "requested" });
    expect(mayfly.simulator.state().servers).toEqual([]);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toEqual([]);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/first")).status).toBe("destroyed");
  });

  it("carries every label of ours from the create call on, and the deterministic provider name (P2, P14, P22)", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/first", { ...BODY, ttl: "10m" }));
    const [server] = mayfly.simulator.state().servers;
    expect(server?.labels).toEqual({
      "mayfly-managed": "true",
      "mayfly-uid": id.slice("mch_".length),
      "mayfly-installation": "test-installation-1",
      "mayfly-owner": "admin",
      "mayfly-account": "admin",
      "mayfly-name": "first",
      "mayfly-expires": String(NOW / 1000 + 600),
      "mayfly-max": String(NOW / 1000 + 24 * 3600),
      created: String(NOW / 1000),
    });
    expect(server?.name).toMatch(/^first-[a-z2-7]{13}$/);
    expect(mayfly.simulator.requests().filter(({ method }) => method !== "GET")).toHaveLength(1);
  });

  it("P19, X23: a name whose machine is gone starts a new one, with another uid and the same provider name", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await mayfly.send("PUT", "/v1/machines/first", BODY));
    const name = mayfly.simulator.state().servers[0]?.name;
    await mayfly.send("DELETE", "/v1/machines/first");
    const again = await mayfly.send("PUT", "/v1/machines/first", BODY);
    expect(again.status).toBe(201);
    expect(machineIn(again).id).not.toBe(first.id);
    expect(mayfly.simulator.state().servers.map((server) => server.name)).toEqual([name]);
  });

  it("takes the longest cloud-init, also where JSON writes it with twice as many characters", async () => {
    const answer = await createMayfly().send("PUT", "/v1/machines/box", { ...BODY, cloud_init: '"'.repeat(32_768) });
    expect(answer.status).toBe(201);
  });

  it("under POST gets a name that is made for it", async () => {
    const mayfly = createMayfly();
    const first = await mayfly.send("POST", "/v1/machines", BODY);
    const second = await mayfly.send("POST", "/v1/machines", BODY);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(machineIn(first).name).not.toBe(machineIn(second).name);
    expect((await mayfly.send("GET", `/v1/machines/${machineIn(first).name}`)).status).toBe(200);
  });

  it("S84: costs started hours at the price recorded at create, and nothing is free because its price is unknown", async () => {
    const mayfly = createMayfly();
    const created = machineIn(await mayfly.send("PUT", "/v1/machines/first", { ...BODY, ttl: "5h" }));
    // cx23 in fsn1 is 0.010472 an hour, its IPv4 address 0.000952.
    expect(created).toMatchObject({ price_eur_per_hour: 0.011424, cost_eur: 0.011424 });
    mayfly.advance(HOUR + MINUTE);
    const later = machineIn(await mayfly.send("GET", "/v1/machines/first"));
    expect(later.cost_eur).toBe(0.022848);
    const priceless = machineOf({ providerId: created.provider_id ?? "", ...UNKNOWN_PRICES });
    const [seen] = await mayfly.store.machines.observe(
      [{ uid: created.id.slice(4), machine: priceless }],
      mayfly.now(),
    );
    expect(seen).toMatchObject({ priceMicroEur: 10_472, ipv4MicroEur: 952 });

    const dollars = createMayfly();
    dollars.simulator.reset({ currency: "USD" });
    const unknown = machineIn(await dollars.send("PUT", "/v1/machines/second", BODY));
    expect(unknown).toMatchObject({ price_eur_per_hour: null, cost_eur: null });
  });

  it("is asked after at most every three seconds while it is being created, and not again once it runs", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/first", BODY);
    const looks = () =>
      mayfly.simulator.requests().filter(({ path, method }) => path === "/v1/servers" && method === "GET").length;
    for (let second = 0; second < 9; second++) {
      await mayfly.send("GET", "/v1/machines/first");
      mayfly.advance(SECOND);
    }
    expect(looks()).toBe(1);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/first")).status).toBe("running");
  });
});

describe("listing", () => {
  it("S75: shows 120 machines over all pages, each once", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 120; number++)
      expect((await mayfly.send("PUT", `/v1/machines/m${number}`, BODY)).status).toBe(201);
    const names: string[] = [];
    for (let page: number | null = 1; page !== null;) {
      const answer = await mayfly.send("GET", `/v1/machines?page=${page}&per_page=50`);
      names.push(...machinesIn(answer).map(({ name }) => name));
      expect(answer.body).toMatchObject({
        meta: { pagination: { page, per_page: 50, last_page: 3, total_entries: 120 } },
      });
      page = page < 3 ? page + 1 : null;
    }
    expect(new Set(names).size).toBe(120);
    expect(names).toHaveLength(120);
    const beyond = await mayfly.send("GET", "/v1/machines?page=9&per_page=50");
    expect(machinesIn(beyond)).toEqual([]);
  });

  it("selects by the caller's own labels in Hetzner's grammar", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/red", { ...BODY, labels: { team: "red", "ci/job": "1" } });
    await mayfly.send("PUT", "/v1/machines/blue", { ...BODY, labels: { team: "blue" } });
    await mayfly.send("PUT", "/v1/machines/none", BODY);
    const select = async (selector: string) => {
      const answer = await mayfly.send("GET", `/v1/machines?label_selector=${encodeURIComponent(selector)}`);
      return machinesIn(answer).map(({ name }) => name);
    };
    expect(await select("team=red")).toEqual(["red"]);
    expect(await select("team==blue")).toEqual(["blue"]);
    expect(await select("team!=red")).toEqual(["blue", "none"]);
    expect(await select("team")).toEqual(["red", "blue"]);
    expect(await select("!team")).toEqual(["none"]);
    expect(await select("team in (red, blue)")).toEqual(["red", "blue"]);
    expect(await select("team notin (red)")).toEqual(["blue", "none"]);
    expect(await select("team=red,ci/job=1")).toEqual(["red"]);
    expect(await select("team=red,ci/job=2")).toEqual([]);
  });

  it("shows the live ones unless status asks for others", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/gone", BODY);
    await mayfly.send("PUT", "/v1/machines/here", BODY);
    await mayfly.send("DELETE", "/v1/machines/gone");
    mayfly.advance(30 * SECOND);
    const names = async (query: string) =>
      machinesIn(await mayfly.send("GET", `/v1/machines${query}`)).map(({ name }) => name);
    expect(await names("")).toEqual(["here"]);
    expect(await names("?status=destroyed")).toEqual(["gone"]);
    expect(await names("?status=running&status=destroyed")).toEqual(["here", "gone"]);
    expect(await names("?status=stopped")).toEqual([]);
  });

  it("shows those that have ended page by page, behind the live ones where both are asked for, and counts live ones alone", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b", "c", "d"]) {
      await mayfly.send("PUT", `/v1/machines/${name}`, BODY);
      mayfly.advance(SECOND);
    }
    for (const name of ["c", "a"]) {
      await mayfly.send("DELETE", `/v1/machines/${name}`);
      mayfly.advance(30 * SECOND);
    }
    await mayfly.tick();
    const page = async (query: string) => {
      const answer = await mayfly.send("GET", `/v1/machines?per_page=3${query}`);
      const { meta } = z.object({ meta: z.object({ pagination: z.unknown() }) }).parse(answer.body);
      return [machinesIn(answer).map(({ name }) => name), meta.pagination];
    };
    const paging = { page: 1, per_page: 3, previous_page: null, next_page: null };
    expect(await page("")).toEqual([["b", "d"], { ...paging, last_page: 1, total_entries: 2 }]);
    const uncounted = { ...paging, last_page: null, total_entries: null };
    expect(await page("&status=destroyed")).toEqual([["a", "c"], uncounted]);
    const both = "&status=destroyed&status=running";
    expect(await page(both)).toEqual([["b", "d", "a"], { ...uncounted, next_page: 2 }]);
    expect(await page(`${both}&page=2`)).toEqual([["c"], { ...uncounted, page: 2, previous_page: 1 }]);
  });
});
