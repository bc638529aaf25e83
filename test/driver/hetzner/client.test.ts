import { afterEach, describe, expect, it, vi } from "vitest";
import { failureOf, spec } from "../contract/cloud.ts";
import { openCanned, openWith, pageOf, serverJson, TOKEN, type Sent } from "./bench.ts";

const server = () => Response.json({ server: serverJson({ labels: spec().labels }) });

/** Never answers; gives up when its caller does, as a real fetch. */
const silence = ({ init }: Sent): Promise<Response> =>
  new Promise((_, reject) => {
    const abandon = (): void => reject(new DOMException("The operation was aborted", "AbortError"));
    if (init.signal?.aborted) abandon();
    else init.signal?.addEventListener("abort", abandon);
  });

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("one call", () => {
  it.each([
    ["", "https://api.hetzner.cloud/v1/servers/42"],
    ["http://127.0.0.1:8788/v1", "http://127.0.0.1:8788/v1/servers/42"],
    ["http://127.0.0.1:8788/v1///", "http://127.0.0.1:8788/v1/servers/42"],
  ])("S145: with the endpoint %j it goes to %s", async (endpoint, url) => {
    const { driver, sent } = openCanned(server, { endpoint });
    await driver.get("42");
    expect(sent.map((request) => request.url.href)).toEqual([url]);
  });

  it("S146: the token is in one header of every request; a content type only where there is a body", async () => {
    const { driver, sent } = openCanned(({ method, path }) => {
      if (method === "DELETE") return new Response(null, { status: 204 });
      return path === "/servers" && method === "GET" ? pageOf([]) : server();
    });
    await driver.create(spec());
    await driver.get("42");
    await driver.list({ a: "1" });
    await driver.destroy("42");
    expect(
      sent.map(({ method, headers }) => [method, headers.get("Authorization"), headers.get("Content-Type")]),
    ).toEqual([
      ["POST", `Bearer ${TOKEN}`, "application/json"],
      ["GET", `Bearer ${TOKEN}`, null],
      ["GET", `Bearer ${TOKEN}`, null],
      ["DELETE", `Bearer ${TOKEN}`, null],
    ]);
    expect(sent.map(({ url }) => url.href).join()).not.toContain(TOKEN);
  });

  it("S147: every request has a time-out, 30 s, and 20 s to create; one that struck is open for what changes something", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { driver, sent } = openCanned(silence);
    const calls: [() => Promise<unknown>, number, boolean][] = [
      [() => driver.get("42"), 30_000, false],
      [() => driver.list({}), 30_000, false],
      [() => driver.destroy("42"), 30_000, true],
      [() => driver.create(spec()), 20_000, true],
      [() => driver.create(spec(), { withinMs: 8000 }), 8000, true],
      [() => driver.create(spec(), { withinMs: 60_000 }), 20_000, true],
    ];
    for (const [call, limit, ambiguous] of calls) {
      const failure = failureOf(call());
      await vi.advanceTimersByTimeAsync(limit - 1);
      const { init } = sent.at(-1) ?? {};
      expect(init?.signal?.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(init?.signal?.aborted).toBe(true);
      // A create looks for what became of it.
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await failure).toMatchObject({ code: "timeout", retryable: true, status: 0, ambiguous });
    }
  });

  it("S147: a create is answered within what it is given, though the currency is asked for first, and the look after it is short", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let now = 0;
    const { driver, sent } = openCanned(silence, { account: {}, now: () => now });
    const pass = async (milliseconds: number) => {
      now += milliseconds;
      await vi.advanceTimersByTimeAsync(milliseconds);
    };
    const failure = failureOf(driver.create(spec(), { withinMs: 8000 }));
    for (const milliseconds of [2000, 6000, 5000]) await pass(milliseconds);
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /pricing",
      "POST /servers",
      "GET /servers",
    ]);
    expect(sent.every(({ init }) => init.signal?.aborted)).toBe(true);
    expect(await failure).toMatchObject({ code: "timeout", ambiguous: true });
  });

  it("S147: no timer outlives its call, however that ends", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const answers = [server(), new Response("no", { status: 500 }), new Response("odd")];
    const { driver } = openCanned(() => answers.shift() ?? Promise.reject(new TypeError("dropped")));
    await driver.get("42");
    for (let call = 0; call < 3; call++) await failureOf(driver.get("42"));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("S147: it covers the body as well, which can stall after good headers", async () => {
    const deadline = new AbortController();
    const stalling = ({ init }: Sent): Response =>
      new Response(
        new ReadableStream({
          type: "bytes",
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"server":'));
            init.signal?.addEventListener("abort", () => controller.error(new DOMException("aborted", "AbortError")));
            queueMicrotask(() => deadline.abort());
          },
        }),
      );
    const { driver } = openCanned(stalling, { signal: deadline.signal });
    expect(await failureOf(driver.get("42"))).toMatchObject({ code: "timeout", retryable: true });
  });

  it("S158: the deadline of the whole invocation aborts a call, and the caller is told", async () => {
    const deadline = new AbortController();
    const { driver, sent } = openCanned(silence, { signal: deadline.signal });
    const calls = [failureOf(driver.destroy("42")), failureOf(driver.create(spec()))];
    deadline.abort();
    expect(await Promise.all(calls)).toMatchObject([
      { code: "timeout", ambiguous: true },
      { code: "timeout", ambiguous: true },
    ]);
    expect(sent.map(({ method }) => method)).toEqual(["DELETE", "POST", "GET"]);
  });

  it("a cut connection is worth a repeat, and open for what changes something", async () => {
    const { driver } = openCanned(() => Promise.reject(new TypeError("Network connection lost.")));
    expect(await failureOf(driver.get("42"))).toMatchObject({ code: "unavailable", retryable: true, ambiguous: false });
    expect(await failureOf(driver.destroy("42"))).toMatchObject({ code: "unavailable", ambiguous: true });
  });

  it.each([301, 302, 303, 307, 308])(
    "a redirect (%i) is not followed: it would carry the token away",
    async (status) => {
      const { driver, sent } = openCanned(() =>
        Response.json({}, { status, headers: { Location: "https://thief.test/" } }),
      );
      expect(await failureOf(driver.get("42"))).toMatchObject({ code: "unexpected", status });
      expect(await failureOf(driver.destroy("42"))).toMatchObject({ code: "unexpected", status });
      expect(sent.map(({ url, init }) => [url.host, init.redirect])).toEqual([
        ["hetzner.test", "manual"],
        ["hetzner.test", "manual"],
      ]);
    },
  );
});

