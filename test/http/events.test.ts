import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AUDIENCE, createIssuer, GITHUB, githubClaims } from "../auth/issuer.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  LOCAL,
  machineIn,
  machinesIn,
  MINUTE,
  minutes,
  NOW,
  OURS,
  SECOND,
  servers,
  type Answer,
  type Mayfly,
} from "../mayfly.ts";

const WITH_TTL = { ...BODY, ttl: "10m" };
const ADMIN = { by: "admin_token" };

const eventsIn = ({ body }: Answer) =>
  z.object({ events: z.array(z.record(z.string(), z.unknown())) }).parse(body).events;
const kindsIn = (answer: Answer): unknown[] => eventsIn(answer).map(({ kind }) => kind);
const asked = (mayfly: Mayfly, query = "", token?: string): Promise<Answer> =>
  mayfly.send("GET", `/v1/events${query}`, undefined, token);
const requestOf = ({ headers }: Answer): string | null => headers.get("X-Request-Id");

/** A machine of that name, made and running. */
const made = (mayfly: Mayfly, name: string, token: string, body: object = WITH_TTL): Promise<Answer> =>
  mayfly.send("PUT", `/v1/machines/${name}?wait=30`, body, token);

/** The id of the only token that was minted for an owner. */
async function tokenIdOf(mayfly: Mayfly, owner: string): Promise<unknown> {
  const [minted] = eventsIn(await asked(mayfly, `?owner=tok.${owner}&kind=token_minted`));
  return minted?.["token"];
}

