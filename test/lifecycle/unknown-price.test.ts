import { describe, expect, it } from "vitest";
import type { PolicyEntry } from "../../src/auth/policy.ts";
import { ratesOf, UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { createMayfly, HOUR, machineIn, minutes, NOW, servers } from "../mayfly.ts";
import { putMachine } from "../store/tables.ts";
import { HOURLY, limited, put, told } from "./limited.ts";

describe("I6: an unknown price is never free", () => {
  const hidden = async (policies: readonly PolicyEntry[]) => {
    const mayfly = await limited(policies);
    await mayfly.bindings.DB.exec(
      "UPDATE catalogues SET server_types = replace(server_types, '\"priceEurPerHour\":0.010472', '\"priceEurPerHour\":null')",
    );
    return mayfly;
  };

  it("what has none is refused under a limit in euro, whatever the limit, and no row is written", async () => {
    const mayfly = await hidden([{ name: "default", eur_per_month: 999_999 }]);
    const answer = await put(mayfly, "box", await mayfly.tokenOf("alice"));
    expect(answer.body).toMatchObject({
      code: "limit_money",
      rule: "must have a known price (unknown_price)",
      machines: [],
    });
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "60"]);
    expect(await mayfly.store.machines.byName("tok.alice", "box")).toBeNull();
  });

  it("is asked for where the catalogue is not known yet", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    expect((await put(mayfly, "box")).status).toBe(201);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    mayfly.simulator.fault({ method: "GET", path: "/server_types", status: 503, times: 9 });
    expect((await put(mayfly, "other")).body).toMatchObject({ code: "limit_money" });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("counts as the dearest that is known, where a policy lets it pass", async () => {
    const mayfly = await hidden([{ name: "default", eur_per_month: 999, unknown_price: true }]);
    const alice = await mayfly.tokenOf("alice");
    const { dearestMicroEur: hour, dearestIpv4MicroEur: ipv4 } = await mayfly.store.limits.dearest("hetzner");
    expect(hour ?? 0).toBeGreaterThan(100_000);
    mayfly.configure({ MAX_EUR_PER_MONTH: ((1.5 * ((hour ?? 0) + (ipv4 ?? 0))) / 1e6).toFixed(2) });
    expect((await put(mayfly, "box", alice, { ttl: "90m" })).status).toBe(429);
    expect((await put(mayfly, "box", alice, { ttl: "30m" })).status).toBe(201);
  });

  it("refuses in the words of the limit, however many there are and while no price at all is known", async () => {
    const mayfly = await limited([], { MAX_AGE: "30d" });
    const month = { createdAt: NOW, expiresAt: NOW + 720 * HOUR, maxUntil: NOW + 720 * HOUR };
    for (let id = 1; id <= 10; id++)
      await putMachine({
        uid: `unpriced ${id}`,
        account: "tok.alice",
        providerId: `${id}`,
        ...ratesOf(UNKNOWN_PRICES),
        ...month,
      });
    await mayfly.bindings.DB.exec("UPDATE catalogues SET dearest_micro_eur = NULL, dearest_ipv4_micro_eur = NULL");
    const answer = await put(mayfly, "box", await mayfly.tokenOf("alice"), { ttl: "29d" });
    expect(told(answer).figures.used).toBeGreaterThan(1_000_000);
  });

  it("is no matter where nothing limits money", async () => {
    const mayfly = await hidden([]);
    mayfly.configure({ MAX_EUR_PER_MONTH: "off" });
    expect((await put(mayfly, "box", await mayfly.tokenOf("alice"))).status).toBe(201);
  });

  it("of a project that pays in another currency is a wrong setting, until CURRENCY names it", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    mayfly.simulator.reset({ currency: "USD" });
    const answer = await put(mayfly, "box");
    const rule = "must be USD, which the provider's project pays in: limits go by it";
    expect(answer).toMatchObject({ status: 503, body: { code: "misconfigured", field: "CURRENCY", rule } });
    expect(servers(mayfly)).toHaveLength(0);
    mayfly.configure({ CURRENCY: "USD", MAX_EUR_PER_MONTH: "0.02" });
    mayfly.advance(11 * 60_000);
    expect(machineIn(await put(mayfly, "box", undefined, { ttl: "30m" })).price_eur_per_hour).toBe(HOURLY);
    const refused = await put(mayfly, "other", undefined, { ttl: "30m" });
    expect(refused.body).toMatchObject({ code: "limit_money", figures: { limit: 0.02, unit: "USD" } });
  });
});

describe("I6: a CURRENCY that was right and is made wrong", () => {
  it("is told at once, though prices are known, of which each is an amount of the other", async () => {
    const before = createMayfly({ CURRENCY: "USD" });
    before.simulator.reset({ currency: "USD" });
    expect((await before.send("GET", "/v1/server_types")).status).toBe(200);
    const after = createMayfly({ CURRENCY: "EUR", MAX_EUR_PER_MONTH: "100" });
    after.simulator.reset({ currency: "USD" });
    expect((await put(after, "box")).body).toMatchObject({ code: "misconfigured", field: "CURRENCY" });
    expect(servers(after)).toEqual([]);
  });
});

describe("I6: a CURRENCY that was wrong and is put right", () => {
  it("is none from then on: prices are asked for anew", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    mayfly.simulator.reset({ currency: "USD" });
    expect((await put(mayfly, "box")).body).toMatchObject({ code: "misconfigured" });
    mayfly.configure({ CURRENCY: "USD" });
    expect((await put(mayfly, "box")).status).toBe(201);
  });

  it("has cost no sweep the prices that were known, as far as a create can tell", async () => {
    const mayfly = await limited([]);
    mayfly.configure({ CURRENCY: "euro" });
    mayfly.advance(HOUR);
    await minutes(mayfly, 2);
    mayfly.configure({ CURRENCY: "EUR" });
    expect((await put(mayfly, "box")).status).toBe(201);
  });
});
