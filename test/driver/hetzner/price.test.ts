import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePrice } from "../../../src/driver/hetzner/machine.ts";
import { failureOf, spec } from "../contract/cloud.ts";
import type { Machine } from "../../../src/machine/machine.ts";
import { openCanned, openSimulated, openWith, refusal, serverJson } from "./bench.ts";

const price = (location: string, gross: unknown, net: unknown = "0.0001") => ({
  location,
  price_hourly: { net, gross },
});
const typed = (prices: unknown) => ({ server_type: { name: "cx23", architecture: "x86", prices } });
const priceOf = async (over: Record<string, unknown>) => (await openWith(over).get("42")).priceEurPerHour;
const pricing = (prices: unknown, currency = "EUR") =>
  Response.json({ pricing: { currency, vat_rate: "19", server_types: [{ id: 1, name: "cx23", prices }] } });

describe("the price of a machine", () => {
  it("S63: is that of its own location, wherever it stands in the list", async () => {
    const prices = [price("nbg1", "0.5"), price("fsn1", "0.3"), price("hel1", "0.1")];
    expect(await priceOf(typed(prices))).toBe(0.3);
    expect(await priceOf({ ...typed(prices), location: { name: "hel1" } })).toBe(0.1);
  });

  it("S64: the location is the server's own; a `datacenter` from the past says nothing", async () => {
    const prices = [price("nbg1", "0.5"), price("fsn1", "0.3")];
    const datacenter = { name: "nbg1-dc3", location: { name: "nbg1" } };
    expect(await priceOf({ ...typed(prices), datacenter })).toBe(0.3);
    const machine = await openWith({ ...typed(prices), datacenter, location: undefined }).get("42");
    expect([machine.region, machine.priceEurPerHour]).toEqual(["", null]);
  });

  it.each([
    ["no price there", [price("nbg1", "0.5")]],
    ["no prices", []],
    ["null for prices", null],
    ["no field", undefined],
    ["an odd entry", [null, 7, {}, price("fsn1", 0.3)]],
  ])("S65: with %s it is unknown, not free", async (_, prices) => {
    expect(await priceOf(typed(prices))).toBeNull();
  });

  it("S65: an odd entry beside a good one costs only itself", async () => {
    expect(await priceOf(typed([null, { location: "fsn1" }, 7, price("fsn1", "0.3")]))).toBe(0.3);
  });

  it("S66: it is the gross one", async () => {
    expect(await priceOf(typed([price("fsn1", "0.0119", "0.0100")]))).toBe(0.0119);
  });
});

describe("the price of a month, and of an IPv4 address", () => {
  const month = (location: string, hour: string, gross: unknown) => ({
    ...price(location, hour),
    price_monthly: { net: "1", gross },
  });
  const ipv4 = (prices: unknown) => [
    null,
    { type: "ipv6", prices: [month("fsn1", "9", "9")] },
    { type: "ipv4", prices },
  ];
  const pricesOf = ({ priceEurPerHour, priceEurPerMonth, ipv4EurPerHour, ipv4EurPerMonth }: Machine) => [
    priceEurPerHour,
    priceEurPerMonth,
    ipv4EurPerHour,
    ipv4EurPerMonth,
  ];
  /** A machine in fsn1 of these prices, seen once `GET /pricing` has said these of Primary IPs. */
  async function seen(prices: unknown, primary_ips: unknown): Promise<Machine> {
    const { driver } = openCanned(
      ({ path }) =>
        path === "/pricing"
          ? Response.json({ pricing: { currency: "EUR", server_types: [], primary_ips } })
          : Response.json({ server: serverJson(typed(prices)) }),
      { account: {} },
    );
    await driver.priceEurPerHour("fsn1", "cx23");
    return driver.get("42");
  }

  it("are those of its own location, gross, each apart", async () => {
    const machine = await seen(
      [month("hel1", "0.1", "6"), month("fsn1", "0.3", "18.9")],
      ipv4([month("hel1", "0.01", "0.6"), month("fsn1", "0.02", "0.7")]),
    );
    expect(pricesOf(machine)).toEqual([0.3, 18.9, 0.02, 0.7]);
  });

  it.each<[string, unknown, unknown, (number | null)[]]>([
    ["no Primary IPs in the price list", [month("fsn1", "0.3", "18.9")], undefined, [0.3, 18.9, null, null]],
    ["null for them", [month("fsn1", "0.3", "18.9")], null, [0.3, 18.9, null, null]],
    ["none of IPv4", [month("fsn1", "0.3", "18.9")], [{ type: "ipv6", prices: [] }], [0.3, 18.9, null, null]],
    ["none of this place", [month("fsn1", "0.3", "18.9")], ipv4([month("hel1", "1", "2")]), [0.3, 18.9, null, null]],
    ["an odd month", [month("fsn1", "0.3", 18.9)], ipv4([month("fsn1", "0.02", "free")]), [0.3, null, 0.02, null]],
    [
      "no month",
      [price("fsn1", "0.3"), { ...price("fsn1", "0.4"), price_monthly: 7 }],
      ipv4([{ ...price("fsn1", "0.02"), price_monthly: null }]),
      [0.3, null, 0.02, null],
    ],
    ["a month for nothing", [month("fsn1", "0.3", "0.00")], ipv4([month("fsn1", "0", "0")]), [0.3, null, null, null]],
  ])("with %s are unknown alone, not free", async (_, prices, primary_ips, expected) => {
    expect(pricesOf(await seen(prices, primary_ips))).toEqual(expected);
  });

  it("come with a create and in lists, and cost no further call", async () => {
    const { driver, count, sim } = openSimulated();
    expect(pricesOf(await driver.create(spec()))).toEqual([0.010472, 6.5331, 0.000952, 0.595]);
    expect((await driver.list({})).map(pricesOf)).toEqual([[0.010472, 6.5331, 0.000952, 0.595]]);
    expect(count("GET", "/pricing")).toBe(1);
    expect(sim.requests()).toHaveLength(3);
  });

  it("S68: are none in another currency", async () => {
    const { driver, sim } = openSimulated();
    sim.reset({ currency: "USD" });
    expect(pricesOf(await driver.create(spec()))).toEqual([null, null, null, null]);
  });
});

