import { describe, expect, it } from "vitest";
import { UNKNOWN_PRICES } from "../../../src/machine/money.ts";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { failureOf, NOW } from "../contract/cloud.ts";
import { TOKEN } from "./bench.ts";

const typeJson = (over: Record<string, unknown> = {}) => ({
  id: 1,
  name: "cx23",
  architecture: "x86",
  cores: 2,
  memory: 4,
  deprecation: { announced: "2020-01-01T00:00:00Z", unavailable_after: "2020-02-01T00:00:00Z" },
  prices: [{ location: "fsn1", price_hourly: { net: "0.0088", gross: "0.010472" } }],
  locations: [{ id: 1, name: "fsn1", available: true, recommended: true, deprecation: null }],
  ...over,
});
const open = (answer: (url: URL) => unknown) =>
  createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    account: { currency: "EUR", ipv4Prices: [] },
    fetch: async (input) => Response.json(answer(new URL(input))),
  });
const page = (types: unknown[], next_page: number | null = null) => ({
  server_types: types,
  meta: { pagination: { next_page } },
});

describe("server types", () => {
  it("S93: are read over all pages, and a list without end is an error", async () => {
    const capabilities = open(({ searchParams }) => {
      const number = Number(searchParams.get("page"));
      return page([typeJson({ id: number, name: `t${number}` })], number < 3 ? number + 1 : null);
    });
    expect((await capabilities.serverTypes()).map(({ name }) => name)).toEqual(["t1", "t2", "t3"]);
    expect((await failureOf(open(() => page([], 1)).serverTypes())).code).toBe("unexpected");
  });

  it("S90, S91: are offered where `locations` says so, each with its own deprecation; the type's own counts for nothing", async () => {
    const going = { announced: "2026-10-01T00:00:00Z", unavailable_after: "2026-12-31T00:00:00Z" };
    const locations = [
      { name: "fsn1", available: true, deprecation: null },
      { name: "hel1", available: true, deprecation: going },
      { name: "ash" },
    ];
    const [type] = await open(() => page([typeJson({ locations })])).serverTypes();
    expect(type?.regions).toEqual([
      {
        ...UNKNOWN_PRICES,
        region: "fsn1",
        available: true,
        deprecated: false,
        unavailableAfter: null,
        priceEurPerHour: 0.010472,
      },
      {
        ...UNKNOWN_PRICES,
        region: "hel1",
        available: true,
        deprecated: true,
        unavailableAfter: Date.UTC(2026, 11, 31),
      },
      { ...UNKNOWN_PRICES, region: "ash", available: false, deprecated: false, unavailableAfter: null },
    ]);
  });

  it("with odd or missing parts cost only themselves", async () => {
    const odd = typeJson({ name: "odd", locations: "none", prices: null, memory: "much", architecture: null });
    const [type] = await open(() => page([odd])).serverTypes();
    expect(type).toEqual({ name: "odd", arch: "", cores: 2, memoryGb: 0, regions: [] });
  });
});