describe("an answer", () => {
  it("about another machine than was asked for is not believed", async () => {
    expect((await failureOf(openWith({ id: 43 }).get("42"))).code).toBe("unexpected");
  });

  it.each([
    ["200 with an action", () => Response.json({ action: { id: 1, status: "running" } })],
    ["204", () => new Response(null, { status: 204 })],
    ["200 with nothing", () => new Response("")],
    ["200 with something that is no JSON", () => new Response("deleted")],
  ])("S48, S156: a DELETE that says %s has been accepted", async (_, answer) => {
    await expect(openCanned(answer).driver.destroy("42")).resolves.toBeUndefined();
  });

  it.each(["", "<html>", '{"server":', "null", "[]", "{}", '{"server":{}}', '{"server":{"id":"42"}}'])(
    "S156: a GET that says %j cannot be read, which is an error that changed nothing",
    async (body) => {
      const { driver } = openCanned(() => new Response(body));
      expect(await failureOf(driver.get("42"))).toMatchObject({ code: "unexpected", ambiguous: false, status: 200 });
    },
  );

  it("S157: an id that a number cannot hold exactly is refused, not rounded", async () => {
    const { driver } = openCanned(
      () => new Response('{"server":{"id":9007199254740993,"name":"a","status":"running"}}'),
    );
    expect((await failureOf(driver.get("42"))).code).toBe("unexpected");
    expect((await openWith({ id: Number.MAX_SAFE_INTEGER }).get("9007199254740991")).providerId).toBe(
      "9007199254740991",
    );
  });
});
