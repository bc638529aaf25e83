import { describe, expect, it } from "vitest";
import type { Account } from "../../../src/driver/hetzner/account.ts";
import { failureOf, spec } from "../contract/cloud.ts";
import { openCanned, openSimulated, pageOf, refusal, serverJson } from "./bench.ts";

const headers = (limit: string | null, remaining: string | null): HeadersInit =>
  Object.entries({ "RateLimit-Limit": limit, "RateLimit-Remaining": remaining }).flatMap(([name, value]) =>
    value === null ? [] : [[name, value]],
  );

describe("the rate limit", () => {
  it.each([
    ["3600", "359"],
    ["7200", "719"],
  ])(
    "case 3: of %s an hour leaves a tenth to deletes: with %s left nothing is created or read, and deletes go on",
    async (limit, left) => {
      const account: Account = { currency: "EUR" };
      const { driver, sent } = openCanned(
        ({ method }) =>
          method === "DELETE"
            ? new Response(null, { status: 204 })
            : Response.json(
                { server: serverJson(), servers: [], meta: { pagination: { next_page: null } } },
                { headers: headers(limit, left) },
              ),
        { account },
      );
      await driver.get("42");
      const error = await failureOf(driver.create(spec()));
      expect(error).toMatchObject({ code: "rate_limited", retryable: true, ambiguous: false });
      expect(error.retryAfter).toBe(1);
      expect((await failureOf(driver.list({}))).code).toBe("rate_limited");
      await driver.destroy("42");
      expect(sent.map(({ method }) => method)).toEqual(["GET", "DELETE"]);
    },
  );

  it("refills evenly: the wait that is named is enough, and a second less is not", async () => {
    const { driver, sim, advance } = openSimulated({ account: { currency: "EUR" } });
    sim.reset({ rate_limit: 3600 });
    for (let call = 0; call < 3301; call++) await driver.destroy("1");
    const { retryAfter = 0 } = await failureOf(driver.create(spec()));
    expect(retryAfter).toBeGreaterThan(30);
    advance((retryAfter - 1) * 1000);
    expect((await failureOf(driver.create(spec()))).code).toBe("rate_limited");
    advance(1000);
    await expect(driver.create(spec())).resolves.toMatchObject({ name: "ci-1" });
  });

  it.each([
    [null, null],
    ["3600", null],
    [null, "0"],
    ["0", "0"],
    ["many", "few"],
    ["-1", "-1"],
  ])("case 3: headers that are missing or odd (%j, %j) mean nothing", async (limit, left) => {
    const { driver } = openCanned(({ method }) =>
      method === "POST"
        ? Response.json({ server: serverJson({ labels: spec().labels }) }, { status: 201 })
        : pageOf([]),
    );
    const { driver: told } = openCanned(({ method }) =>
      method === "POST"
        ? Response.json(
            { server: serverJson({ labels: spec().labels }) },
            { status: 201, headers: headers(limit, left) },
          )
        : Response.json({ servers: [], meta: { pagination: { next_page: null } } }, { headers: headers(limit, left) }),
    );
    for (const one of [driver, told]) {
      await one.list({});
      await expect(one.create(spec())).resolves.toMatchObject({ providerId: "42" });
    }
  });

  it("is also read from a refusal", async () => {
    const { driver, sent } = openCanned(() => refusal(429, "rate_limit_exceeded", null, headers("3600", "0")));
    expect((await failureOf(driver.get("42"))).code).toBe("rate_limited");
    expect((await failureOf(driver.create(spec()))).retryAfter).toBe(360);
    expect(sent).toHaveLength(1);
  });
});

describe("an error", () => {
  it("carries the correlation id that Hetzner's support asks for, if it can be one", async () => {
    const withId = (id: string) =>
      openCanned(() => refusal(503, "unavailable", null, { "X-Correlation-Id": id })).driver;
    expect((await failureOf(withId("a1b2-c3").get("42"))).message).toMatch(/ \(correlation id a1b2-c3\)$/);
    expect((await failureOf(withId("<script>").get("42"))).message).not.toContain("correlation");
  });
});
