import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, MINUTE, NOW } from "../mayfly.ts";
import description from "../../public/openapi.json" with { type: "json" };

describe("the app", () => {
  it("tells what a look at the health has cost", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/healthz", undefined, null);
    expect(mayfly.logs).toMatchObject([{ event: "request", route: "/healthz", fetches: 0, statements: 5 }]);
  });

  it("logs one line a request: who, what, with which outcome, and what it cost", async () => {
    const mayfly = createMayfly();
    const answer = await mayfly.send("PUT", "/v1/machines/box", BODY);
    await mayfly.send("GET", "/v1/machines", undefined, "wrong");
    expect(mayfly.logs).toMatchObject([
      {
        event: "request",
        request_id: answer.headers.get("X-Request-Id"),
        method: "PUT",
        route: "/v1/machines/:ref",
        status: 201,
        outcome: "created",
        principal: "admin",
        machine: machineIn(answer).id,
        fetches: 2,
      },
      {
        event: "request",
        method: "GET",
        status: 401,
        outcome: "unauthorized",
        principal: null,
        fetches: 0,
        statements: 0,
      },
    ]);
  });

  it("logs a sweep as one line, and each alert as one of its own", async () => {
    const mayfly = createMayfly();
    const { id, provider_id } = machineIn(await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "60s" }));
    mayfly.advance(2 * MINUTE);
    mayfly.simulator.fault({ method: "DELETE", status: 403, code: "token_readonly", message: "no" });
    await mayfly.send("POST", "/v1/sweeps");
    expect(mayfly.logs.slice(1)).toMatchObject([
      { event: "alert", phase: "expire", machine: id, provider_id },
      { event: "sweep", outcome: "failed", fetches: 3 },
      { event: "request", route: "/v1/sweeps", principal: "admin", outcome: "ok" },
    ]);
  });

  it("is described for programs, every route with its answers", () => {
    expect(description).toMatchObject({
      openapi: "3.1.0",
      paths: {
        "/v1/machines/{ref}": { put: { responses: { 201: {}, 200: {}, default: {} } }, get: {}, delete: {} },
        "/v1/machines": { post: { requestBody: { required: true } }, get: {} },
        "/v1/sweeps": { post: {}, get: {} },
        "/v1/tokens": { post: {}, get: {} },
      },
    });
  });

  it("lets nobody keep an answer or guess its type, whatever it is", async () => {
    const mayfly = createMayfly();
    const large = "x".repeat(300_000);
    const broken = createMayfly({ MAX_AGE: "long" });
    const answers = [
      await mayfly.send("PUT", "/v1/machines/box", BODY),
      await mayfly.send("GET", "/v1/machines"),
      await mayfly.send("POST", "/v1/tokens", { owner: "alice" }),
      await mayfly.send("DELETE", "/v1/machines/none"),
      await mayfly.send("PUT", "/v1/machines/box", "{"),
      await mayfly.send("GET", "/v1/machines", undefined, "wrong"),
      await mayfly.send("GET", "/nowhere"),
      await mayfly.send("PATCH", "/v1/machines"),
      await mayfly.send("POST", "/v1/machines", large),
      await mayfly.send("PUT", "/v1/machines/BOX", BODY),
      await broken.send("GET", "/v1/machines"),
      await mayfly.send("GET", "/healthz", undefined, null),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 201, 204, 400, 401, 404, 405, 413, 422, 503, 200]);
    for (const { headers } of answers)
      expect([headers.get("Cache-Control"), headers.get("X-Content-Type-Options")]).toEqual(["no-store", "nosniff"]);
  });

  it("says what to do when the database has no schema", async () => {
    const mayfly = createMayfly();
    const broken = { ...mayfly.bindings, DB: { prepare: refuse, batch: refuse, exec: refuse } };
    const bindings = Object.assign({}, mayfly.bindings, broken);
    const health = await mayfly.app.request("/healthz", {}, bindings, createExecutionContext());
    expect([health.status, await health.text()]).toEqual([503, expect.stringContaining("apply the migrations")]);
    const listed = await mayfly.app.request(
      "/v1/machines",
      { headers: { Authorization: `Bearer ${env.ADMIN_TOKEN}` } },
      bindings,
      createExecutionContext(),
    );
    expect(listed.status).toBe(503);
    expect(listed.headers.get("Retry-After")).toBe("10");
    expect(await listed.text()).toMatch(/"code":"store_unavailable".*apply the migrations/);
  });

  it("writes nothing for callers that it does not know", async () => {
    const mayfly = createMayfly();
    for (const path of ["/healthz", "/v1/machines", "/v1/tokens", "/x"])
      await mayfly.send("GET", path, undefined, null);
    const tables = ["machines", "events", "sweeps", "settings", "tokens"];
    const counts = await mayfly.bindings.DB.batch(
      tables.map((table) => mayfly.bindings.DB.prepare(`SELECT * FROM ${table}`)),
    );
    expect(counts.flatMap(({ results }) => results)).toEqual([]);
    expect(mayfly.now()).toBe(NOW);
  });
});

function refuse(): never {
  throw new Error("D1_ERROR: no such table: machines: SQLITE_ERROR");
}
