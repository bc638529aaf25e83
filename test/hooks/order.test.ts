import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { HookEntry } from "../../src/hooks/hook.ts";
import { HOUR, MINUTE, minutes, NOW, refusing, SECOND, servers, type Answer } from "../mayfly.ts";
import { labels, listed, names } from "./deliveries.ts";
import { CONFIGURATION, fromGithub, fromStandard, openHooks, OWNER, pullRequest } from "./senders.ts";

const DAY = 24 * HOUR;
const didIn = ({ body }: Answer) => z.object({ did: z.array(z.looseObject({ do: z.string() })) }).parse(body).did;
const MACHINE: unknown = expect.stringMatching(/^mch_/);
const live = async (): Promise<number> =>
  (await env.DB.prepare("SELECT uid FROM machines WHERE phase IN ('requested', 'active', 'destroying')").all()).results
    .length;

describe("facts count by when they were so, whatever order they come in", () => {
  it("a create that is older than the end of its machine, or as old, does nothing; a newer one makes it again", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW - 50 * SECOND));
    expect(names(mayfly)).toEqual(["pr-7"]);
    const closed = await fromGithub(mayfly, pullRequest("closed", NOW - 40 * SECOND));
    expect(didIn(closed)).toMatchObject([{ rule: 1, do: "destroy", name: "pr-7", machine: MACHINE }]);
    expect(names(mayfly)).toEqual([]);
    for (const at of [NOW - 50 * SECOND, NOW - 40 * SECOND]) {
      const late = await fromGithub(mayfly, pullRequest("synchronize", at));
      expect(late).toMatchObject({ status: 202, body: { did: [] } });
    }
    await minutes(mayfly, 2);
    expect(names(mayfly)).toEqual([]);
    await fromGithub(mayfly, pullRequest("reopened", NOW - 30 * SECOND));
    expect(names(mayfly)).toEqual(["pr-7"]);
  });

  it("an end is remembered though there was nothing to end, and for two days", async () => {
    const mayfly = openHooks();
    const at = NOW - SECOND;
    expect(didIn(await fromGithub(mayfly, pullRequest("closed", at)))).toMatchObject([{ machine: null }]);
    mayfly.advance(23 * HOUR);
    await fromGithub(mayfly, pullRequest("opened", at));
    expect(await listed(mayfly, "?state=ignored")).toMatchObject([{ do: "create", reason: "outranked" }]);
    mayfly.advance(26 * HOUR);
    await fromGithub(mayfly, pullRequest("opened", at));
    expect(names(mayfly)).toEqual([]);
  });

  it("an end that is older than the last create ends nothing, late or sent again; one as old, or newer, does", async () => {
    const mayfly = openHooks();
    const opened = NOW - 50 * SECOND;
    await fromGithub(mayfly, pullRequest("opened", opened));
    const reopened = NOW - 30 * SECOND;
    await fromGithub(mayfly, pullRequest("reopened", reopened));
    const late = await fromGithub(mayfly, pullRequest("closed", NOW - 40 * SECOND));
    expect(late).toMatchObject({ status: 202, body: { did: [] } });
    await minutes(mayfly, 2);
    expect(names(mayfly)).toEqual(["pr-7"]);
    expect(await listed(mayfly, "?state=ignored")).toMatchObject([
      { do: "destroy", reason: "outranked", machine: null },
    ]);
    mayfly.advance(5 * HOUR);
    expect(didIn(await fromGithub(mayfly, pullRequest("closed", NOW - 40 * SECOND)))).toEqual([]);
    expect(names(mayfly)).toEqual(["pr-7"]);
    expect(didIn(await fromGithub(mayfly, pullRequest("closed", reopened)))).toMatchObject([{ do: "destroy" }]);
    expect(names(mayfly)).toEqual([]);
  });

  it("nor does it where an older create comes between them: the newest counts, not the last", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW - 50 * SECOND));
    await fromGithub(mayfly, pullRequest("reopened", NOW - 30 * SECOND));
    await fromGithub(mayfly, pullRequest("synchronize", NOW - 45 * SECOND));
    expect(didIn(await fromGithub(mayfly, pullRequest("closed", NOW - 40 * SECOND)))).toEqual([]);
    await minutes(mayfly, 2);
    expect(names(mayfly)).toEqual(["pr-7"]);
    expect(didIn(await fromGithub(mayfly, pullRequest("closed", NOW - 20 * SECOND)))).toMatchObject([
      { do: "destroy" },
    ]);
    expect(names(mayfly)).toEqual([]);
  });

  it("an end that is older than a create which still waits leaves the machine to that", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW - 50 * SECOND));
    const real = mayfly.bindings.DB;
    mayfly.configure({ DB: refusing(real, /FROM machines WHERE owner = \?1 AND name/) });
    await fromGithub(mayfly, pullRequest("reopened", NOW - 30 * SECOND));
    mayfly.configure({ DB: real });
    await fromGithub(mayfly, pullRequest("closed", NOW - 40 * SECOND));
    expect(names(mayfly)).toEqual(["pr-7"]);
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual(["pr-7"]);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
  });

  it("a renewal, or a create that is too old, keeps no end from counting", async () => {
    const mayfly = openHooks();
    const at = (time: number) => new Date(time).toISOString();
    const send = (type: string, time: number) =>
      fromStandard(mayfly, { type: `machine.${type}`, timestamp: at(time), data: { name: "box" } });
    await mayfly.send("PUT", "/v1/machines/box?owner=hook.boxes", { server_type: "cx23", region: "fsn1" });
    await send("create", NOW - 2 * DAY);
    expect(didIn(await send("destroy", NOW - 3 * DAY))).toMatchObject([{ machine: MACHINE }]);
    await send("create", NOW - 50 * SECOND);
    await send("renew", NOW - 10 * SECOND);
    expect(didIn(await send("destroy", NOW - 20 * SECOND))).toMatchObject([{ machine: MACHINE }]);
    expect(names(mayfly)).toEqual([]);
  });

  it("what is ranked more than a day ago makes nothing: it may be a replay", async () => {
    const mayfly = openHooks();
    expect(didIn(await fromGithub(mayfly, pullRequest("opened", NOW - DAY - SECOND)))).toEqual([]);
    expect(await listed(mayfly)).toMatchObject([{ state: "ignored", reason: "too_old" }]);
    await fromGithub(mayfly, pullRequest("opened", NOW - DAY + MINUTE));
    expect(names(mayfly)).toEqual(["pr-7"]);
  });

  it("the same fact under several ids is one machine, whose lease begins anew", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW));
    const before = labels(mayfly)[0]?.["mayfly-expires"];
    mayfly.advance(HOUR);
    const again = await fromGithub(mayfly, pullRequest("opened", NOW));
    expect(didIn(again)).toMatchObject([{ do: "create", machine: MACHINE }]);
    expect(servers(mayfly)).toHaveLength(1);
    expect(Number(labels(mayfly)[0]?.["mayfly-expires"]) - Number(before)).toBe(3600);
  });

  it("pull requests of one number in two repositories never meet", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW - 9 * SECOND));
    await fromGithub(mayfly, pullRequest("opened", NOW - 8 * SECOND, { repository: 186853002 }));
    await fromGithub(mayfly, pullRequest("closed", NOW, { repository: 186853002 }));
    expect(labels(mayfly).map((one) => one["mayfly-owner"])).toEqual([OWNER]);
  });

  it("a create that is reopened while its machine is still being destroyed waits until that is gone", async () => {
    const mayfly = openHooks();
    await fromGithub(mayfly, pullRequest("opened", NOW - 30 * SECOND));
    await env.DB.prepare(
      "UPDATE machines SET phase = 'destroying', expires_at = ?1, destroy_requested_at = ?1, next_try_at = ?2",
    )
      .bind(NOW, NOW + 3 * MINUTE)
      .run();
    expect(didIn(await fromGithub(mayfly, pullRequest("reopened", NOW)))).toMatchObject([{ machine: null }]);
    expect(await listed(mayfly, "?state=pending")).toMatchObject([{ do: "create", reason: "releasing" }]);
    await minutes(mayfly, 6);
    expect(await live()).toBe(1);
    expect(names(mayfly)).toEqual(["pr-7"]);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
  });

  it("an end that comes while its create waits ends that too", async () => {
    const mayfly = openHooks({ MAX_MACHINES: "1" }, { ...CONFIGURATION, policies: [{ name: "preview" }] });
    await fromGithub(mayfly, pullRequest("opened", NOW - 30 * SECOND, { number: 1 }));
    await fromGithub(mayfly, pullRequest("opened", NOW - 20 * SECOND, { number: 2 }));
    expect(await listed(mayfly, "?state=pending")).toMatchObject([{ name: "pr-2", reason: "limit_count" }]);
    await fromGithub(mayfly, pullRequest("closed", NOW - 10 * SECOND, { number: 2 }));
    await fromGithub(mayfly, pullRequest("closed", NOW, { number: 1 }));
    await minutes(mayfly, 5);
    expect(names(mayfly)).toEqual([]);
    expect(await listed(mayfly, "?state=ignored")).toMatchObject([{ name: "pr-2", reason: "outranked" }]);
  });

  it("an end that comes between a create's look and its row makes that come to nothing", async () => {
    const mayfly = openHooks();
    const state = { isClosed: false };
    // Asked after the looks, right before the row is written.
    const limit = async () => {
      if (!state.isClosed) {
        state.isClosed = true;
        await fromGithub(mayfly, pullRequest("closed", NOW));
      }
      return { success: true };
    };
    mayfly.configure({ ACCOUNT_BRAKE: { limit } });
    await fromGithub(mayfly, pullRequest("opened", NOW - 30 * SECOND));
    expect(state.isClosed).toBe(true);
    expect([names(mayfly), await live()]).toEqual([[], 0]);
    await minutes(mayfly, 3);
    expect([names(mayfly), await live()]).toEqual([[], 0]);
    expect(await listed(mayfly, "?state=ignored")).toMatchObject([{ do: "create", reason: "outranked" }]);
  });

  it("an end that comes while its create is being made at the provider ends that machine", async () => {
    const mayfly = openHooks();
    let closing: Promise<unknown> | null = null;
    const real = mayfly.simulator.fetch.bind(mayfly.simulator);
    Object.assign(mayfly.simulator, {
      fetch: async (request: Request) => {
        const answer = await real(request);
        if (request.method === "POST" && closing === null) {
          closing = fromGithub(mayfly, pullRequest("closed", NOW));
          await closing;
        }
        return answer;
      },
    });
    await fromGithub(mayfly, pullRequest("opened", NOW - 30 * SECOND));
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual([]);
    expect(await live()).toBe(0);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
  });
});

