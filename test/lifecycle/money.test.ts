import { describe, expect, it } from "vitest";
import { ratesOf } from "../../src/machine/money.ts";
import { createMayfly, HOUR, machineIn, machinesIn, MINUTE, minutes, NOW, servers, type Mayfly } from "../mayfly.ts";

// cx23 costs 0.010472 an hour in fsn1 and 0.009996 in hel1, an IPv4 address 0.000952.
const CX23 = { priceMicroEur: 10_472, priceMonthMicroEur: 6_533_100, ipv4MicroEur: 952, ipv4MonthMicroEur: 595_000 };
const BODY = { server_type: "cx23", region: "fsn1" };
const create = async (mayfly: Mayfly, name: string, more: object = {}) =>
  machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more }));
const read = async (mayfly: Mayfly, name: string) => machineIn(await mayfly.send("GET", `/v1/machines/${name}`));
const rowOf = async (mayfly: Mayfly, name: string) =>
  (await mayfly.store.machines.byName("admin", name)) ?? expect.fail(`there is no row of ${name}`);

/** Asks for the price list anew, which else is asked for once in an isolate's life. */
const asNewIsolate = (mayfly: Mayfly) => mayfly.context().driver.priceEurPerHour("fsn1", "cx23");

describe("what a machine costs", () => {
  it("is what the provider charges, over a month's end, with and without IPv4, in regions of different prices, living and gone", async () => {
    const mayfly = createMayfly({ MAX_AGE: "48h" });
    mayfly.advance(17 * MINUTE);
    await create(mayfly, "a", { ttl: "40h" });
    await create(mayfly, "b", { ttl: "40h", region: "hel1" });
    mayfly.advance(41 * MINUTE);
    await create(mayfly, "c", { ttl: "40h", enable_ipv4: false });
    await create(mayfly, "d", { ttl: "40h", region: "hel1", server_type: "cax11", enable_ipv4: false });
    // The month ends twelve hours after NOW.
    mayfly.advance(15 * HOUR + 30 * MINUTE);
    await mayfly.send("DELETE", "/v1/machines/a");
    await mayfly.send("DELETE", "/v1/machines/c");
    mayfly.advance(5 * HOUR);
    const { servers: billed, total_micro_eur } = mayfly.simulator.bill();
    expect(billed).toHaveLength(4);
    for (const { months } of billed) expect(Object.keys(months)).toEqual(["2026-11", "2026-12"]);
    const costs = await Promise.all(["a", "b", "c", "d"].map(async (name) => (await read(mayfly, name)).cost_eur));
    const bills = billed.map(({ months }) =>
      Object.values(months).reduce(
        (sum, { server_micro_eur, ipv4_micro_eur }) => sum + server_micro_eur + ipv4_micro_eur,
        0,
      ),
    );
    // 17 hours of a, 22 of b, 16 of c and 21 of d.
    expect(bills).toEqual([17 * 11_424, 22 * 10_948, 16 * 10_472, 21 * 9996]);
    expect(costs.map((cost) => Math.round((cost ?? 0) * 1e6))).toEqual(bills);
    expect(total_micro_eur).toBe(812_532);
  });

  it("has no IPv4 address in it where there is none", async () => {
    const mayfly = createMayfly();
    expect(await create(mayfly, "with")).toMatchObject({ price_eur_per_hour: 0.011424, cost_eur: 0.011424 });
    expect(await create(mayfly, "without", { enable_ipv4: false })).toMatchObject({
      price_eur_per_hour: 0.010472,
      cost_eur: 0.010472,
    });
  });

  it("is charged from its creation, though it was never seen before it was to go", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.fault({ method: "POST", path: "/servers$", drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "/servers$", status: 503 });
    expect((await mayfly.send("PUT", "/v1/machines/a", BODY)).status).toBe(503);
    expect(await rowOf(mayfly, "a")).toMatchObject({ createdAt: null, providerId: null });
    mayfly.simulator.clearFaults();
    mayfly.advance(2 * MINUTE);
    await mayfly.send("DELETE", "/v1/machines/a");
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    expect(await read(mayfly, "a")).toMatchObject({ status: "destroyed", cost_eur: 0.011424 });
    expect(mayfly.simulator.bill().total_micro_eur).toBe(11_424);
  });
});

