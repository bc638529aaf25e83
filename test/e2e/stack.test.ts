import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import description from "../../public/openapi.json" with { type: "json" };
import { startStack, type Stack } from "../../scripts/stack.ts";
import { refuseForbidden, watchRequest } from "../driven-simulator.ts";

/** A configuration of its own: that of the deployment is bundled along. */
const NOTHING = { POLICIES: "[]", PROFILES: "{}", ISSUERS: "[]" };
const settings = { ADMIN_TOKEN: "e2e-admin", HCLOUD_TOKEN: "e2e-hcloud", INSTALLATION: "local", ...NOTHING };
const BODY = { server_type: "cx23", region: "fsn1" };
const MINUTE_MS = 60_000;

async function call(stack: Stack, method: string, path: string, body?: unknown) {
  const response = await fetch(stack.url + path, {
    method,
    headers: { Authorization: "Bearer e2e-admin" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed: unknown = text === "" ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: parsed };
}
const controlsOf = (stack: Stack) => {
  if (stack.simulator === null) throw new Error("this stack has no simulator");
  return stack.simulator.controls;
};

afterEach(refuseForbidden);
afterAll(refuseForbidden);

describe("the built Worker in workerd, with D1 and the simulator on real sockets", () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ settings, onRequest: watchRequest });
  });
  afterAll(() => stack.stop());
  beforeEach(() => controlsOf(stack).reset());
  afterEach(async () => {
    await stack.db.prepare("DELETE FROM machines").run();
  });

  it("creates, lists and destroys", async () => {
    expect((await call(stack, "PUT", "/v1/machines/a", BODY)).status).toBe(201);
    expect(await call(stack, "GET", "/v1/machines")).toMatchObject({
      status: 200,
      body: { machines: [{ name: "a" }] },
    });
    expect(await call(stack, "DELETE", "/v1/machines/a")).toMatchObject({
      status: 200,
      body: { machine: { status: "destroyed" } },
    });
    expect(controlsOf(stack).state().servers).toEqual([]);
  });

  it("serves the description of its calls beside the Worker", async () => {
    const { status, headers, body } = await call(stack, "GET", "/openapi.json");
    expect([status, headers.get("Content-Type")]).toEqual([200, "application/json"]);
    expect(body).toEqual(description);
  });

  it("runs the cron handler at any time that a tick names", async () => {
    await call(stack, "PUT", "/v1/machines/a", { ...BODY, ttl: "60s" });
    expect(await stack.tick(Date.now() + 2 * MINUTE_MS)).toMatchObject({
      outcome: "ok",
      phases: [
        { phase: "expire", destroyed: [{ reason: "expired" }] },
        { phase: "reap" },
        { phase: "settle" },
        { phase: "reconcile" },
        { phase: "orphans" },
        { phase: "history" },
      ],
    });
    expect(controlsOf(stack).state().servers).toEqual([]);
    const healthz = await fetch(`${stack.url}/healthz`);
    expect(healthz.status).toBe(200);
  });

  it("P20: yields one machine when a real connection is cut after the create took effect", async () => {
    controlsOf(stack).fault({ method: "POST", path: "^/v1/servers$", drop: "after" });
    const first = await call(stack, "PUT", "/v1/machines/a", BODY);
    const repeat = await call(stack, "PUT", "/v1/machines/a", BODY);
    expect([first.status, repeat.status]).toEqual([201, 200]);
    expect(controlsOf(stack).state().servers).toHaveLength(1);
  });

  it("answers twenty parallel creates of one name with one machine", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(stack, "PUT", "/v1/machines/a", BODY)));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body).match(/mch_[0-9a-f-]+/)?.[0])).size).toBe(1);
    expect(controlsOf(stack).state().servers).toHaveLength(1);
  });

  it("S158: makes and records the machine of a caller that hung up during the create", async () => {
    controlsOf(stack).fault({ method: "POST", path: "^/v1/servers$", delay_ms: 300 });
    const signal = AbortSignal.timeout(100);
    const hungUp = fetch(`${stack.url}/v1/machines/a`, {
      method: "PUT",
      headers: { Authorization: "Bearer e2e-admin" },
      body: JSON.stringify(BODY),
      signal,
    });
    await expect(hungUp).rejects.toMatchObject({ name: "TimeoutError" });
    await expect
      .poll(async () => (await call(stack, "GET", "/v1/machines/a")).body, { timeout: 10_000 })
      .toMatchObject({ machine: { status: "running" } });
    expect((await call(stack, "PUT", "/v1/machines/a", BODY)).status).toBe(200);
    expect(controlsOf(stack).state().servers).toHaveLength(1);
  });

  it("S146, S147: sends its token and a JSON body over the wire, and keeps `datacenter` out of it", async () => {
    await call(stack, "PUT", "/v1/machines/a", BODY);
    const requests = controlsOf(stack).requests();
    expect(requests.map(({ method }) => method)).toContain("POST");
    expect(refuseForbidden).not.toThrow();
    expect(requests.every(({ status }) => status < 400)).toBe(true);
  });
});

describe("a restart", () => {
  it("on the same state folder keeps its rows", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "mayfly-"));
    try {
      const first = await startStack({ settings, stateDir, onRequest: watchRequest });
      await call(first, "PUT", "/v1/machines/kept", { ...BODY, ttl: "1h" });
      await first.stop();
      const second = await startStack({ settings, stateDir, onRequest: watchRequest });
      expect(await call(second, "GET", "/v1/machines/kept")).toMatchObject({
        status: 200,
        body: { machine: { name: "kept" } },
      });
      await second.stop();
    } finally {
      await rm(stateDir, { recursive: true });
    }
  });
});
