import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const withoutToken = { Authorization: "" };

describe("the door", () => {
  it.each([
    ["no token", ""],
    ["an empty token", "Bearer "],
    ["another scheme", "Basic abc"],
  ])("answers 401 to %s", async (_what, authorization) => {
    const { send } = startSimulator();
    expect(await send("GET", "/v1/servers", undefined, { Authorization: authorization })).toMatchObject({
      status: 401,
      body: { error: { code: "unauthorized", message: "unable to authenticate", details: null } },
    });
  });

  it("answers 404 to an unknown path before it looks at the token", async () => {
    const { send } = startSimulator();
    for (const path of ["/v1/nothing", "/v1/servers/", "/v1/servers/abc", "/servers"])
      expect(await send("GET", path, undefined, withoutToken)).toMatchObject({
        status: 404,
        body: { error: { code: "not_found" } },
      });
  });

  it("answers a wrong method with 401 without a token and 405 with one", async () => {
    const { send } = startSimulator();
    expect(await send("DELETE", "/v1/servers", undefined, withoutToken)).toMatchObject({ status: 401 });
    expect(await send("DELETE", "/v1/servers")).toMatchObject({
      status: 405,
      body: { error: { code: "method_not_allowed" } },
    });
  });

  it.each([
    ["text that is no JSON", "{", 400, "json_error"],
    ["JSON that is no object", "[]", 422, "invalid_input"],
    ["nothing where fields are required", "", 422, "invalid_input"],
  ])("answers %s with an error", async (_what, text, status, code) => {
    const { send } = startSimulator();
    expect(await send("POST", "/v1/servers", text)).toMatchObject({ status, body: { error: { code } } });
  });

  it("knows every path below its version alone, and none about money or limits of an account", async () => {
    const { send } = startSimulator();
    for (const path of ["/v1/invoices", "/v1/billing", "/v1/limits", "/v2/servers", "/v1/"])
      expect(await send("GET", path)).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });

  it("marks every answer with a correlation id of its own", async () => {
    const { sim, send } = startSimulator();
    sim.reset({ rate_limit: 4 });
    sim.fault({ path: "locations", status: 503 });
    const answers = [
      await send("GET", "/v1/servers"),
      await send("GET", "/v1/nothing"),
      await send("GET", "/v1/servers", undefined, withoutToken),
      await send("GET", "/v1/locations"),
      await send("GET", "/v1/servers"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 401, 503, 429]);
    const ids = answers.map(({ headers }) => headers.get("X-Correlation-Id"));
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(5);
  });
});

describe("the rate limit", () => {
  it("counts every request, unauthenticated ones too, and says so on every answer", async () => {
    const { sim, send } = startSimulator();
    await send("GET", "/v1/servers", undefined, withoutToken);
    const { headers } = await send("GET", "/v1/nothing");
    expect(headers.get("RateLimit-Limit")).toBe("3600");
    expect(headers.get("RateLimit-Remaining")).toBe("3598");
    expect(headers.get("RateLimit-Reset")).toBe(String(sim.now() / 1000 + 2));
  });

  it("answers 429 when the bucket is empty and refills it with time", async () => {
    const { sim, send } = startSimulator();
    sim.reset({ rate_limit: 60 });
    for (let count = 0; count < 60; count += 1) await send("GET", "/v1/locations");
    const refused = await send("GET", "/v1/locations");
    expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limit_exceeded" } } });
    expect(refused.headers.get("RateLimit-Remaining")).toBe("0");
    sim.advance(59);
    expect(await send("GET", "/v1/locations")).toMatchObject({ status: 429 });
    sim.advance(1);
    expect(await send("GET", "/v1/locations")).toMatchObject({ status: 200 });
  });

  it("lets nothing happen on a refused request", async () => {
    const { sim, create } = startSimulator();
    sim.reset({ rate_limit: 1 });
    await create({ name: "a" });
    await create({ name: "b" });
    expect(sim.state().servers).toMatchObject([{ name: "a" }]);
  });

  it("is one for all tokens of the project", async () => {
    const { send } = startSimulator();
    await send("GET", "/v1/servers", undefined, { Authorization: "Bearer one" });
    const { headers } = await send("GET", "/v1/servers", undefined, { Authorization: "Bearer two" });
    expect(headers.get("RateLimit-Remaining")).toBe("3598");
  });

  it("names the time when the bucket is full, which lies behind the next allowed request", async () => {
    const { sim, send } = startSimulator();
    for (let count = 0; count < 3600; count += 1) await send("GET", "/v1/nothing");
    const refused = await send("GET", "/v1/servers");
    expect(refused).toMatchObject({ status: 429 });
    expect(refused.headers.get("RateLimit-Reset")).toBe(String(sim.now() / 1000 + 3600));
    sim.advance(1);
    expect(await send("GET", "/v1/servers")).toMatchObject({ status: 200 });
  });

  it("never holds more than an hour's worth", async () => {
    const { sim, send } = startSimulator();
    sim.advance(86_400);
    expect((await send("GET", "/v1/servers")).headers.get("RateLimit-Remaining")).toBe("3599");
  });

  it("comes before the token and the path", async () => {
    const { sim, send } = startSimulator();
    sim.reset({ rate_limit: 1 });
    await send("GET", "/v1/servers");
    expect(await send("GET", "/v1/servers", undefined, withoutToken)).toMatchObject({ status: 429 });
    expect(await send("GET", "/v1/nothing")).toMatchObject({ status: 429 });
  });
});
