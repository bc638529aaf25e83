import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Configuration } from "../../src/deployment.ts";
import { between, watchFlight } from "../behind.ts";
import { brakeOn } from "../brakes.ts";
import { HOUR, LOCAL, MINUTE, minutes, NOW, refusing, SECOND, servers, type Mayfly } from "../mayfly.ts";
import { answerOf, labels, listed, names } from "./deliveries.ts";
import { CONFIGURATION, fromGithub, fromStandard, githubHeaders, openHooks, OWNER, pullRequest } from "./senders.ts";

const DAY = 24 * HOUR;
const open = (policy: object, settings: Record<string, string> = {}): Mayfly =>
  openHooks(settings, { ...CONFIGURATION, policies: [{ name: "preview", ...policy }] });
const create = (mayfly: Mayfly, number: number) =>
  fromGithub(mayfly, pullRequest("opened", mayfly.now() - SECOND, { number }));

describe("the rules of a hook", () => {
  const [CREATE] = CONFIGURATION.hooks.preview.rules;

  it("go by the kind of event that each names: the same payload of another kind asks for nothing", async () => {
    const mayfly = openHooks();
    const opened = pullRequest("opened", NOW - SECOND);
    expect(await fromGithub(mayfly, opened, { event: "pull_request_review" })).toMatchObject({ body: { did: [] } });
    expect(names(mayfly)).toEqual([]);
    await fromGithub(mayfly, opened);
    expect(names(mayfly)).toEqual(["pr-7"]);
  });

  it("are carried out one after the other, in their order", async () => {
    const rules = ["web", "db", "cache"].map((name) =>
      Object.assign({}, CREATE, { name: `${name}-{pull_request.number}` }),
    );
    const hooks = { preview: { ...CONFIGURATION.hooks.preview, rules } };
    const mayfly = openHooks({}, { ...CONFIGURATION, hooks });
    const flight = watchFlight(mayfly);
    await fromGithub(mayfly, pullRequest("opened", NOW - SECOND));
    expect(names(mayfly)).toEqual(["web-7", "db-7", "cache-7"]);
    expect(flight.most).toBe(1);
  });
});

it("an event moves a machine's end as far as its policy lets it live by now, counted from when it was asked for", async () => {
  const under = (longest: string) => JSON.stringify([{ name: "preview", longest }]);
  const mayfly = openHooks({ ...LOCAL, POLICIES: under("8h") });
  const send = (act: string) => fromStandard(mayfly, { type: `machine.${act}`, data: { name: "box", ttl: "2h" } });
  await send("create");
  mayfly.configure({ POLICIES: under("3h") });
  mayfly.advance(90 * MINUTE);
  await send("renew");
  expect(Number(labels(mayfly)[0]?.["mayfly-expires"]) * SECOND).toBe(NOW + 3 * HOUR);
  // Whatever lives to its limit is no reason to refuse.
  mayfly.advance(MINUTE);
  await send("renew");
  expect(Number(labels(mayfly)[0]?.["mayfly-expires"]) * SECOND).toBe(NOW + 3 * HOUR);
  expect(await listed(mayfly, "?state=refused")).toEqual([]);
});

