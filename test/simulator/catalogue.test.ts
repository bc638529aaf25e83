import { describe, expect, it } from "vitest";
import { LOCATIONS, SERVER_TYPES } from "./catalogue.ts";
import { containing, startSimulator } from "./client.ts";

const cheapestFirst = SERVER_TYPES.filter(({ prices }) => {
  const [first, ...others] = prices.map((price) => Number(price.price_monthly.net));
  return others.every((other) => other >= (first ?? 0));
});

describe("the catalogue", () => {
  it("prices every offered location", () => {
    for (const { locations, prices } of SERVER_TYPES) {
      const priced = prices.map((price) => price.location);
      for (const location of locations) expect(priced).toContain(location.name);
    }
  });

  it("has types whose first price is the cheapest, and more whose first price is not", () => {
    expect(cheapestFirst.length).toBeGreaterThan(0);
    expect(cheapestFirst.length).toBeLessThan(SERVER_TYPES.length / 2);
  });

  it("writes gross as exactly 1.19 times net, in text of differing length", () => {
    const cx23 = SERVER_TYPES.find(({ name }) => name === "cx23");
    expect(cx23?.prices.map((price) => price.price_monthly)).toEqual([
      { net: "5.4900", gross: "6.533100" },
      { net: "5.7400", gross: "6.830600" },
      { net: "5.2400000000", gross: "6.235600000000" },
    ]);
  });

  it("prices old types in Europe without offering them there", async () => {
    const { send } = startSimulator();
    const { body } = await send("GET", "/v1/server_types?name=cpx11");
    expect(body).toMatchObject({
      server_types: [
        {
          prices: [{ location: "fsn1" }, {}, {}, {}, {}],
          locations: [{ name: "ash" }, { name: "hil" }, { name: "sin" }],
        },
      ],
    });
  });

  it("shows the stock that was set", async () => {
    const { sim, send } = startSimulator();
    sim.stock({ server_type: "cx23", location: "nbg1", available: false });
    expect((await send("GET", "/v1/server_types/114")).body).toMatchObject({
      server_type: { locations: [{ available: true }, { name: "nbg1", available: false }, { available: true }] },
    });
  });

  it("lists server types whatever sort is asked for", async () => {
    const { names } = startSimulator();
    const listed = await names("/v1/server_types?per_page=50&sort=id:asc");
    expect(listed).toEqual(SERVER_TYPES.map(({ name }) => name));
  });

  it("lists locations by name and id", async () => {
    const { names, send } = startSimulator();
    expect(await names("/v1/locations")).toEqual(["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]);
    expect(await names("/v1/locations?sort=name:desc&name=hel1")).toEqual(["hel1"]);
    expect((await send("GET", "/v1/locations/6")).body).toEqual({ location: LOCATIONS[5] });
    expect(await send("GET", "/v1/locations/7")).toMatchObject({ status: 404 });
  });

  it("has each image once per architecture, deprecated ones on demand", async () => {
    const { names, send } = startSimulator();
    expect(await names("/v1/images?name=debian-13")).toEqual(["debian-13", "debian-13"]);
    expect(await names("/v1/images?name=debian-13&architecture=arm")).toEqual(["debian-13"]);
    expect(await names("/v1/images?name=debian-11")).toEqual([]);
    expect(await names("/v1/images?name=debian-11&include_deprecated=true&architecture=x86")).toEqual(["debian-11"]);
    expect(await names("/v1/images?type=snapshot")).toEqual([]);
    expect((await send("GET", "/v1/images/317629862")).body).toMatchObject({ image: { name: "debian-13" } });
  });

  it("answers the prices in the project's currency", async () => {
    const { sim, send } = startSimulator();
    sim.reset({ currency: "USD" });
    expect((await send("GET", "/v1/pricing")).body).toMatchObject({
      pricing: {
        currency: "USD",
        primary_ips: [{ type: "ipv4", prices: [{ location: "fsn1" }, {}, {}, {}, {}, {}] }, { type: "ipv6" }],
      },
    });
  });

  it("says where each type is offered, and whether it is in stock and recommended there", async () => {
    const { send } = startSimulator();
    expect((await send("GET", "/v1/server_types?name=cpx21")).body).toMatchObject({
      server_types: [
        {
          locations: [
            { name: "ash", deprecation: null, available: true, recommended: false },
            { name: "hil", deprecation: null },
            { name: "sin", deprecation: { unavailable_after: "2027-01-16T06:00:00+00:00" }, available: true },
          ],
        },
      ],
    });
    expect(await send("GET", "/v1/server_types?name=cx22")).toMatchObject({ body: { server_types: [] } });
    expect(await send("GET", "/v1/server_types/1")).toMatchObject({ status: 404 });
  });

  it("writes amounts as decimal text, with no currency at a server type", async () => {
    const { send } = startSimulator();
    const types = await send("GET", "/v1/server_types?per_page=50");
    expect(JSON.stringify(types.body)).not.toContain("currency");
    const amounts = [...JSON.stringify(types.body).matchAll(/"(?:net|gross)":(.*?)[,}]/g)].map((match) => match[1]);
    expect(amounts.length).toBeGreaterThan(100);
    for (const amount of amounts) expect(amount).toMatch(/^"\d+\.\d{2,12}"$/);
    const { body } = await send("GET", "/v1/pricing");
    expect(body).toMatchObject({ pricing: { currency: "EUR", vat_rate: "19.00" } });
    expect(body).toHaveProperty("pricing.primary_ips.0.prices.0.price_monthly", { net: "0.5000", gross: "0.595000" });
    expect(body).toHaveProperty("pricing.primary_ips.1.prices.0.price_monthly.net", "0.0000");
  });

  it.each([
    "/v1/servers",
    "/v1/server_types",
    "/v1/images?include_deprecated=true",
    "/v1/primary_ips",
    "/v1/locations",
  ])("names in %s none of the removed fields datacenter and deprecated", async (path) => {
    const { send, create } = startSimulator();
    await create({ image: "debian-11" });
    const { status, body } = await send("GET", path);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toMatch(/"(?:datacenter|deprecated)"/);
  });

  it("keeps the datacenters' paths behind the token", async () => {
    const { send } = startSimulator();
    expect(await send("GET", "/v1/datacenters", undefined, { Authorization: "" })).toMatchObject({ status: 401 });
  });

  it.each(["ssh_keys", "networks", "firewalls", "volumes"])("holds no %s", async (kind) => {
    const { send } = startSimulator();
    expect((await send("GET", `/v1/${kind}?name=x`)).body).toMatchObject({
      [kind]: [],
      meta: { pagination: { total_entries: 0 } },
    });
  });

  it.each(["/v1/datacenters", "/v1/datacenters/1"])("no longer has %s", async (path) => {
    const { send } = startSimulator();
    expect(await send("GET", path)).toMatchObject({
      status: 410,
      body: {
        error: { code: "deprecated_api_endpoint", details: { announcement: containing("https://") } },
      },
    });
  });
});