describe("a rank", () => {
  const withRules = (rules: HookEntry["rules"]) =>
    openHooks({}, { ...CONFIGURATION, hooks: { preview: { ...CONFIGURATION.hooks.preview, rules } } });

  it("is where the rule says; a payload that lacks it fits no rule", async () => {
    const mayfly = withRules([{ on: "push", do: "create", name: "b-{ref}", rank: "repository.pushed_at" }]);
    const push = (repository: object) => ({ ref: "refs/heads/main", repository: { id: 186853002, ...repository } });
    expect(didIn(await fromGithub(mayfly, push({}), { event: "push" }))).toEqual([]);
    await fromGithub(mayfly, push({ pushed_at: NOW / 1000 - 5 }), { event: "push" });
    expect(await listed(mayfly)).toMatchObject([{ ranked_at: new Date(NOW - 5000).toISOString(), state: "done" }]);
    expect(labels(mayfly)[0]?.["ref"]).toBe("main");
  });

  it("is the arrival where nothing says more", async () => {
    const mayfly = withRules([{ on: "push", do: "create", name: "main" }]);
    await fromGithub(mayfly, { repository: { id: 186853002 } }, { event: "push" });
    expect(await listed(mayfly)).toMatchObject([{ ranked_at: new Date(NOW).toISOString() }]);
  });

  it("that lies ahead is the arrival: it neither closes a name to what comes later, nor brings it back", async () => {
    const mayfly = openHooks();
    const later = new Date(NOW + 30 * 365 * DAY).toISOString();
    const send = (type: string) => fromStandard(mayfly, { type, timestamp: later, data: { name: "box" } });
    await send("machine.destroy");
    mayfly.advance(SECOND);
    expect(didIn(await send("machine.create"))).toHaveLength(1);
    expect(names(mayfly)).toEqual(["box"]);
    mayfly.advance(SECOND);
    await fromStandard(mayfly, { type: "machine.destroy", data: { name: "box" } });
    expect(names(mayfly)).toEqual([]);
  });

  it("of one event's end and create of the same machine the end wins", async () => {
    const mayfly = withRules([
      { on: "push", do: "create", name: "main" },
      { on: "push", do: "destroy", name: "main" },
    ]);
    const { did } = z
      .object({ did: z.array(z.unknown()) })
      .parse((await fromGithub(mayfly, { repository: { id: 186853002 } }, { event: "push" })).body);
    expect(did).toMatchObject([{ rule: 1, do: "destroy" }]);
    expect(names(mayfly)).toEqual([]);
  });
});