describe("what has to wait is tried again", () => {
  it("for a limit, until there is room", async () => {
    const mayfly = open({ machines: 1 });
    await create(mayfly, 1);
    await create(mayfly, 2);
    expect(names(mayfly)).toEqual(["pr-1"]);
    expect(await listed(mayfly, "?state=pending")).toMatchObject([
      { name: "pr-2", reason: "limit_count", attempts: 1 },
    ]);
    await minutes(mayfly, 3);
    await fromGithub(mayfly, pullRequest("closed", mayfly.now(), { number: 1 }));
    await minutes(mayfly, 9);
    expect(names(mayfly)).toEqual(["pr-2"]);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
  });

  it("for a limit, an hour at most, and then says why it was refused", async () => {
    const mayfly = open({ machines: 0 });
    await create(mayfly, 1);
    await minutes(mayfly, 59);
    expect(await listed(mayfly)).toMatchObject([{ state: "pending", reason: "limit_count" }]);
    await minutes(mayfly, 10);
    expect(await listed(mayfly)).toMatchObject([
      {
        state: "refused",
        reason: "limit_count",
        detail: expect.stringContaining("machines of the account") as unknown,
      },
    ]);
  });

  it("for as long as its lease would be, where that is less than an hour", async () => {
    const mayfly = open({ machines: 0 });
    await fromStandard(mayfly, { type: "machine.create", data: { name: "box", ttl: "5m" } });
    await minutes(mayfly, 12);
    expect(await listed(mayfly)).toMatchObject([{ state: "refused", reason: "limit_count" }]);
  });

  it("for the rate of its account", async () => {
    const mayfly = open({});
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 1) });
    await create(mayfly, 1);
    await create(mayfly, 2);
    expect(await listed(mayfly, "?state=pending")).toMatchObject([{ name: "pr-2", reason: "limit_rate" }]);
    await minutes(mayfly, 2);
    expect(names(mayfly)).toEqual(["pr-1", "pr-2"]);
  });

  it("in turn: many of one repository that wait for room keep nobody else's waiting", async () => {
    const policies = [{ name: "preview", machines: 0 }, { name: "boxes" }];
    const hooks = { ...CONFIGURATION.hooks, boxes: { ...CONFIGURATION.hooks.boxes, policy: "boxes" } };
    const mayfly = openHooks({ PLAN: "free" }, { ...CONFIGURATION, policies, hooks });
    for (let number = 1; number <= 60; number++) await create(mayfly, number);
    const real = mayfly.bindings.DB;
    // Cut off behind its answer.
    mayfly.configure({ DB: refusing(real, /FROM machines WHERE owner = \? AND name/) });
    await fromStandard(mayfly, { type: "machine.create", data: { name: "box" } });
    mayfly.configure({ DB: real });
    await minutes(mayfly, 3);
    expect(names(mayfly)).toEqual(["box"]);
  });

  it("for room at the provider, and while that does not answer", async () => {
    const mayfly = openHooks();
    let isSick = true;
    between(mayfly, async (request, real) => {
      if (isSick && request.method === "POST") throw new TypeError("the connection was lost");
      return real(request);
    });
    await create(mayfly, 1);
    await minutes(mayfly, 2 * 60);
    expect(await listed(mayfly)).toMatchObject([{ state: "pending" }]);
    isSick = false;
    await minutes(mayfly, 20);
    expect(names(mayfly)).toEqual(["pr-1"]);
    expect(await listed(mayfly)).toMatchObject([{ state: "done" }]);
  });
});

describe("what will never be done ends, and says why", () => {
  it.each<[string, object, string]>([
    ["the policy forbids it", { may: ["networks"] }, "forbidden"],
    ["the lease is too long", { longest: "1h" }, "limit_lease"],
    ["the policy needs a firewall", { needs_firewall: true }, "forbidden"],
  ])("%s", async (_what, policy, reason) => {
    const mayfly = open(policy);
    await create(mayfly, 1);
    expect(await listed(mayfly)).toMatchObject([{ state: "refused", reason, attempts: 1 }]);
    expect(servers(mayfly)).toEqual([]);
  });

  it("a policy of profiles alone leaves a rule's labels out, and refuses those that a sender says", async () => {
    const mayfly = open({ only_profiles: true });
    await create(mayfly, 1);
    expect(labels(mayfly)).toMatchObject([{ "mayfly-name": "pr-1" }]);
    expect(labels(mayfly)[0]).not.toHaveProperty("source");
    await fromStandard(mayfly, { type: "machine.create", data: { name: "box", labels: { a: "b" } } });
    expect(await listed(mayfly, "?hook=boxes")).toMatchObject([{ state: "refused", reason: "forbidden" }]);
  });

  it.each<[string, Configuration, string]>([
    ["the hook", {}, "hook_gone"],
    [
      "the repository",
      { ...CONFIGURATION, hooks: { preview: { ...CONFIGURATION.hooks.preview, repositories: [1] } } },
      "source_gone",
    ],
  ])("%s was taken out of the configuration meanwhile", async (_what, configuration, reason) => {
    await create(open({ machines: 0 }), 1);
    const changed = openHooks({}, configuration);
    changed.advance(10 * MINUTE);
    await changed.tick();
    expect(await listed(changed)).toMatchObject([{ state: "refused", reason }]);
  });
});

