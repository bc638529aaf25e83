import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { openLooks } from "../../src/lifecycle/looks.ts";
import { behind } from "../behind.ts";
import { BODY, createMayfly, machineIn, MINUTE, minutes, SECOND, servers, type Mayfly } from "../mayfly.ts";

/** A machine that runs and was just seen to. */
async function withBox(settings: Record<string, string> = {}): Promise<Mayfly> {
  const mayfly = createMayfly(settings);
  await mayfly.send("PUT", "/v1/machines/box", BODY);
  mayfly.advance(5 * SECOND);
  expect(machineIn(await get(mayfly)).status).toBe("running");
  return mayfly;
}

const get = (mayfly: Mayfly, query = "") => mayfly.send("GET", `/v1/machines/box${query}`);
const CALLS: readonly (readonly [string, (mayfly: Mayfly) => ReturnType<Mayfly["send"]>])[] = [
  ["GET", (mayfly) => get(mayfly)],
  ["GET ?wait", (mayfly) => get(mayfly, "?wait=5")],
  ["a repeated PUT", (mayfly) => mayfly.send("PUT", "/v1/machines/box", BODY)],
  ["a renewal", (mayfly) => mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" })],
];

async function byHand(mayfly: Mayfly, method: string, more = "", body?: object): Promise<void> {
  for (const { id } of servers(mayfly)) await behind(mayfly, method, `/servers/${id}${more}`, body);
}

async function deleteByHand(mayfly: Mayfly): Promise<void> {
  await byHand(mayfly, "DELETE");
  expect(servers(mayfly)).toEqual([]);
}

const asked = (mayfly: Mayfly): number => mayfly.simulator.requests().length;
const rows = () => env.DB.prepare("SELECT * FROM machines").all();

describe("a machine that was deleted by hand", () => {
  it.each(CALLS)("%s tells that the provider does not show it", async (_what, call) => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    mayfly.advance(31 * SECOND);
    const answer = await call(mayfly);
    expect([answer.status, machineIn(answer)]).toMatchObject([200, { observed: "not_found", status: "running" }]);
    expect(machineIn(answer).next).toMatch(/DELETE/);
  });

  it("is told of so by every call within half a minute, for one look", async () => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    mayfly.advance(31 * SECOND);
    await get(mayfly);
    const before = asked(mayfly);
    mayfly.advance(30 * SECOND);
    expect(machineIn(await get(mayfly)).observed).toBe("not_found");
    expect(machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY)).observed).toBe("not_found");
    expect(asked(mayfly)).toBe(before);
    mayfly.advance(SECOND);
    await get(mayfly);
    expect(asked(mayfly)).toBe(before + 1);
  });

  it("stays as it is for what one look has shown, and is lost when sweeps have looked twice", async () => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    const before = await rows();
    for (let look = 0; look < 5; look++) {
      mayfly.advance(31 * SECOND);
      await get(mayfly);
    }
    expect((await rows()).results).toEqual(before.results);
    await minutes(mayfly, 35);
    expect(machineIn(await get(mayfly))).toMatchObject({ status: "destroyed", reason: "lost" });
    expect(machineIn(await get(mayfly)).observed).toBeUndefined();
  });

  it("is ended at once by its owner's DELETE, and its name begins anew", async () => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    mayfly.advance(31 * SECOND);
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(200);
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(201);
  });

  it("while it is being created and no list shows it, is asked for by its id", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", BODY);
    await deleteByHand(mayfly);
    mayfly.advance(4 * SECOND);
    expect(machineIn(await get(mayfly))).toMatchObject({ status: "creating", observed: "not_found" });
  });

  it("while it is being created and lists alone do not show it, is seen by its id", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", hide_from_list_seconds: 600 });
    await mayfly.send("PUT", "/v1/machines/box", BODY);
    mayfly.advance(4 * SECOND);
    expect(machineIn(await get(mayfly)).status).toBe("running");
  });
});