describe("the price at which a machine was ordered", () => {
  it("is kept, whatever new orders cost since", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a", { ttl: "5h" });
    mayfly.simulator.setPrices(150);
    for (let looks = 0; looks < 4; looks++) {
      mayfly.advance(20 * MINUTE);
      await minutes(mayfly, 1);
    }
    expect(await rowOf(mayfly, "a")).toMatchObject(CX23);
    expect((await rowOf(mayfly, "a")).observedAt).toBeGreaterThan(NOW);
    expect(await read(mayfly, "a")).toMatchObject({ price_eur_per_hour: 0.011424, cost_eur: 0.022848 });
    expect(mayfly.simulator.bill().total_micro_eur).toBe(22_848);
    await asNewIsolate(mayfly);
    expect((await create(mayfly, "b")).price_eur_per_hour).toBe(0.017136);
  });

  it("is what was known of its candidate, while nobody has seen it", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 9 });
    const put = () => mayfly.send("PUT", "/v1/machines/a", { ...BODY, enable_ipv4: false });
    expect((await put()).status).toBe(503);
    expect(await rowOf(mayfly, "a")).toMatchObject({ ...CX23, hasIpv4: false, createdAt: null });
    await mayfly.bindings.DB.exec("UPDATE machines SET price_micro_eur = NULL, ipv4_micro_eur = NULL, has_ipv4 = 1");
    expect((await put()).status).toBe(503);
    expect(await rowOf(mayfly, "a")).toMatchObject({ ...CX23, hasIpv4: false, createdAt: null });
  });

  it("is the provider's own at the first look, where the catalogue is behind", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.setPrices(150);
    await create(mayfly, "a");
    expect(await rowOf(mayfly, "a")).toMatchObject({ priceMicroEur: 15_708, priceMonthMicroEur: 9_799_650 });
  });

  it("is learnt later where it was not known, each part once", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "GET", path: "/pricing$", status: 503, times: 9 });
    const { id, provider_id, price_eur_per_hour, cost_eur } = await create(mayfly, "a");
    expect([price_eur_per_hour, cost_eur]).toEqual([null, null]);
    const seen = await mayfly.context().driver.get(provider_id ?? "");
    const observe = async (prices: object) => {
      const [row] = await mayfly.store.machines.observe([{ uid: id.slice(4), machine: { ...seen, ...prices } }], NOW);
      return row;
    };
    const first = { priceEurPerHour: 0.01, priceEurPerMonth: 6, ipv4EurPerHour: null, ipv4EurPerMonth: null };
    expect(await observe(first)).toMatchObject({
      priceMicroEur: 10_000,
      priceMonthMicroEur: 6_000_000,
      ipv4MicroEur: null,
    });
    const second = { priceEurPerHour: 0.02, priceEurPerMonth: 12, ipv4EurPerHour: 0.001, ipv4EurPerMonth: 0.6 };
    const known = { ...ratesOf({ ...second, priceEurPerHour: 0.01, priceEurPerMonth: 6 }), hasIpv4: true };
    expect(await observe(second)).toMatchObject(known);
    expect(
      await observe({ priceEurPerHour: 9, priceEurPerMonth: 9, ipv4EurPerHour: 9, ipv4EurPerMonth: 9 }),
    ).toMatchObject(known);
  });

  it("of one that is found without a row is that of the look at which it was found, with its address or without", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "with", { ttl: "20h" });
    await create(mayfly, "without", { ttl: "20h", enable_ipv4: false });
    await mayfly.bindings.DB.exec("DELETE FROM machines");
    mayfly.simulator.setPrices(150);
    await asNewIsolate(mayfly);
    await minutes(mayfly, 20);
    mayfly.simulator.setPrices(300);
    await minutes(mayfly, 80);
    const raised = {
      priceMicroEur: 15_708,
      priceMonthMicroEur: 9_799_650,
      ipv4MicroEur: 1428,
      ipv4MonthMicroEur: 892_500,
    };
    expect(await rowOf(mayfly, "with")).toMatchObject({ ...raised, hasIpv4: true });
    expect(await rowOf(mayfly, "without")).toMatchObject({ ...raised, hasIpv4: false });
  });

  it("of one that a create finds under its name is the found machine's, not the candidate's", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    await create(mayfly, "a", { ttl: "20h", region: "hel1", enable_ipv4: false });
    await mayfly.bindings.DB.exec("DELETE FROM machines");
    const found = await mayfly.send("PUT", "/v1/machines/a", BODY);
    expect(machineIn(found)).toMatchObject({ price_eur_per_hour: 0.009996, cost_eur: 0.009996 });
    expect(servers(mayfly)).toHaveLength(1);
  });
});

it("a catalogue that was written before it had months and addresses is read, and what it lacks is unknown", async () => {
  const mayfly = createMayfly();
  await mayfly.send("GET", "/v1/server_types");
  await mayfly.bindings.DB.prepare("UPDATE catalogues SET server_types = ?")
    .bind(
      JSON.stringify([
        {
          name: "cx23",
          arch: "amd64",
          cores: 2,
          memoryGb: 4,
          regions: [
            { region: "fsn1", available: true, unavailableAfter: null, deprecated: false, priceEurPerHour: 0.010472 },
          ],
        },
      ]),
    )
    .run();
  expect((await mayfly.send("GET", "/v1/pricing?region=fsn1&server_type=cx23")).body).toEqual({
    pricing: {
      region: "fsn1",
      server_type: "cx23",
      price_eur_per_hour: 0.010472,
      price_eur_per_month: null,
      ipv4_eur_per_hour: null,
      ipv4_eur_per_month: null,
      with_ipv4_eur_per_hour: null,
      with_ipv4_eur_per_month: null,
    },
  });
  expect((await create(mayfly, "a")).price_eur_per_hour).toBe(0.011424);
  expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toHaveLength(1);
});
