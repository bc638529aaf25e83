import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureOf, NOW, spec } from "../contract/cloud.ts";
import { openCanned, pageOf, refusal } from "./bench.ts";

const getting = (answer: () => Response) => failureOf(openCanned(answer).driver.get("42"));

describe("what a refusal means", () => {
  it.each([
    [401, "unauthorized", "unauthorized", false],
    [401, "token_readonly", "unauthorized", false],
    [403, "forbidden", "unauthorized", false],
    [404, "not_found", "not_found", false],
    [409, "uniqueness_error", "name_taken", false],
    [409, "conflict", "conflict", true],
    [400, "json_error", "invalid_input", false],
    [422, "invalid_input", "invalid_input", false],
    [412, "resource_unavailable", "capacity", false],
    [422, "placement_error", "capacity", false],
    [403, "resource_limit_exceeded", "quota", false],
    [403, "dedicated_core_limit", "capacity", false],
    [422, "private_net_only_server", "conflict", true],
    [423, "protected", "protected", false],
    [423, "locked", "locked", true],
    [422, "resource_in_use", "in_use", true],
    [410, "deprecated_api_endpoint", "gone", false],
    [429, "rate_limit_exceeded", "rate_limited", true],
    [500, "server_error", "unavailable", true],
    [502, "bad_gateway", "unavailable", true],
    [503, "unavailable", "unavailable", true],
    [403, "maintenance", "unavailable", true],
    [504, "timeout", "timeout", true],
    [422, "invented_tomorrow", "unexpected", false],
    [405, "method_not_allowed", "unexpected", false],
  ])("S155: %i %s is %s, worth a repeat: %s", async (status, native, code, retryable) => {
    expect(await getting(() => refusal(status, native))).toMatchObject({ status, code, retryable, ambiguous: false });
  });

  it.each([
    [409, "uniqueness_error", "name_taken"],
    [409, "locked", "locked"],
    [409, "protected", "protected"],
    [409, "invented_tomorrow", "unexpected"],
    [409, "", "unexpected"],
    [422, "constructor", "unexpected"],
    [422, "conflict", "conflict"],
    [422, "uniqueness_error", "name_taken"],
    [400, "invalid_input", "invalid_input"],
    [403, "protected", "protected"],
  ])("S154: with status %i the code %j decides: %s", async (status, native, code) => {
    expect((await getting(() => refusal(status, native))).code).toBe(code);
  });

  it.each([
    ["a 404 in the envelope", () => refusal(404, "not_found")],
    ["a 404 with a code that means something else elsewhere", () => refusal(404, "conflict")],
    ["a 404 of another code", () => refusal(404, "invented_tomorrow")],
    ["the code under another status", () => refusal(400, "not_found")],
  ])("S153: %s is absence", async (_, answer) => {
    expect((await getting(answer)).code).toBe("not_found");
    await expect(openCanned(answer).driver.destroy("42")).resolves.toBeUndefined();
  });

  it.each([
    ["a page", () => new Response("<h1>Not Found</h1>", { status: 404 })],
    ["no body", () => new Response(null, { status: 404 })],
    ["white space", () => new Response(" ", { status: 404 })],
    ["JSON that is no envelope", () => Response.json({ message: "no" }, { status: 404 })],
    ["an envelope without a code", () => Response.json({ error: { message: "not found" } }, { status: 404 })],
  ])("P41: a 404 with %s is not the API's word, and no absence", async (_, answer) => {
    expect((await getting(answer)).code).toBe("unexpected");
    expect((await failureOf(openCanned(answer).driver.destroy("42"))).code).toBe("unexpected");
  });

  it.each<[number, string]>([
    [408, ""],
    [302, ""],
    [400, "timeout"],
    [409, "server_error"],
    [423, "maintenance"],
    [424, "service_error"],
    [418, ""],
    ...[408, 409, 423, 425, 499, 500, 302].map((status): [number, string] => [status, "invented_tomorrow"]),
  ])(
    "a create refused with %i %j may have taken effect: the code does not say that it did not",
    async (status, code) => {
      const { driver } = openCanned(({ method }) => (method === "POST" ? refusal(status, code) : pageOf([])));
      expect(await failureOf(driver.create(spec()))).toMatchObject({ status, ambiguous: true });
    },
  );

  it.each([400, 405, 412, 413, 418, 422, 424, 451])(
    "a create refused with %i and a code that nobody knows yet, in the API's own envelope, has not taken effect",
    async (status) => {
      const { driver, sent } = openCanned(() => refusal(status, "invented_tomorrow"));
      expect(await failureOf(driver.create(spec()))).toMatchObject({ code: "unexpected", status, ambiguous: false });
      expect(sent).toHaveLength(1);
    },
  );

  it("P41: only of one machine: a collection that is not found is a fault, not an absence", async () => {
    const { driver } = openCanned(() => refusal(404, "not_found"), { account: {} });
    expect((await failureOf(driver.list({}))).code).toBe("unexpected");
    expect((await failureOf(driver.priceEurPerHour("fsn1", "cx23"))).code).toBe("unexpected");
    expect((await failureOf(driver.create(spec()))).code).toBe("invalid_input");
  });

  it.each<[string, () => Response | Promise<Response>]>([
    ["401", () => refusal(401, "unauthorized")],
    ["403", () => refusal(403, "forbidden")],
    ["410", () => refusal(410, "deprecated_api_endpoint")],
    ["429", () => refusal(429, "rate_limit_exceeded")],
    ["500", () => refusal(500, "server_error")],
    ["502 from a proxy", () => new Response("bad gateway: host not found", { status: 502 })],
    ["503", () => refusal(503, "unavailable")],
    ["504", () => refusal(504, "timeout")],
    ["a redirect", () => new Response(null, { status: 302, headers: { Location: "https://elsewhere.test/" } })],
    ["a login page", () => new Response("<html>Log in</html>")],
    ["an empty 200", () => new Response("")],
    ["null for a server", () => Response.json({ server: null })],
    ["a cut connection", () => Promise.reject(new TypeError("Network connection lost."))],
  ])("S10, P41: %s is never taken for an absent machine", async (_, answer) => {
    const { driver } = openCanned(answer);
    const error = await failureOf(driver.get("42"));
    expect(error.code).not.toBe("not_found");
    expect(error.ambiguous).toBe(false);
  });

  it.each([
    ["an HTML page", "<html>502</html>"],
    ["no body", ""],
    ["half a body", '{"error":{"code":"not_fo'],
    ["another envelope", '{"errors":[{"code":"not_found"}]}'],
    ["odd types", '{"error":{"code":7,"message":null}}'],
    ["null", "null"],
  ])("S149: with %s the status alone tells, and no words are invented", async (_, body) => {
    const error = await getting(() => new Response(body, { status: 503 }));
    expect(error).toMatchObject({ status: 503, code: "unavailable" });
    expect(error.message).toBe("the provider answered 503");
  });

  it("S149: status, code and message of the envelope are in the error, at a length that a log can bear", async () => {
    const error = await getting(() => refusal(423, "locked"));
    expect(error.message).toBe("the provider answered 423 locked: says locked");
    const long = Response.json({ error: { code: "locked", message: "x".repeat(9000) } }, { status: 423 });
    expect((await getting(() => long)).message.length).toBeLessThan(600);
  });

  it("S149: reads no more than a mebibyte of an error", async () => {
    const chunk = new Uint8Array(64 * 1024).fill(32);
    let pulled = 0;
    let cancelled = false;
    const endless = new ReadableStream({
      type: "bytes",
      pull(controller) {
        pulled += 1;
        if (pulled > 100) controller.close();
        else controller.enqueue(chunk.slice());
      },
      cancel() {
        cancelled = true;
      },
    });
    expect(await getting(() => new Response(endless, { status: 503 }))).toMatchObject({ code: "unavailable" });
    expect([pulled < 25, cancelled]).toEqual([true, true]);
  });

  it("S149: and a whole one just below that", async () => {
    const text = JSON.stringify({ error: { code: "locked", message: "" } });
    const padded = text.padEnd(1024 * 1024, " ");
    expect((await getting(() => new Response(padded, { status: 503 }))).code).toBe("locked");
    expect((await getting(() => new Response(`${padded} `, { status: 503 }))).code).toBe("unavailable");
  });
});