describe("what happens to a machine", () => {
  it("is told newest first, with whose word it came on, by which request, how long it lived and what it cost", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice", { note: "build host 3" });
    const create = await made(mayfly, "box", alice);
    const { id } = machineIn(create);
    mayfly.advance(5 * MINUTE);
    const renewal = await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" }, alice);
    mayfly.advance(61 * MINUTE);
    const destroy = await mayfly.send("DELETE", "/v1/machines/box", undefined, alice);
    const shown = machineIn(destroy);

    const events = eventsIn(await asked(mayfly, "?machine=box", alice));
    const word = { by: "token", id: await tokenIdOf(mayfly, "alice") };
    const same = { machine: { id, name: "box" }, owner: "tok.alice", account: "tok.alice", evidence: word };
    expect(events).toMatchObject([
      { ...same, kind: "destroyed", reason: "requested", request_id: requestOf(destroy), cost_eur: shown.cost_eur },
      { ...same, kind: "destroy_requested", reason: null, request_id: requestOf(destroy) },
      { ...same, kind: "renewed", request_id: requestOf(renewal) },
      { ...same, kind: "created", request_id: requestOf(create) },
      { ...same, kind: "requested", request_id: requestOf(create) },
    ]);
    const ended = Date.parse(shown.destroyed_at ?? "");
    expect(events[0]).toMatchObject({
      at: shown.destroyed_at,
      lived_seconds: Math.floor((ended - Date.parse(shown.created_at ?? "")) / SECOND),
    });
    expect(shown.cost_eur).toBeGreaterThan(0);
    expect(events.filter((event) => "cost_eur" in event || "lived_seconds" in event)).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain("build host 3");
  });

  it("is on the word of the sweep that ended it, which is the one of that id in the reports", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const { id } = machineIn(await made(mayfly, "box", alice));
    mayfly.advance(11 * MINUTE);
    await mayfly.tick();
    const [ended] = eventsIn(await asked(mayfly, "?kind=destroyed"));
    const { body } = await mayfly.send("GET", "/v1/sweeps");
    const [report] = z.object({ sweeps: z.array(z.looseObject({ id: z.int() })) }).parse(body).sweeps;
    expect(ended).toMatchObject({ reason: "expired", evidence: { by: "sweep", id: report?.id }, request_id: null });
    const expired = z
      .array(z.looseObject({ phase: z.string(), destroyed: z.array(z.unknown()) }))
      .parse(report?.["phases"]);
    expect(expired.find(({ phase }) => phase === "expire")?.destroyed).toMatchObject([
      { id, owner: "tok.alice", name: "box", reason: "expired" },
    ]);
  });

  it("is on the word of whoever asked for its end, though a sweep sees it through", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await made(mayfly, "box", alice);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 2 });
    const destroy = await mayfly.send("DELETE", "/v1/machines/box", undefined, alice);
    expect(destroy.status).toBe(202);
    await minutes(mayfly, 10);
    expect(eventsIn(await asked(mayfly, "?kind=destroyed", alice))).toMatchObject([
      { reason: "requested", evidence: { by: "token" }, request_id: requestOf(destroy) },
    ]);
  });

  it("is on the word of a workflow's run, by its issuer and the claims that count", async () => {
    const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
    const policies = [{ name: "job", issuer: "github", claims: { repository_id: 74 }, account: "policy" as const }];
    const mayfly = createMayfly({ OIDC_AUDIENCE: AUDIENCE }, { policies }, issuer.hosts);
    const claims = { repository_id: "74", run_id: "9", ref: "refs/heads/main", actor: "ada", jti: "once-only" };
    const job = await issuer.sign(githubClaims(claims), NOW);
    await made(mayfly, "box", job);
    const [, requested] = eventsIn(await asked(mayfly, "", job));
    expect(requested).toMatchObject({
      owner: "gh.74.9",
      account: "pol.job",
      evidence: { by: "oidc", issuer: "github", claims: { repository_id: "74", run_id: "9", actor: "ada" } },
    });
    expect(JSON.stringify(requested)).not.toContain("once-only");
    expect(kindsIn(await asked(mayfly, "?account=pol.job"))).toEqual(["created", "requested"]);
    expect(kindsIn(await asked(mayfly, "?account=pol.other"))).toEqual([]);
  });

  it("is on the admin's word where he acts for an owner, who can read so", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await made(mayfly, "box", alice);
    await mayfly.send("DELETE", "/v1/machines/box?owner=tok.alice");
    expect(eventsIn(await asked(mayfly, "?kind=destroyed", alice))).toMatchObject([{ evidence: ADMIN }]);
  });

  it("that never came to be has failed, for nothing", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.fault({
      method: "POST",
      path: "^/v1/servers$",
      status: 412,
      code: "resource_unavailable",
      times: 9,
    });
    const create = await mayfly.send("PUT", "/v1/machines/box", BODY);
    expect(create.status).toBe(503);
    expect(eventsIn(await asked(mayfly, "?kind=failed"))).toMatchObject([
      { reason: "capacity", cost_eur: 0, lived_seconds: 0, evidence: ADMIN, request_id: requestOf(create) },
    ]);
  });

  it("that no row tells of is told by its labels, when a sweep destroys it for its age", async () => {
    const mayfly = createMayfly(LOCAL);
    const alice = await mayfly.tokenOf("alice");
    const { id, provider_id: providerId } = machineIn(await made(mayfly, "box", alice));
    await env.DB.batch([env.DB.prepare("DELETE FROM machines"), env.DB.prepare("DELETE FROM events")]);
    mayfly.advance(25 * HOUR);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    expect(eventsIn(await asked(mayfly, "", alice))).toMatchObject([
      { kind: "destroyed", reason: "max_age", machine: { id, name: "box" }, owner: "tok.alice", account: "tok.alice" },
    ]);
    const [ended] = eventsIn(await asked(mayfly));
    expect(ended).toMatchObject({ evidence: { by: "sweep" }, provider_id: providerId });
    expect(z.number().parse(ended?.["lived_seconds"])).toBeGreaterThanOrEqual(25 * 3600);
    expect(z.number().parse(ended?.["cost_eur"])).toBeGreaterThan(0);
  });

  it("that is nobody's by its labels is told to the admin", async () => {
    const mayfly = createMayfly(LOCAL);
    mayfly.simulator.addServer({ name: "stray", labels: OURS, created: new Date(NOW - 30 * HOUR).toISOString() });
    await mayfly.tick();
    expect(eventsIn(await asked(mayfly))).toMatchObject([
      { kind: "destroyed", reason: "max_age", machine: null, owner: null },
    ]);
  });

  it("that lands after its row has ended is told once more when a sweep destroys it", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/box?wait=30", BODY));
    await env.DB.prepare("UPDATE machines SET phase = 'failed', status = 'destroyed', reason = 'capacity'").run();
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
    expect(eventsIn(await asked(mayfly, "?kind=destroyed"))).toMatchObject([
      { reason: "late_landing", machine: { id, name: "box" }, evidence: { by: "sweep" } },
    ]);
  });

  it("of whose creation the provider says nothing has lived and cost nobody knows what", async () => {
    const mayfly = createMayfly(LOCAL);
    const labels = { ...OURS, created: String((NOW - 30 * HOUR) / SECOND) };
    mayfly.simulator.addServer({ name: "stray", labels, created: null });
    await mayfly.tick();
    expect(eventsIn(await asked(mayfly))).toMatchObject([{ kind: "destroyed", lived_seconds: null, cost_eur: null }]);
  });

  it("whose row was lost is adopted, by the create that meets it as well", async () => {
    const mayfly = createMayfly();
    const { id } = machineIn(await mayfly.send("PUT", "/v1/machines/box?wait=30", BODY));
    await env.DB.batch([env.DB.prepare("DELETE FROM machines"), env.DB.prepare("DELETE FROM events")]);
    const again = await mayfly.send("PUT", "/v1/machines/box", BODY);
    expect(machineIn(again).id).toBe(id);
    expect(eventsIn(await asked(mayfly, "?kind=adopted"))).toMatchObject([
      { machine: { id, name: "box" }, evidence: ADMIN, request_id: requestOf(again) },
    ]);
  });
});