describe("nothing is lost, and nothing doubled", () => {
  it("what a call took on and was cut off from, a sweep carries out, a minute later", async () => {
    const mayfly = openHooks();
    const body = JSON.stringify(pullRequest("opened", NOW));
    const headers = await githubHeaders(body);
    const real = mayfly.bindings.DB;
    // Cut off behind its answer: nothing of it comes to the database any more.
    mayfly.configure({ DB: refusing(real, /FROM machines WHERE owner = \? AND name/) });
    const { status, rest } = await answerOf(mayfly, "/v1/hooks/preview", body, headers);
    await rest();
    mayfly.configure({ DB: real });
    expect([status, names(mayfly)]).toEqual([202, []]);
    await mayfly.tick();
    expect(names(mayfly)).toEqual([]);
    mayfly.advance(61 * SECOND);
    expect(await mayfly.tick()).toMatchObject({
      phases: expect.arrayContaining([
        expect.objectContaining({ phase: "hooks", items: [expect.objectContaining({ reason: "carried_out" })] }),
      ]) as unknown,
    });
    expect(names(mayfly)).toEqual(["pr-7"]);
  });

  it("an event that the database does not take is refused, so that its sender repeats it", async () => {
    const mayfly = openHooks();
    const real = mayfly.bindings.DB;
    mayfly.configure({ DB: refusing(real, /INTO deliveries/) });
    expect((await create(mayfly, 1)).status).toBe(503);
    mayfly.configure({ DB: real });
    expect(await listed(mayfly)).toEqual([]);
    expect(servers(mayfly)).toEqual([]);
  });

  it("an end counts from when it was taken on, though nothing goes on behind the answer", async () => {
    const mayfly = openHooks();
    await create(mayfly, 7);
    const real = mayfly.bindings.DB;
    mayfly.configure({ DB: refusing(real, /FROM machines WHERE uid = /) });
    expect((await fromGithub(mayfly, pullRequest("closed", NOW))).status).toBe(202);
    mayfly.configure({ DB: real });
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    const { results } = await env.DB.prepare("SELECT event, evidence FROM events WHERE event = 'destroyed'").all();
    expect(results).toMatchObject([{ evidence: expect.stringContaining('"by":"hook","hook":"preview"') as unknown }]);
  });

  it("a hook's phase that cannot read its configuration keeps no sweep from destroying", async () => {
    const mayfly = open({ machines: 1 });
    await create(mayfly, 1);
    await create(mayfly, 2);
    mayfly.advance(9 * HOUR);
    mayfly.configure({ DEFAULT_TTL: "no length" });
    const report = await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    expect(report?.phases.map(({ phase, failure }) => [phase, failure === null])).toContainEqual(["hooks", true]);
    expect(report?.phases.find(({ phase }) => phase === "hooks")?.items).toMatchObject([
      { outcome: "error", reason: "internal" },
    ]);
  });

  it("events say on whose word: the hook and the delivery", async () => {
    const mayfly = openHooks();
    const { body } = await create(mayfly, 1);
    expect(body).toMatchObject({ delivery: expect.stringMatching(/^delivery-/) as unknown });
    const events = await mayfly.send("GET", `/v1/events?owner=${OWNER}`);
    const evidence = { by: "hook", hook: "preview", delivery: expect.stringMatching(/^delivery-/) as unknown };
    expect(events.body).toMatchObject({
      events: [
        { kind: "created", evidence },
        { kind: "requested", evidence, account: "pol.preview" },
      ],
    });
  });
});

describe("GET /v1/hooks", () => {
  it("is the admin's, by pages, by hook and by state", async () => {
    const mayfly = openHooks();
    for (const number of [1, 2, 3]) {
      mayfly.advance(SECOND);
      await create(mayfly, number);
    }
    await fromStandard(mayfly, { type: "machine.destroy", data: { name: "box" } });
    expect((await listed(mayfly)).map(({ name }) => name)).toEqual(["box", "pr-3", "pr-2", "pr-1"]);
    expect((await listed(mayfly, "?hook=preview&per_page=2&page=2")).map(({ name }) => name)).toEqual(["pr-1"]);
    expect(await listed(mayfly, "?state=pending")).toEqual([]);
    expect((await listed(mayfly, "?state=done&hook=boxes")).map(({ do: act }) => act)).toEqual(["destroy"]);
    expect((await mayfly.send("GET", "/v1/hooks?state=lost")).status).toBe(422);
    const token = await mayfly.tokenOf("alice");
    expect((await mayfly.send("GET", "/v1/hooks", undefined, token)).status).toBe(403);
  });

  it("are forgotten with all that is over, after KEEP_HISTORY, and never what is still to be done", async () => {
    const mayfly = openHooks();
    await create(mayfly, 1);
    await fromGithub(mayfly, pullRequest("closed", NOW));
    await env.DB.exec("UPDATE deliveries SET state = 'pending'");
    const old = { before: NOW + DAY, now: NOW + DAY, limit: 9 };
    expect(await mayfly.store.history.deliveries(old)).toBe(0);
    await env.DB.exec("UPDATE deliveries SET state = 'done'");
    await mayfly.tick(NOW + 29 * DAY);
    expect(await listed(mayfly)).toHaveLength(2);
    mayfly.advance(30 * DAY + HOUR);
    await minutes(mayfly, 2);
    expect(await listed(mayfly)).toEqual([]);
    expect((await env.DB.prepare("SELECT * FROM hook_ranks").all()).results).toEqual([]);
  });
});
