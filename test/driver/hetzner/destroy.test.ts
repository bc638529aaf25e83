import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureOf } from "../contract/cloud.ts";
import { openCanned, openSimulated, refusal } from "./bench.ts";

describe("destroy", () => {
  it("S45: is one DELETE of the one server", async () => {
    const { driver, sim, sent } = openSimulated();
    const { id } = sim.addServer({ name: "doomed" });
    await driver.destroy(String(id));
    expect(sent.map(({ method, path }) => [method, path])).toEqual([["DELETE", `/servers/${id}`]]);
    expect(sim.state().servers).toEqual([]);
  });

  it.each([
    ["a 404 in the envelope", () => refusal(404, "not_found")],
    ["the code under another status", () => refusal(422, "not_found")],
  ])("S46, P49: %s means that nothing is left to destroy", async (_, answer) => {
    await expect(openCanned(answer).driver.destroy("42")).resolves.toBeUndefined();
  });

  it("S47, P50: an answer that was lost is made good by asking again", async () => {
    const { driver, sim } = openSimulated();
    const { id } = sim.addServer({ name: "doomed" });
    sim.fault({ method: "DELETE", drop: "after" });
    expect(await failureOf(driver.destroy(String(id)))).toMatchObject({ ambiguous: true, retryable: true });
    await expect(driver.destroy(String(id))).resolves.toBeUndefined();
    expect(sim.state().servers).toEqual([]);
  });

  it("S48: the deletion goes on after the answer; a look meanwhile shows it or shows nothing", async () => {
    const { driver, sim } = openSimulated();
    const { id } = sim.addServer({ name: "doomed" });
    await driver.destroy(String(id));
    expect(sim.state().actions).toMatchObject([{ command: "delete_server", status: "running" }]);
    expect((await failureOf(driver.get(String(id)))).code).toBe("not_found");
    const dying = sim.addServer({ name: "dying", status: "deleting" });
    expect((await driver.get(String(dying.id))).status).toBe("deleting");
  });

  it("S49: protection is told apart from a lock, is worth no repeat, and the server stays", async () => {
    const { driver, sim } = openSimulated();
    const { id } = sim.addServer({ name: "kept", protection: { delete: true, rebuild: true } });
    expect(await failureOf(driver.destroy(String(id)))).toMatchObject({
      code: "protected",
      status: 423,
      retryable: false,
      ambiguous: false,
    });
    expect(sim.state().servers).toHaveLength(1);
  });

  it.each([
    [423, "locked", "locked"],
    [409, "conflict", "conflict"],
  ] as const)("S50: %i %s is worth a repeat, and destroyed nothing", async (status, native, code) => {
    const { driver, sim, count } = openSimulated();
    const { id } = sim.addServer({ name: "busy" });
    sim.fault({ method: "DELETE", status, code: native });
    expect(await failureOf(driver.destroy(String(id)))).toMatchObject({ code, retryable: true, ambiguous: false });
    expect([count("DELETE", `/servers/${id}`), sim.state().servers.length]).toEqual([1, 1]);
    await driver.destroy(String(id));
    expect(sim.state().servers).toEqual([]);
  });

  it.each([
    [401, "unauthorized", false],
    [403, "forbidden", false],
    [429, "rate_limit_exceeded", false],
    [500, "server_error", true],
    [503, "unavailable", true],
  ])("S10: %i %s is no success (open: %s)", async (status, code, ambiguous) => {
    const { driver } = openCanned(() => refusal(status, code));
    expect(await failureOf(driver.destroy("42"))).toMatchObject({ status, ambiguous });
  });
});

describe("an id", () => {
  const SERVERS = "https://hetzner.test/v1/servers";
  const odd = ["", "0", "-1", "+1", "01", "1.5", "1e3", "0x10", " 42", "42 ", "42\n", "abc", "4 2", "٤٢", "NaN"]
    .concat("42/", "/42", "..", "42/../43", "42%2f", "42?force=1", "42#", "*", "mem-1", "[object Object]")
    .concat("9007199254740992", "9007199254740993", "99999999999999999999");

  it.each(odd)("S51, P8: %j never gets into a URL", async (id) => {
    const { driver, sent } = openCanned(() => new Response(null, { status: 204 }));
    for (const refused of [failureOf(driver.get(id)), failureOf(driver.destroy(id))])
      expect(await refused).toMatchObject({ code: "invalid_input", problem: { field: "provider_id" } });
    expect(sent).toEqual([]);
  });

  it("S51: the greatest that there can be does", async () => {
    const { driver, sent } = openCanned(() => new Response(null, { status: 204 }));
    await driver.destroy("9007199254740991");
    expect(sent.map(({ path }) => path)).toEqual(["/servers/9007199254740991"]);
  });

  it("S51: whatever is given, a request is about one server or is not made", async () => {
    const id = fc.oneof(fc.string(), fc.nat().map(String), fc.bigInt({ min: 0n, max: 2n ** 60n }).map(String));
    await fc.assert(
      fc.asyncProperty(id, async (text) => {
        const { driver, sent } = openCanned(() => new Response(null, { status: 204 }));
        await driver.destroy(text).catch(() => {});
        const number = Number(text);
        const urls = sent.map(({ url }) => url.href);
        expect(urls).toEqual(/^[1-9]\d*$/.test(text) && Number.isSafeInteger(number) ? [`${SERVERS}/${number}`] : []);
      }),
    );
  });
});
