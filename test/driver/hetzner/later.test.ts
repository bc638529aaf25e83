import { describe, expect, it } from "vitest";
import { failureOf } from "../contract/cloud.ts";
import { openCanned, openSimulated, openWith, refusal, serverJson } from "./bench.ts";

describe("what comes true only later", () => {
  it("S53: something still attached is `in_use`, which a later try may get through", async () => {
    const { driver } = openCanned(() => refusal(422, "resource_in_use"));
    expect(await failureOf(driver.destroy("42"))).toMatchObject({ code: "in_use", retryable: true });
  });

  it("S61: a private address that is not there yet is empty, and appears with a later look", async () => {
    let private_net: unknown[] = [];
    const { driver } = openCanned(() => Response.json({ server: serverJson({ private_net }) }));
    expect((await driver.get("42")).privateIpv4).toBe("");
    private_net = [{ network: 7, ip: "10.0.0.5", alias_ips: [] }];
    expect((await driver.get("42")).privateIpv4).toBe("10.0.0.5");
    expect((await openWith({ private_net: null }).get("42")).privateIpv4).toBe("");
  });
});

it("S69: a price is the server type's alone: the fee for a public IPv4 address is not in it, and is not guessed", async () => {
  const { driver, sim } = openSimulated();
  const answer = await sim.fetch(new Request("http://sim/v1/pricing", { headers: { Authorization: "Bearer x" } }));
  const text = await answer.text();
  const gross = /"name":"cx23","prices":\[\{"location":"fsn1","price_hourly":\{"net":"[\d.]+","gross":"([\d.]+)"/.exec(
    text,
  )?.[1];
  expect(await driver.priceEurPerHour("fsn1", "cx23")).toBe(Number(gross));
  expect(text).toContain('"primary_ips"');
});