describe("how long to wait", () => {
  const limited = (headers: Record<string, string>) =>
    getting(() => refusal(429, "rate_limit_exceeded", null, headers)).then(({ retryAfter }) => retryAfter);
  const inSeconds = (seconds: number) => String(NOW / 1000 + seconds);

  it("S150, S151: a 429 surfaces at once, with the seconds that it names, and nothing is sent again", async () => {
    const { driver, sent } = openCanned(() => refusal(429, "rate_limit_exceeded", null, { "Retry-After": "17" }));
    const error = await failureOf(driver.get("42"));
    expect(error).toMatchObject({ code: "rate_limited", status: 429, retryable: true, retryAfter: 17 });
    expect(sent).toHaveLength(1);
  });

  it("S150: a 429 without an envelope is one as well", async () => {
    expect(await getting(() => new Response("slow down", { status: 429 }))).toMatchObject({ code: "rate_limited" });
  });

  it("S152: without a Retry-After it is the time until the bucket is full", async () => {
    expect(await limited({ "RateLimit-Reset": inSeconds(25) })).toBe(25);
    expect(await limited({ "RateLimit-Reset": inSeconds(25), "Retry-After": "3" })).toBe(3);
  });

  it.each([
    [{}, 1],
    [{ "RateLimit-Reset": inSeconds(-5) }, 1],
    [{ "RateLimit-Reset": "soon" }, 1],
    [{ "RateLimit-Reset": inSeconds(90_000) }, 3600],
    [{ "Retry-After": "0" }, 1],
    [{ "Retry-After": "99999" }, 3600],
    [{ "Retry-After": "Mon, 30 Nov 2026 12:00:30 GMT", "RateLimit-Reset": inSeconds(4) }, 4],
  ])("S152: %j is bounded to %i s", async (headers, seconds) => {
    expect(await limited(headers)).toBe(seconds);
  });

  it("S152: whatever the headers say, it is whole seconds within an hour", async () => {
    const value = fc.oneof(fc.integer().map(String), fc.double().map(String), fc.stringMatching(/^[ -~]*$/));
    await fc.assert(
      fc.asyncProperty(value, value, async (reset, after) => {
        const seconds = await limited({ "RateLimit-Reset": reset, "Retry-After": after });
        expect(Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= 3600).toBe(true);
      }),
    );
  });

  it("S150: a Retry-After of another refusal is passed on, and none is invented", async () => {
    const busy = (headers: Record<string, string>) => getting(() => refusal(503, "unavailable", null, headers));
    expect((await busy({ "Retry-After": "9" })).retryAfter).toBe(9);
    expect((await busy({})).retryAfter).toBeUndefined();
  });
});