describe("what an admin does besides", () => {
  it("is told of tokens: minted, given a new secret, and revoked once", async () => {
    const mayfly = createMayfly();
    const order = (note: string) =>
      mayfly.send("POST", "/v1/tokens", { owner: "alice", note }, env.ADMIN_TOKEN, { "Idempotency-Key": "k" });
    const minted = await order("a");
    await order("a");
    expect((await order("b")).status).toBe(409);
    const { id } = z.object({ token: z.object({ id: z.string() }) }).parse(minted.body).token;
    await mayfly.send("DELETE", `/v1/tokens/${id}`);
    await mayfly.send("DELETE", `/v1/tokens/${id}`);
    const same = { token: id, owner: "tok.alice", machine: null, evidence: ADMIN };
    expect(eventsIn(await asked(mayfly))).toMatchObject([
      { ...same, kind: "token_revoked" },
      { ...same, kind: "token_minted" },
      { ...same, kind: "token_minted", request_id: requestOf(minted) },
    ]);
  });

  it.each(["blast_cap", "credential", "inventory"])("is told of the hold %s, to the admin alone", async (hold) => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await mayfly.send("POST", `/v1/holds/${hold}/release`);
    const told = "?kind=hold_released";
    expect(eventsIn(await asked(mayfly, told))).toMatchObject([{ hold, machine: null, owner: null, evidence: ADMIN }]);
    expect(eventsIn(await asked(mayfly, told, alice))).toEqual([]);
  });
});