describe("a look at one machine", () => {
  it("is made after half a minute, and writes nothing where nothing has changed; the answer tells when it was", async () => {
    const mayfly = await withBox();
    const before = await rows();
    const calls = asked(mayfly);
    mayfly.advance(30 * SECOND);
    await get(mayfly);
    expect(asked(mayfly)).toBe(calls);
    mayfly.advance(SECOND);
    expect(machineIn(await get(mayfly)).observed_at).toBe(new Date(mayfly.now()).toISOString());
    expect(asked(mayfly)).toBe(calls + 1);
    expect((await rows()).results).toEqual(before.results);
  });

  it("writes down what has changed", async () => {
    const mayfly = await withBox();
    mayfly.advance(20 * MINUTE);
    await byHand(mayfly, "POST", "/actions/poweroff");
    mayfly.advance(31 * SECOND);
    expect(machineIn(await get(mayfly)).status).toBe("stopped");
    expect((await rows()).results).toMatchObject([{ status: "stopped", observed_at: mayfly.now() }]);
  });

  it("that shows another machine at the id tells that, and changes nothing", async () => {
    const mayfly = await withBox();
    const labels = { ...servers(mayfly)[0]?.labels, "mayfly-uid": "00000000-0000-4000-8000-00000000dead" };
    await byHand(mayfly, "PUT", "", { labels });
    mayfly.advance(31 * SECOND);
    const before = await rows();
    expect(machineIn(await get(mayfly)).observed).toBe("identity_mismatch");
    expect((await rows()).results).toEqual(before.results);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("that the provider does not answer leaves it as it was last seen, and is not made again for half a minute", async () => {
    const mayfly = await withBox();
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", times: 9, status: 500, code: "server_error" });
    mayfly.advance(31 * SECOND);
    const calls = asked(mayfly);
    for (let again = 0; again < 3; again++) expect((await get(mayfly)).status).toBe(200);
    expect(machineIn(await get(mayfly)).observed).toBeUndefined();
    expect(asked(mayfly)).toBe(calls + 1);
  });

  it("under another token tells nothing of what is not there, which may be in another project", async () => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    mayfly.configure({ HCLOUD_TOKEN: "a-token-of-another-project" });
    mayfly.advance(31 * SECOND);
    const calls = asked(mayfly);
    expect(machineIn(await get(mayfly)).observed).toBeUndefined();
    expect(asked(mayfly)).toBe(calls + 1);
  });

  it("that failed keeps what the look before it has told", async () => {
    const mayfly = await withBox();
    await deleteByHand(mayfly);
    mayfly.advance(31 * SECOND);
    await get(mayfly);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", times: 9, status: 500, code: "server_error" });
    mayfly.advance(31 * SECOND);
    expect(machineIn(await get(mayfly)).observed).toBe("not_found");
  });

  it("is not made while the provider's rate limit leaves only the reserve", async () => {
    const mayfly = await withBox();
    const headers = { "RateLimit-Limit": "3600", "RateLimit-Remaining": "300" };
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", status: 500, code: "server_error", headers });
    mayfly.advance(31 * SECOND);
    await get(mayfly);
    mayfly.advance(31 * SECOND);
    const calls = asked(mayfly);
    expect((await get(mayfly)).status).toBe(200);
    expect(asked(mayfly)).toBe(calls);
    mayfly.advance(31 * SECOND);
    await get(mayfly);
    expect(asked(mayfly)).toBe(calls + 1);
  });

  it("is forgotten for what a sweep has seen since", async () => {
    const mayfly = await withBox();
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", times: 1, status: 404, code: "not_found" });
    mayfly.advance(31 * SECOND);
    expect(machineIn(await get(mayfly)).observed).toBe("not_found");
    await env.DB.prepare("UPDATE machines SET observed_at = ?")
      .bind(mayfly.now() + 1)
      .run();
    mayfly.advance(MINUTE / 4);
    expect(machineIn(await get(mayfly)).observed).toBeUndefined();
  });
});

it("an isolate remembers the last looks at 2,000 machines, and forgets the oldest for another", () => {
  const looks = openLooks();
  const look = { askedAt: 1, told: null };
  for (let index = 0; index < 2000; index++) looks.note(`uid-${index}`, look);
  looks.note("uid-0", look);
  looks.note("one more", look);
  expect([looks.last("uid-0"), looks.last("uid-1"), looks.last("one more")]).toEqual([look, null, look]);
});
