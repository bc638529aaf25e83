import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

// cx23 costs 0.010472 an hour and 6.5331 a month in fsn1, 0.009996 and 6.2356 in hel1; an IPv4 address 0.000952 and 0.595.
const HOUR_S = 3600;
const NO_IPV4 = { public_net: { enable_ipv4: false, enable_ipv6: true } };

describe("the bill", () => {
  it("is empty for a project in which nothing ever was", async () => {
    const { send } = startSimulator();
    expect(await send("GET", "/_sim/bill")).toMatchObject({ status: 200, body: { servers: [], total_micro_eur: 0 } });
  });

  it("has an hour for a moment, and the address beside the server", async () => {
    const { sim, send, create } = startSimulator();
    const [born_ms, deleted_ms] = [sim.now(), null];
    await create({ name: "a", location: "fsn1", labels: { team: "x" } });
    await create({ name: "b", location: "hel1", ...NO_IPV4 });
    expect((await send("GET", "/_sim/bill")).body).toEqual({
      servers: [
        {
          id: 101,
          name: "a",
          labels: { team: "x" },
          born_ms,
          deleted_ms,
          months: { "2026-11": { server_micro_eur: 10_472, ipv4_micro_eur: 952 } },
        },
        {
          id: 102,
          name: "b",
          labels: {},
          born_ms,
          deleted_ms,
          months: { "2026-11": { server_micro_eur: 9996, ipv4_micro_eur: 0 } },
        },
      ],
      total_micro_eur: 21_420,
    });
  });

  it.each([
    [HOUR_S - 1, 10_472],
    [HOUR_S, 10_472],
    [HOUR_S + 1, 20_944],
  ])("after %d s has %d for the server, which a deletion ends for good", async (seconds, server_micro_eur) => {
    const { sim, send, create } = startSimulator();
    await create({ location: "fsn1" });
    sim.advance(seconds);
    await send("DELETE", "/v1/servers/101");
    sim.advance(90 * 24 * HOUR_S);
    expect(sim.bill().servers).toMatchObject([
      { id: 101, deleted_ms: sim.now() - 90 * 24 * HOUR_S * 1000, months: { "2026-11": { server_micro_eur } } },
    ]);
    sim.reset();
    expect(sim.bill()).toEqual({ servers: [], total_micro_eur: 0 });
  });

  it("puts hours into the month in which they begin, and no month above its price; one that is off counts", async () => {
    const { sim, send, create, running } = startSimulator();
    await running();
    await send("POST", "/v1/servers/101/actions/poweroff");
    await create({ name: "b", location: "hel1", ...NO_IPV4 });
    // From noon of the 15th of November to noon of the 1st of January: 372 hours, December, 12 hours.
    sim.advance((15.5 + 31) * 24 * HOUR_S + 12 * HOUR_S);
    expect(sim.bill().servers[1]?.months).toEqual({
      "2026-11": { server_micro_eur: 3_718_512, ipv4_micro_eur: 0 },
      "2026-12": { server_micro_eur: 6_235_600, ipv4_micro_eur: 0 },
      "2027-01": { server_micro_eur: 119_952, ipv4_micro_eur: 0 },
    });
    expect(sim.bill().servers[0]?.months).toHaveProperty("2026-12", {
      server_micro_eur: 6_533_100,
      ipv4_micro_eur: 595_000,
    });
  });

  it("keeps a server at the prices at which it was ordered, whatever is shown since", async () => {
    const { sim, send, create } = startSimulator();
    await create({ name: "a", location: "fsn1" });
    expect(await send("POST", "/_sim/prices", { percent: 150 })).toMatchObject({ status: 200, body: { percent: 150 } });
    await create({ name: "b", location: "fsn1" });
    expect(sim.bill().servers.map(({ months }) => months)).toEqual([
      { "2026-11": { server_micro_eur: 10_472, ipv4_micro_eur: 952 } },
      { "2026-11": { server_micro_eur: 15_708, ipv4_micro_eur: 1428 } },
    ]);
    const prices = [{ location: "fsn1", price_hourly: { net: "0.013200", gross: "0.01570800" } }, {}, {}];
    expect((await send("GET", "/v1/servers/101")).body).toMatchObject({ server: { server_type: { prices } } });
    expect((await send("GET", "/v1/server_types/114")).body).toMatchObject({ server_type: { prices } });
    expect((await send("GET", "/v1/pricing")).body).toHaveProperty(
      "pricing.primary_ips.0.prices.0.price_hourly.net",
      "0.001200",
    );
  });

  it.each([{}, { percent: 0 }, { percent: 1.5 }, { percent: 100, of: "cx23" }])(
    "takes no price change of %j",
    async (change) => {
      const { send } = startSimulator();
      expect(await send("POST", "/_sim/prices", change)).toMatchObject({ status: 422 });
    },
  );
});
