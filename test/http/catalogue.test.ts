import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createMayfly, MINUTE, type Mayfly } from "../mayfly.ts";

const offer = z.object({
  name: z.string(),
  region: z.string(),
  arch: z.string(),
  cores: z.number(),
  memory_gb: z.number(),
  price_eur_per_hour: z.number().nullable(),
  price_eur_per_month: z.number().nullable(),
  ipv4_eur_per_hour: z.number().nullable(),
  ipv4_eur_per_month: z.number().nullable(),
  with_ipv4_eur_per_hour: z.number().nullable(),
  with_ipv4_eur_per_month: z.number().nullable(),
});
const CX23_FSN1 = {
  price_eur_per_hour: 0.010472,
  price_eur_per_month: 6.5331,
  ipv4_eur_per_hour: 0.000952,
  ipv4_eur_per_month: 0.595,
  with_ipv4_eur_per_hour: 0.011424,
  with_ipv4_eur_per_month: 7.1281,
};
async function offers(mayfly: Mayfly, query = "") {
  const { body } = await mayfly.send("GET", `/v1/server_types${query}`);
  return z.object({ server_types: z.array(offer), observed_at: z.string() }).parse(body);
}
const asked = (mayfly: Mayfly, path: string) =>
  mayfly.simulator.requests().filter((request) => request.path === path).length;

describe("what can be ordered", () => {
  it("S86, S88: is each type in each region, with its own price there, cores and memory", async () => {
    const mayfly = createMayfly();
    const { server_types } = await offers(mayfly, "?region=fsn1");
    expect(server_types).toContainEqual({
      name: "cx23",
      region: "fsn1",
      arch: "amd64",
      cores: 2,
      memory_gb: 4,
      ...CX23_FSN1,
    });
    expect(server_types.every(({ region }) => region === "fsn1")).toBe(true);
    const arm = await offers(mayfly, "?arch=arm64");
    expect(arm.server_types.length).toBeGreaterThan(0);
    expect(arm.server_types.every(({ name }) => name.startsWith("cax"))).toBe(true);
  });

  it("S87: leaves out what has a price and no offer, and what is not in stock", async () => {
    const mayfly = createMayfly();
    const named = async (name: string, region: string) =>
      (await offers(mayfly, `?region=${region}`)).server_types.some((one) => one.name === name);
    expect([await named("cpx11", "fsn1"), await named("cpx11", "ash")]).toEqual([false, true]);
    expect(await named("cx33", "hel1")).toBe(true);
    mayfly.simulator.stock({ server_type: "cx33", location: "hel1", available: false });
    mayfly.advance(11 * MINUTE);
    expect([await named("cx33", "hel1"), await named("cx33", "fsn1")]).toEqual([false, true]);
  });

  it("S92: of a region that nobody knows is nothing, and no error", async () => {
    expect((await offers(createMayfly(), "?region=atlantis")).server_types).toEqual([]);
  });

  it("S68: has no price while the account pays in another currency", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.reset({ currency: "USD" });
    const { server_types } = await offers(mayfly, "?region=fsn1");
    const prices = server_types.flatMap((one) => [
      one.price_eur_per_hour,
      one.price_eur_per_month,
      one.ipv4_eur_per_hour,
      one.ipv4_eur_per_month,
      one.with_ipv4_eur_per_hour,
      one.with_ipv4_eur_per_month,
    ]);
    expect(new Set(prices)).toEqual(new Set([null]));
  });

  it("S90: is asked for once in ten minutes, never of /datacenters, and stands where the provider does not answer", async () => {
    const mayfly = createMayfly();
    const first = await offers(mayfly);
    await offers(mayfly);
    expect(asked(mayfly, "/v1/server_types")).toBe(1);
    mayfly.advance(11 * MINUTE);
    mayfly.simulator.fault({
      method: "GET",
      path: "server_types",
      times: 9,
      status: 503,
      code: "unavailable",
      message: "no",
    });
    expect(await offers(mayfly)).toEqual(first);
    mayfly.simulator.clearFaults();
    expect((await offers(mayfly)).observed_at).not.toBe(first.observed_at);
    expect(mayfly.simulator.requests().filter(({ path }) => path.includes("datacenter"))).toEqual([]);
  });

  it("is a 503 where the provider never answered", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "GET", path: ".*", times: 9, status: 503, code: "unavailable", message: "no" });
    expect(await mayfly.send("GET", "/v1/server_types")).toMatchObject({
      status: 503,
      body: { code: "provider_unavailable" },
    });
    expect(await mayfly.send("GET", "/v1/pricing?region=fsn1&server_type=cx23")).toMatchObject({ status: 503 });
  });
});

describe("a price", () => {
  it("S81, S82: is the region's own, and null where it is unknown", async () => {
    const mayfly = createMayfly();
    const price = async (region: string, type: string) =>
      (await mayfly.send("GET", `/v1/pricing?region=${region}&server_type=${type}`)).body;
    expect(await price("fsn1", "cx23")).toEqual({
      pricing: { region: "fsn1", server_type: "cx23", ...CX23_FSN1 },
    });
    expect(await price("hel1", "cx23")).toMatchObject({
      pricing: { price_eur_per_hour: 0.009996, price_eur_per_month: 6.2356, ipv4_eur_per_hour: 0.000952 },
    });
    expect(await price("ash", "cx23")).toMatchObject({
      pricing: { price_eur_per_hour: null, with_ipv4_eur_per_hour: null, with_ipv4_eur_per_month: null },
    });
    expect(await price("fsn1", "cx99")).toMatchObject({ pricing: { price_eur_per_hour: null } });
  });

  it("costs the provider nothing, however often it is asked for: once in ten minutes", async () => {
    const mayfly = createMayfly();
    const price = () => mayfly.send("GET", "/v1/pricing?region=fsn1&server_type=cx23");
    await price();
    const before = mayfly.simulator.requests().length;
    for (let call = 0; call < 20; call++) expect((await price()).text).toContain("0.010472");
    expect(mayfly.simulator.requests()).toHaveLength(before);
    mayfly.advance(11 * MINUTE);
    await price();
    expect(asked(mayfly, "/v1/server_types")).toBe(2);
  });

  it("is what it was where the provider does not answer, or its rate limit is for others", async () => {
    const mayfly = createMayfly();
    const price = () => mayfly.send("GET", "/v1/pricing?region=fsn1&server_type=cx23");
    const known = (await price()).body;
    mayfly.advance(11 * MINUTE);
    mayfly.simulator.fault({ method: "GET", path: ".*", times: 9, status: 503, code: "unavailable", message: "no" });
    expect(await price()).toMatchObject({ status: 200, body: known });
  });

  it.each([
    ["/v1/pricing", "region"],
    ["/v1/pricing?region=fsn1", "server_type"],
    ["/v1/pricing?region=fsn1&server_type=../x", "server_type"],
    ["/v1/server_types?arch=x86", "arch"],
    ["/v1/server_types?region=", "region"],
    ["/v1/server_types?type=cx23", "type"],
  ])("%s is refused, naming %s", async (path, field) => {
    const mayfly = createMayfly();
    expect(await mayfly.send("GET", path)).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(mayfly.simulator.requests()).toEqual([]);
  });
});