describe("Standard Webhooks say themselves what they want", () => {
  const box = (type: string, data: unknown, more: object = {}) => ({ type, data, ...more });

  it("create, renew and destroy", async () => {
    const mayfly = openHooks();
    await fromStandard(mayfly, box("machine.create", { name: "box", ttl: "10m", labels: { team: "a" } }));
    expect(labels(mayfly)[0]).toMatchObject({ team: "a", "mayfly-owner": "hook.boxes" });
    const end = Number(labels(mayfly)[0]?.["mayfly-expires"]);
    const renewed = await fromStandard(mayfly, box("machine.renew", { name: "box", ttl: "1h" }));
    expect(didIn(renewed)).toMatchObject([{ rule: null, do: "renew" }]);
    expect(Number(labels(mayfly)[0]?.["mayfly-expires"])).toBe(end + 50 * 60);
    await fromStandard(mayfly, box("machine.destroy", { name: "box" }));
    expect(names(mayfly)).toEqual([]);
    expect((await fromStandard(mayfly, box("machine.renew", { name: "box" }))).status).toBe(202);
    expect(await listed(mayfly)).toContainEqual(expect.objectContaining({ do: "renew", reason: "outranked" }));
  });

  it("other events bring about nothing", async () => {
    const mayfly = openHooks();
    expect(await fromStandard(mayfly, box("invoice.paid", { id: 1 }))).toMatchObject({
      status: 202,
      body: { did: [] },
    });
  });

  it.each<[string, unknown]>([
    ["data", undefined],
    ["data.name", { ttl: "1h" }],
    ["data.name", { name: "No Name" }],
    ["data.ttl", { name: "box", ttl: "1s" }],
    ["data.ttl", { name: "box", ttl: 5 }],
    ["data.labels", { name: "box", labels: [] }],
    ["data.labels.created", { name: "box", labels: { created: "1" } }],
    ["data.cloud_init", { name: "box", cloud_init: "x" }],
  ])("a mistake names the field: %s", async (field, data) => {
    const mayfly = openHooks();
    const answer = await fromStandard(mayfly, box("machine.create", data));
    expect(answer).toMatchObject({ status: 422, body: { code: "invalid_input", field } });
    expect(await listed(mayfly)).toEqual([]);
  });

  it("a renewal goes as far as it may, and no further", async () => {
    const mayfly = openHooks({ MAX_AGE: "2h" });
    await fromStandard(mayfly, box("machine.create", { name: "box", ttl: "1h" }));
    mayfly.advance(30 * MINUTE);
    await fromStandard(mayfly, box("machine.create", { name: "box", ttl: "2h" }));
    expect(Number(labels(mayfly)[0]?.["mayfly-expires"]) * 1000).toBe(NOW + 2 * HOUR);
    expect(await listed(mayfly, "?state=refused")).toEqual([]);
  });
});
