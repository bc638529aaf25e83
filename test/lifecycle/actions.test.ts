import { describe, expect, it } from "vitest";
import * as z from "zod";
import { between } from "../behind.ts";
import { BODY, createMayfly, minutes, SECOND, servers, type Answer, type Mayfly } from "../mayfly.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const LAB = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1", ttl: "5h" };
const ROUTE = { destination: "0.0.0.0/0", gateway: "10.0.0.2" };
const LOOK = /\/v1\/actions\/\d+$/;

/** A firewall, a network and two machines that run, one of which is behind the firewall and in no network. */
async function open(): Promise<Mayfly> {
  const mayfly = createMayfly();
  for (const name of ["web", "used"]) await mayfly.send("POST", "/v1/firewalls", { ...RULES, name, ttl: "5h" });
  await mayfly.send("POST", "/v1/networks", LAB);
  for (const name of ["a", "b"]) await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, firewalls: ["used"] });
  await minutes(mayfly, 1);
  return mayfly;
}

const apply = (mayfly: Mayfly, machines = ["a"]) =>
  mayfly.send("POST", "/v1/firewalls/web/apply_to_resources", { machines });
const remove = (mayfly: Mayfly) => mayfly.send("POST", "/v1/firewalls/used/remove_from_resources", { machines: ["a"] });
const attach = (mayfly: Mayfly) => mayfly.send("POST", "/v1/machines/a/attach_to_network", { network: "lab" });
const route = (mayfly: Mayfly) => mayfly.send("POST", "/v1/networks/lab/add_route", ROUTE);
const ALL: [string, (mayfly: Mayfly) => Promise<Answer>][] = [
  ["apply_to_resources", apply],
  ["remove_from_resources", remove],
  ["attach_to_network", attach],
  ["add_route", route],
];
const fail = (mayfly: Mayfly, action: string) =>
  mayfly.simulator.fault({
    method: "POST",
    path: `/actions/${action}$`,
    action_error: { code: "firewall_error", message: "it broke" },
  });

/** Makes what is read of actions say that; `which` counts the looks from 0. */
const telling = (mayfly: Mayfly, status: string, which: (look: number) => boolean = () => true) => {
  let looks = 0;
  return between(mayfly, async (request, real) => {
    const answer = await real(request);
    if (!LOOK.test(new URL(request.url).pathname) || !which(looks++)) return answer;
    return new Response((await answer.text()).replace(/"status":"\w+"/, `"status":"${status}"`), answer);
  });
};

/** The ids of the machines that a row says are its users. */
async function users(mayfly: Mayfly, path: string): Promise<string[]> {
  const { body } = await mayfly.send("GET", path);
  const [one] = Object.values(z.record(z.string(), z.object({ machines: z.array(z.string()) })).parse(body));
  return one?.machines ?? [];
}
const looksAt = (mayfly: Mayfly) => mayfly.simulator.requests().filter(({ path }) => LOOK.test(path)).length;

describe.each(ALL)("%s", (action, act) => {
  it("is answered 200 when the provider has done it, and not when it has agreed to", async () => {
    const mayfly = await open();
    const before = mayfly.now();
    expect((await act(mayfly)).status).toBe(200);
    expect(looksAt(mayfly)).toBe(1);
    expect(mayfly.now() - before).toBe(SECOND);
  });

  it("that fails after the provider has agreed is told, in the provider's words", async () => {
    const mayfly = await open();
    fail(mayfly, action);
    const answer = await act(mayfly);
    expect(answer).toMatchObject({ status: 503, body: { code: "provider_unavailable" } });
    expect(answer.text).toContain("it broke");
    expect(answer.headers.has("Retry-After")).toBe(true);
    expect((await act(mayfly)).status).toBe(200);
  });

  it("that is still under way after a few looks is a 202 with the same body", async () => {
    const mayfly = await open();
    const real = telling(mayfly, "running");
    const answer = await act(mayfly);
    expect(answer.status).toBe(202);
    expect(looksAt(mayfly)).toBe(5);
    Object.assign(mayfly.simulator, { fetch: real });
    const again = await act(mayfly);
    expect(again.status).toBe(200);
    expect(Object.keys(z.looseObject({}).parse(again.body))).toEqual(Object.keys(z.looseObject({}).parse(answer.body)));
  });

  it("whose look fails is looked at again, and is not taken for failed", async () => {
    const mayfly = await open();
    mayfly.simulator.fault({ method: "GET", path: "^/v1/actions/", status: 503, times: 2 });
    expect((await act(mayfly)).status).toBe(200);
    expect(looksAt(mayfly)).toBe(3);
  });
});

describe("what nobody is seen to use", () => {
  it.each([
    ["a firewall", "/v1/firewalls/web", "apply_to_resources", apply],
    ["a network", "/v1/networks/lab", "attach_to_network", attach],
  ])("is not noted as used where putting it on failed: %s", async (_what, path, action, act) => {
    const mayfly = await open();
    fail(mayfly, action);
    expect((await act(mayfly)).status).toBe(503);
    expect(await users(mayfly, path)).toEqual([]);
    expect((await mayfly.send("DELETE", path)).status).toBe(200);
  });

  it("is noted of those machines alone on which it is, where some failed", async () => {
    const mayfly = await open();
    telling(mayfly, "error", (look) => look === 1);
    between(mayfly, async (request, real) => {
      const answer = await real(request);
      const isShown = request.method === "GET" && /\/firewalls\/\d+$/.test(request.url) && looksAt(mayfly) > 0;
      if (!isShown) return answer;
      const second = new RegExp(`,?\\{"type":"server","server":\\{"id":${servers(mayfly)[1]?.id}\\}\\}`);
      return new Response((await answer.text()).replace(second, ""), answer);
    });
    expect((await apply(mayfly, ["a", "b"])).status).toBe(503);
    expect(await users(mayfly, "/v1/firewalls/web")).toHaveLength(1);
  });

  it("is noted as used while nobody knows: a firewall that is still being put on stays", async () => {
    const mayfly = await open();
    telling(mayfly, "running");
    expect((await apply(mayfly)).status).toBe(202);
    expect(await users(mayfly, "/v1/firewalls/web")).toHaveLength(1);
    expect((await mayfly.send("DELETE", "/v1/firewalls/web")).status).toBe(202);
  });
});

describe("a machine from which a firewall is being taken", () => {
  it("is not destroyed for lacking it, though nobody knows yet that it is off", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { ...RULES, name: "used", ttl: "5h" });
    await mayfly.send("PUT", "/v1/machines/a", { ...BODY, firewalls: ["used"] });
    mayfly.advance(SECOND);
    telling(mayfly, "running");
    expect((await remove(mayfly)).status).toBe(202);
    await minutes(mayfly, 6);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

it("however many machines are meant, an invocation of a free plan can pay for the looks", async () => {
  const mayfly = createMayfly();
  await mayfly.send("POST", "/v1/firewalls", { ...RULES, name: "web", ttl: "5h" });
  const names = Array.from({ length: 10 }, (_, index) => `m-${index}`);
  for (const name of names) await mayfly.send("PUT", `/v1/machines/${name}`, BODY);
  await minutes(mayfly, 1);
  telling(mayfly, "running");
  expect((await apply(mayfly, names)).status).toBe(202);
  const { fetches, statements } = z
    .looseObject({ fetches: z.number(), statements: z.number() })
    .parse(mayfly.logs.findLast(({ event }) => event === "request"));
  expect([fetches, statements].every((count) => count <= 50)).toBe(true);
  expect(looksAt(mayfly)).toBeGreaterThanOrEqual(10);
});
