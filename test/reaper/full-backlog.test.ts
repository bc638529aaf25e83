import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { held } from "../behind.ts";
import { answerOf, listed, names } from "../hooks/deliveries.ts";
import { CONFIGURATION, githubHeaders, openHooks, pullRequest } from "../hooks/senders.ts";
import { BODY, HOUR, MINUTE, NOW, OURS, SECOND, type Mayfly } from "../mayfly.ts";
import { ALLOWED, takeMiscounts } from "../outside.ts";
import { UID } from "./lost-rows.ts";

const MANY = 24;
const EVENTS = 6;
const THERE_IS_NONE = { status: 503, code: "unavailable", message: "no", times: 999 };

/** More of everything that a sweep does than the free plan has room for in one. */
async function pileUp(mayfly: Mayfly): Promise<void> {
  const old = new Date(NOW - 30 * HOUR).toISOString();
  for (let number = 0; number < MANY; number++) {
    await mayfly.send("PUT", `/v1/machines/due${number}`, { ...BODY, ttl: "60s", firewalls: [{ deny_all: true }] });
    await mayfly.send("POST", "/v1/firewalls", { name: `idle${number}`, deny_all: true, ttl: "60s" });
    mayfly.simulator.addServer({ name: `old${number}`, labels: OURS, created: old });
    const labels = { ...OURS, "mayfly-uid": UID.replace(/..$/, String(10 + number)) };
    mayfly.simulator.addServer({ name: `unknown${number}`, labels, created: new Date(NOW).toISOString() });
  }
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", ...THERE_IS_NONE });
  for (let number = 0; number < EVENTS; number++) {
    const body = JSON.stringify(pullRequest("opened", NOW - SECOND, { number: number + 1 }));
    const { rest } = await answerOf(mayfly, "/v1/hooks/preview", body, await githubHeaders(body));
    await rest();
  }
  mayfly.simulator.clearFaults();
  await env.DB.prepare("UPDATE locks SET reconcile = '{}', resources_listed_at = 0, catalogue_asked_at = 0").run();
}

/** Whatever of it a request may have to do as well. */
const REQUESTS = [
  ["a create that pays with a sweep, because cron is dead", "PUT", "/v1/machines/more", { ...BODY, ttl: "1h" }],
  ["a sweep that an admin starts", "POST", "/v1/sweeps", {}],
  ["a destroy of many", "DELETE", "/v1/machines?label_selector=of=many", undefined],
  ["a teardown", "POST", "/v1/teardown", {}],
] as const;

it("on the free plan nothing passes what Cloudflare allows one invocation, by a count from outside, however much there is to do", async () => {
  const mayfly = openHooks({}, { ...CONFIGURATION, policies: [{ name: "preview", machines: 2 * EVENTS }] });
  await pileUp(mayfly);
  for (let number = 0; number < 10; number++)
    await mayfly.send("PUT", `/v1/machines/many${number}`, { ...BODY, labels: { of: "many" } });
  await env.DB.prepare("UPDATE locks SET last_good_cron_at = 1").run();
  mayfly.advance(HOUR / 2);
  for (const [what, method, path, body] of REQUESTS) {
    const { status, text } = await mayfly.send(method, path, body);
    expect(status, `${what}: ${text}`).toBeLessThan(300);
    expect(takeMiscounts(), what).toEqual([]);
  }
  const spent: { fetches: number; statements: number }[] = [];
  for (let ticks = 0; ticks < 60; ticks++) {
    mayfly.advance(MINUTE);
    const { fetches = 0, statements = 0 } = (await mayfly.tick()) ?? {};
    spent.push({ fetches, statements });
    expect(takeMiscounts()).toEqual([]);
  }
  // Else there was no backlog, and this shows nothing.
  expect(Math.max(...spent.map(({ fetches }) => fetches))).toBeGreaterThan(ALLOWED.free.fetches / 2);
  expect(Math.max(...spent.map(({ statements }) => statements))).toBeGreaterThan(ALLOWED.free.statements / 2);
  expect(await listed(mayfly, "?state=pending")).toEqual([]);
  expect(names(mayfly).filter((name) => name?.startsWith("due"))).toEqual([]);
  expect(held(mayfly)[1]).toBe(0);
});