describe("of all events a caller is told", () => {
  it("its own, by whatever it names a machine, and an admin all, or an owner's", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const bob = await mayfly.tokenOf("bob");
    const hers = machineIn(await made(mayfly, "box", alice));
    const his = machineIn(await made(mayfly, "box", bob));
    const idsIn = (answer: Answer) => [
      ...new Set(
        eventsIn(answer).map(({ machine }) => z.object({ id: z.string() }).nullable().parse(machine)?.id ?? null),
      ),
    ];
    expect(idsIn(await asked(mayfly, "?machine=box", bob))).toEqual([his.id]);
    expect(idsIn(await asked(mayfly, "", bob))).toEqual([his.id, null]);
    for (const query of [`?machine=${hers.id}`, `?account=tok.alice`, `?machine=${hers.id}&kind=created`])
      expect(eventsIn(await asked(mayfly, query, bob)), query).toEqual([]);
    expect(await asked(mayfly, "?owner=tok.alice", bob)).toMatchObject({ status: 403, body: { field: "owner" } });
    expect(idsIn(await asked(mayfly, "?machine=box"))).toEqual([his.id, hers.id]);
    expect(idsIn(await asked(mayfly, `?machine=${hers.id}`))).toEqual([hers.id]);
    expect(idsIn(await asked(mayfly, "?owner=tok.alice"))).toEqual([hers.id, null]);
  });

  it("those since a time, or a length back, of a reason, and of some kinds", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/old?wait=30", WITH_TTL);
    mayfly.advance(2 * HOUR);
    await mayfly.tick();
    await mayfly.send("PUT", "/v1/machines/new?wait=30", WITH_TTL);
    await mayfly.send("DELETE", "/v1/machines/new");
    const all = ["destroyed", "destroy_requested", "created", "requested", "destroyed", "created", "requested"];
    expect(kindsIn(await asked(mayfly))).toEqual(all);
    expect(kindsIn(await asked(mayfly, "?since=1h"))).toEqual(all.slice(0, 5));
    expect(kindsIn(await asked(mayfly, `?since=${new Date(NOW + HOUR).toISOString()}`))).toEqual(all.slice(0, 5));
    expect(kindsIn(await asked(mayfly, "?since=2026-11-30T14:00:00%2B01:00"))).toEqual(all.slice(0, 5));
    expect(kindsIn(await asked(mayfly, `?since=1d`))).toEqual(all);
    const named = async (query: string) => eventsIn(await asked(mayfly, query)).map(({ machine }) => machine);
    expect(await named("?reason=expired")).toMatchObject([{ name: "old" }]);
    expect(await named("?kind=destroyed&reason=requested")).toMatchObject([{ name: "new" }]);
    expect(kindsIn(await asked(mayfly, "?kind=requested&kind=destroyed"))).toEqual([
      "destroyed",
      "requested",
      "destroyed",
      "requested",
    ]);
  });

  it("a page at a time, uncounted", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box?wait=30", WITH_TTL);
    await mayfly.send("DELETE", "/v1/machines/box");
    const page = async (number: number) => {
      const answer = await asked(mayfly, `?per_page=2&page=${number}`);
      const { meta } = z.object({ meta: z.object({ pagination: z.unknown() }) }).parse(answer.body);
      return { kinds: kindsIn(answer), ...z.record(z.string(), z.unknown()).parse(meta.pagination) };
    };
    const open = { per_page: 2, last_page: null, total_entries: null };
    expect(await page(1)).toEqual({
      ...open,
      kinds: ["destroyed", "destroy_requested"],
      page: 1,
      previous_page: null,
      next_page: 2,
    });
    expect(await page(2)).toEqual({
      ...open,
      kinds: ["created", "requested"],
      page: 2,
      previous_page: 1,
      next_page: null,
    });
  });

  it("nothing where a field breaks its rule, which is named", async () => {
    const mayfly = createMayfly();
    const broken = {
      since: ["yesterday", "2026-02-30T00:00:00Z", "-5m", "2026-11-30", ""],
      owner: ["TOK.A"],
      account: ["a b", ""],
      machine: ["mch_1", "Box", ""],
      reason: ["because", ""],
      kind: ["died", ""],
      page: ["0"],
      per_page: ["51"],
      colour: ["red"],
    };
    for (const [field, values] of Object.entries(broken))
      for (const value of values) {
        const { status, body } = await asked(mayfly, `?${field}=${encodeURIComponent(value)}`);
        expect([field, value, status], `${field}=${value}`).toEqual([field, value, 422]);
        expect(body).toMatchObject({ code: "invalid_input", field });
        expect(z.object({ rule: z.string() }).parse(body).rule).toMatch(/./);
      }
  });

  it("what an older version wrote, as far as it goes, and what a newer one did", async () => {
    const mayfly = createMayfly();
    await env.DB.batch([
      env.DB.prepare(
        "INSERT INTO events (at, uid, owner, event, reason) VALUES (?1, 'u', 'tok.a', 'destroyed', 'gone')",
      ).bind(NOW),
      env.DB.prepare(
        `INSERT INTO events (at, owner, event, reason, evidence, detail)
         VALUES (?1 + 1, 'tok.a', 'exploded', 'whim', '{"by":"oracle"}', '[1]')`,
      ).bind(NOW),
    ]);
    const [newer, older] = eventsIn(await asked(mayfly));
    expect(newer).toMatchObject({ kind: "unknown", reason: "unknown", evidence: null, owner: "tok.a" });
    expect(older).toMatchObject({
      kind: "destroyed",
      reason: "gone",
      machine: { id: "mch_u", name: null },
      account: null,
      evidence: null,
      cost_eur: null,
      lived_seconds: null,
    });
  });
});

const ENDED_ONLY = "must be left out unless `status` is destroyed: it is about ends";

describe("machines that have ended", () => {
  it("are listed newest first, since a time and of a reason", async () => {
    const mayfly = createMayfly();
    for (const name of ["a", "b", "c"])
      await mayfly.send("PUT", `/v1/machines/${name}?wait=30`, { ...BODY, ttl: "3h" });
    for (const name of ["b", "a"]) {
      await mayfly.send("DELETE", `/v1/machines/${name}`);
      mayfly.advance(HOUR);
    }
    mayfly.advance(HOUR);
    await mayfly.tick();
    const listed = async (query: string) => {
      const answer = await mayfly.send("GET", `/v1/machines?status=destroyed${query}`);
      return machinesIn(answer).map(({ name }) => name);
    };
    expect(await listed("")).toEqual(["c", "a", "b"]);
    expect(await listed("&since=150m")).toEqual(["c", "a"]);
    expect(await listed("&reason=requested")).toEqual(["a", "b"]);
    expect(await listed("&since=150m&reason=requested")).toEqual(["a"]);
    expect(await listed("&status=destroyed&reason=expired")).toEqual(["c"]);
  });

  it.each(["", "status=running", "status=destroyed&status=running"])("alone are asked so: not %j", async (statuses) => {
    const mayfly = createMayfly();
    for (const [field, value] of [
      ["since", "1h"],
      ["reason", "expired"],
    ]) {
      const answer = await mayfly.send("GET", `/v1/machines?${statuses}&${field}=${value}`);
      expect(answer).toMatchObject({ status: 422, body: { field, rule: ENDED_ONLY } });
    }
    expect(await mayfly.send("GET", "/v1/machines?status=destroyed&since=x")).toMatchObject({
      status: 422,
      body: { field: "since" },
    });
  });
});