describe("an amount", () => {
  it.each([
    ["0.0080", 0.008],
    [" 0.0080 ", 0.008],
    ["0.0119000000", 0.0119],
    ["12", 12],
    ["99999.999999", 99_999.999999],
    ["0.000001", 0.000001],
  ])("S67: %j is %f", (text, value) => {
    expect(parsePrice(text)).toBe(value);
  });

  it.each([
    "",
    " ",
    "abc",
    "NaN",
    "Infinity",
    "-1",
    "+1",
    "1e3",
    "0x10",
    "1,5",
    ".5",
    "1.",
    "0",
    "0.0000",
    "0.0000004",
    "100000",
    "999999999",
    "1 2",
    null,
    undefined,
    0.5,
    {},
  ])("S67: %j is unknown", (value) => {
    expect(parsePrice(value)).toBeNull();
  });

  it("S67: nothing ever becomes NaN, infinite, negative or free", () => {
    const figures = fc.stringMatching(/^[-+ ]?[0-9]{0,30}\.?[0-9e]{0,30} ?$/);
    fc.assert(
      fc.property(fc.oneof(figures, fc.anything(), fc.double().map(String)), (value) => {
        const parsed = parsePrice(value);
        expect(parsed === null || (Number.isFinite(parsed) && Math.round(parsed * 1e6) > 0)).toBe(true);
      }),
    );
  });
});

describe("the price list", () => {
  it("S81: gives the gross price of a type in a region", async () => {
    const { driver } = openSimulated();
    expect(await driver.priceEurPerHour("fsn1", "cx23")).toBe(0.010472);
    expect(await driver.priceEurPerHour("hel1", "cx23")).toBe(0.009996);
  });

  it("S82: knows no price of an unknown type, or where the type is not sold, and that is no error", async () => {
    const { driver } = openSimulated();
    expect(await driver.priceEurPerHour("fsn1", "cx22")).toBeNull();
    expect(await driver.priceEurPerHour("ash", "cx23")).toBeNull();
    expect(await driver.priceEurPerHour("", "")).toBeNull();
  });

  it("S82: an odd entry costs only itself", async () => {
    const { driver } = openCanned(() =>
      Response.json({
        pricing: {
          currency: "EUR",
          server_types: [null, { name: 7 }, { name: "cx23", prices: [price("fsn1", "0.3")] }],
        },
      }),
    );
    expect(await driver.priceEurPerHour("fsn1", "cx23")).toBe(0.3);
  });

  it.each<[string, () => Response | Promise<Response>, string]>([
    ["a refusal", () => refusal(503, "unavailable"), "unavailable"],
    ["a 401", () => refusal(401, "unauthorized"), "unauthorized"],
    ["a cut connection", () => Promise.reject(new TypeError("lost")), "unavailable"],
    ["an answer that cannot be read", () => Response.json({ pricing: {} }), "unexpected"],
  ])("S83: %s is an error, not an unknown price", async (_, answer, code) => {
    const { driver } = openCanned(answer);
    expect(await failureOf(driver.priceEurPerHour("fsn1", "cx23"))).toMatchObject({ code, ambiguous: false });
  });
});

describe("the currency", () => {
  it("S68: figures of a project that is not billed in euro are no euro", async () => {
    const { driver, sim } = openSimulated();
    sim.reset({ currency: "USD" });
    expect(await driver.priceEurPerHour("fsn1", "cx23")).toBeNull();
    expect((await driver.create(spec())).priceEurPerHour).toBeNull();
    expect((await driver.list({})).map(({ priceEurPerHour }) => priceEurPerHour)).toEqual([null]);
  });

  it("S68: as long as nobody has said it, no figure is believed", async () => {
    expect((await openWith(typed([price("fsn1", "0.3")]), { account: {} }).get("42")).priceEurPerHour).toBeNull();
  });

  it("S68: is asked for once per credential, before the first machine is made", async () => {
    const account = {};
    const { driver, count } = openSimulated({ account });
    expect((await driver.create(spec({ name: "one" }))).priceEurPerHour).toBe(0.010472);
    await driver.create(spec({ name: "two" }));
    expect(count("GET", "/pricing")).toBe(1);
    const next = openSimulated({ account });
    expect((await next.driver.create(spec())).priceEurPerHour).toBe(0.010472);
    expect(next.count("GET", "/pricing")).toBe(0);
  });

  it("S68: not to learn it costs the price, not the machine, and is tried again", async () => {
    const { driver, sim } = openSimulated();
    sim.fault({ path: "/pricing$", status: 503 });
    expect((await driver.create(spec({ name: "one" }))).priceEurPerHour).toBeNull();
    expect((await driver.create(spec({ name: "two" }))).priceEurPerHour).toBe(0.010472);
  });

  it("S81, S68: a later look at the price list is believed", async () => {
    const answers = [pricing([price("fsn1", "0.3")]), pricing([price("fsn1", "0.3")], "CHF")];
    const { driver } = openCanned(() => answers.shift() ?? refusal(500, "server_error"), { account: {} });
    expect(await driver.priceEurPerHour("fsn1", "cx23")).toBe(0.3);
    expect(await driver.priceEurPerHour("fsn1", "cx23")).toBeNull();
  });
});
