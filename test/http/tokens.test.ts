import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Principal } from "../../src/auth/principal.ts";
import { writeToken } from "../../src/auth/token-form.ts";
import { LONGEST_TOKEN_LIFE } from "../../src/auth/tokens.ts";
import { createMachine } from "../../src/lifecycle/create.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  machinesIn,
  mintedIn,
  MINUTE,
  principalOf,
  refusing,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { everything } from "../store/tables.ts";

const DAY = 24 * HOUR;
const POLICIES = {
  policies: [
    { name: "ci", account: "policy" as const },
    { name: "small", longest: "10m" },
  ],
};
const PULLS = { name: "pulls", issuer: "github", claims: { repository_id: "1" } };

const mint = (mayfly: Mayfly, body: object, key?: string) =>
  mayfly.send("POST", "/v1/tokens", body, env.ADMIN_TOKEN, key === undefined ? {} : { "Idempotency-Key": key });
/** What a call with this token is answered. */
const use = (mayfly: Mayfly, secret: string) => mayfly.send("GET", "/v1/machines", undefined, secret);
const statusOf = async (mayfly: Mayfly, secret: string) => (await use(mayfly, secret)).status;
const tokensOf = async (mayfly: Mayfly) => {
  const { body } = await mayfly.send("GET", "/v1/tokens");
  return z.object({ tokens: z.array(z.looseObject({ last_used_at: z.string().nullable() })) }).parse(body).tokens;
};

describe("minting", () => {
  it("answers who holds it, under which policy and until when, with a secret that is shown this once", async () => {
    const mayfly = createMayfly({}, POLICIES);
    const minted = await mint(mayfly, { owner: "alice", policy: "ci", note: "Bäckerei, Büro 3", expires_in: "30d" });
    const token = {
      owner: "tok.alice",
      policy: "ci",
      note: "Bäckerei, Büro 3",
      created_at: "2026-11-30T12:00:00.000Z",
      expires_at: "2026-12-30T12:00:00.000Z",
      last_used_at: null,
      revoked_at: null,
    };
    const { id, secret } = mintedIn(minted);
    expect(minted).toMatchObject({ status: 201, body: { token: { id, secret, ...token } } });
    expect(minted.headers.get("Cache-Control")).toBe("no-store");
    expect(await tokensOf(mayfly)).toEqual([{ id, ...token }]);
  });

  it("takes the policy default, no note and 90 days where nothing else is said", async () => {
    const minted = await mint(createMayfly(), { owner: "alice" });
    expect(minted.body).toMatchObject({
      token: { policy: "default", note: "", expires_at: "2027-02-28T12:00:00.000Z" },
    });
  });

  it("lets a token live for as long as the rule says at most", async () => {
    const minted = await mint(createMayfly(), { owner: "alice", expires_in: LONGEST_TOKEN_LIFE });
    expect(minted).toMatchObject({ status: 201, body: { token: { expires_at: "2027-12-01T12:00:00.000Z" } } });
  });

  it("refuses a policy that tokens cannot have, naming those that they can", async () => {
    const mayfly = createMayfly({ OIDC_AUDIENCE: "mayfly" }, { policies: [...POLICIES.policies, PULLS] });
    for (const policy of ["none", "pulls", ""])
      expect(await mint(mayfly, { owner: "alice", policy }), policy).toMatchObject({
        status: 422,
        body: { field: "policy", rule: "must be a policy that tokens can have: default, ci, small" },
      });
    expect(await tokensOf(mayfly)).toEqual([]);
  });

  it.each([
    ["two lines", "a\nb"],
    ["two lines, as Unicode has them", "a\u2028b"],
    ["a control character", "a\u0000"],
    ["half a character", "\ud800"],
    ["201 characters", "ü".repeat(201)],
    ["a number", 5],
    ["a token", `see mayfly_${"a".repeat(59)}!`],
  ])("refuses a note that is %s", async (_what, note) => {
    const mayfly = createMayfly();
    expect(await mint(mayfly, { owner: "alice", note })).toMatchObject({ status: 422, body: { field: "note" } });
    expect(await tokensOf(mayfly)).toEqual([]);
  });

  it("counts a note's characters, not their bytes", async () => {
    expect((await mint(createMayfly(), { owner: "alice", note: "🐝".repeat(200) })).status).toBe(201);
  });
});

describe("an idempotency key", () => {
  it("makes a repeat the same token, with a new secret in place of the first", async () => {
    const mayfly = createMayfly();
    const first = await mint(mayfly, { owner: "alice", note: "n" }, "one");
    mayfly.advance(DAY - 1);
    const second = await mint(mayfly, { owner: "alice", note: "n", policy: "default", expires_in: "2160h" }, "one");
    expect([first.status, second.status]).toEqual([201, 200]);
    const [before, after] = [mintedIn(first), mintedIn(second)];
    expect({ ...after, secret: "" }).toEqual({ ...before, secret: "" });
    expect([await statusOf(mayfly, before.secret), await statusOf(mayfly, after.secret)]).toEqual([401, 200]);
    expect(await tokensOf(mayfly)).toMatchObject([{ id: before.id, expires_at: "2027-02-28T12:00:00.000Z" }]);
  });

  it("counts for a day; after that it makes another token", async () => {
    const mayfly = createMayfly();
    const first = await mint(mayfly, { owner: "alice" }, "one");
    mayfly.advance(DAY);
    const second = await mint(mayfly, { owner: "bob" }, "one");
    expect(second.status).toBe(201);
    expect(await statusOf(mayfly, mintedIn(first).secret)).toBe(200);
    expect(await mint(mayfly, { owner: "bob" }, "one")).toMatchObject({
      status: 200,
      body: { token: { id: mintedIn(second).id } },
    });
  });

  it.each([{ owner: "bob" }, { policy: "ci" }, { note: "other" }, { expires_in: "89d" }])(
    "is refused for another body: %j",
    async (other) => {
      const mayfly = createMayfly({}, POLICIES);
      const { secret } = mintedIn(await mint(mayfly, { owner: "alice" }, "one"));
      expect(await mint(mayfly, { owner: "alice", ...other }, "one")).toMatchObject({
        status: 409,
        body: { code: "spec_mismatch" },
      });
      expect(await tokensOf(mayfly)).toHaveLength(1);
      expect(await statusOf(mayfly, secret)).toBe(200);
    },
  );

  it("says what to do where its token has been revoked, has expired, or is of an earlier epoch", async () => {
    const mayfly = createMayfly();
    const gone = { status: 409, body: { code: "released", next: "Use another key to mint another token." } };
    const { id } = mintedIn(await mint(mayfly, { owner: "alice" }, "revoked"));
    await mayfly.send("DELETE", `/v1/tokens/${id}`);
    expect(await mint(mayfly, { owner: "alice" }, "revoked")).toMatchObject(gone);
    await mint(mayfly, { owner: "alice", expires_in: "1h" }, "short");
    await mint(mayfly, { owner: "alice" }, "epoch");
    mayfly.advance(HOUR);
    expect(await mint(mayfly, { owner: "alice", expires_in: "1h" }, "short")).toMatchObject(gone);
    mayfly.configure({ AUTH_EPOCH: "2" });
    expect(await mint(mayfly, { owner: "alice" }, "epoch")).toMatchObject(gone);
    expect(await tokensOf(mayfly)).toHaveLength(3);
  });

  it("of two calls at once makes one token, and one of the two secrets counts", async () => {
    const mayfly = createMayfly();
    const both = await Promise.all([mint(mayfly, { owner: "alice" }, "one"), mint(mayfly, { owner: "alice" }, "one")]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201]);
    const [one, other] = both.map(mintedIn);
    expect(one?.id).toBe(other?.id);
    expect(await tokensOf(mayfly)).toHaveLength(1);
    const statuses = [await statusOf(mayfly, one?.secret ?? ""), await statusOf(mayfly, other?.secret ?? "")];
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401]);
  });

  it("of two calls at once with other bodies makes one token, and is refused to the other", async () => {
    const mayfly = createMayfly();
    const both = await Promise.all(["alice", "bob"].map((owner) => mint(mayfly, { owner }, "one")));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    expect(await tokensOf(mayfly)).toHaveLength(1);
  });

  it("that breaks the rule is refused by the header's name", async () => {
    const mayfly = createMayfly();
    for (const key of ["", "a b", "ä", "k".repeat(201)])
      expect(await mint(mayfly, { owner: "alice" }, key), key).toMatchObject({
        status: 422,
        body: { field: "Idempotency-Key", rule: "must be 1 to 200 visible ASCII characters" },
      });
    expect(await tokensOf(mayfly)).toEqual([]);
    for (const key of ["!", `~${"k".repeat(199)}`])
      expect((await mint(mayfly, { owner: "alice" }, key)).status).toBe(201);
  });
});

describe("a token", () => {
  it("without the right form or checksum is told so, at no cost", async () => {
    const mayfly = createMayfly();
    const secret = await mayfly.tokenOf("alice");
    const mistyped = `${secret.slice(0, 20)}${secret[20] === "a" ? "b" : "a"}${secret.slice(21)}`;
    const old = "mft_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    expect(await use(mayfly, mistyped)).toMatchObject({
      status: 401,
      body: { detail: "This was never a token: its last seven characters do not fit the others." },
    });
    expect(await use(mayfly, old)).toMatchObject({
      status: 401,
      body: { detail: "This is neither a minted token nor an issuer's (JWT)." },
    });
    expect(mayfly.logs.slice(-2)).toMatchObject([{ statements: 0 }, { statements: 0 }]);
  });

  it("dies when it is revoked, when it expires, and when the epoch moves on", async () => {
    const mayfly = createMayfly();
    const mintFor = async (owner: string, life: string) => mintedIn(await mint(mayfly, { owner, expires_in: life }));

    const revoked = await mintFor("alice", "2h");
    expect(await statusOf(mayfly, revoked.secret)).toBe(200);
    expect((await mayfly.send("DELETE", `/v1/tokens/${revoked.id}`)).status).toBe(200);
    expect(await statusOf(mayfly, revoked.secret)).toBe(401);
    expect((await mayfly.send("DELETE", `/v1/tokens/${revoked.id}`)).status).toBe(200);
    expect((await mayfly.send("DELETE", "/v1/tokens/tok_unknown")).status).toBe(404);

    const short = await mintFor("bob", "1h");
    expect(await statusOf(mayfly, short.secret)).toBe(200);
    mayfly.advance(HOUR);
    expect(await statusOf(mayfly, short.secret)).toBe(401);

    const old = await mintFor("carol", "9h");
    const nextEpoch = createMayfly({ AUTH_EPOCH: "2" });
    nextEpoch.advance(HOUR);
    expect(await statusOf(nextEpoch, old.secret)).toBe(401);
    expect(await statusOf(mayfly, old.secret)).toBe(200);
  });

  it("is told why it ended and since when, if it was ever one, and nothing of others", async () => {
    const mayfly = createMayfly();
    const why = async (secret: string, by = mayfly) => {
      const { status, body } = await use(by, secret);
      return {
        status,
        ...z.object({ code: z.string(), detail: z.string(), rule: z.string(), next: z.string() }).parse(body),
      };
    };
    const next = "Ask an admin for another, who mints it with POST /v1/tokens.";
    const refused = { status: 401, code: "unauthorized" };
    const revoked = mintedIn(await mint(mayfly, { owner: "alice", expires_in: "1h" }));
    const short = mintedIn(await mint(mayfly, { owner: "bob", expires_in: "1h" }));
    const old = mintedIn(await mint(mayfly, { owner: "carol", expires_in: "9h" }));
    await mayfly.send("DELETE", `/v1/tokens/${revoked.id}`);
    const isRevoked = { ...refused, detail: "This token was revoked at 2026-11-30T12:00:00.000Z.", next };
    expect(await why(revoked.secret)).toEqual({ ...isRevoked, rule: "must not be revoked" });
    mayfly.advance(HOUR);
    expect(await why(revoked.secret)).toMatchObject(isRevoked);
    expect(await why(short.secret)).toEqual({
      ...refused,
      detail: "This token expired at 2026-11-30T13:00:00.000Z.",
      rule: "must not have expired",
      next,
    });
    expect(await why(old.secret, createMayfly({ AUTH_EPOCH: "2" }))).toEqual({
      ...refused,
      detail: "This token has ended with all that were minted before AUTH_EPOCH was changed.",
      rule: "must be of this epoch",
      next,
    });
    const ordered = mintedIn(await mint(mayfly, { owner: "dan" }, "one"));
    await mint(mayfly, { owner: "dan" }, "one");
    const elsewhere = await writeToken(new Uint8Array(32).fill(200));
    for (const secret of [ordered.secret, elsewhere])
      expect(await why(secret)).toMatchObject({ ...refused, detail: "There is no token of this secret here." });
    const mistyped = `${short.secret.slice(0, -1)}${short.secret.endsWith("a") ? "b" : "a"}`;
    expect((await why(mistyped)).detail).toMatch(/^This was never a token: /);
  });

  it("comes under its policy, and counts against that one's account where it has one", async () => {
    const mayfly = createMayfly({}, POLICIES);
    const ci = await mayfly.tokenOf("alice", { policy: "ci" });
    const small = await mayfly.tokenOf("alice", { policy: "small" });
    expect(machineIn(await mayfly.send("PUT", "/v1/machines/a", BODY, ci))).toMatchObject({
      owner: "tok.alice",
      account: "pol.ci",
    });
    expect(await mayfly.send("PUT", "/v1/machines/b", { ...BODY, ttl: "11m" }, small)).toMatchObject({
      status: 403,
      body: { code: "limit_lease", policy: "small" },
    });
  });

  it("whose policy is gone is refused at every call, until the policy is back", async () => {
    const mayfly = createMayfly({}, POLICIES);
    const secret = await mayfly.tokenOf("alice", { policy: "ci" });
    const without = createMayfly({ OIDC_AUDIENCE: "mayfly" }, { policies: [{ ...PULLS, name: "ci" }] });
    const calls = [
      ["GET", "/v1/machines", undefined],
      ["PUT", "/v1/machines/a", BODY],
      ["DELETE", "/v1/machines/a", undefined],
    ] as const;
    for (const [method, path, body] of calls)
      expect(await without.send(method, path, body, secret), method).toMatchObject({
        status: 403,
        body: { code: "forbidden", policy: "ci", rule: "must have a policy that is configured for tokens" },
      });
    expect(await tokensOf(without)).toMatchObject([{ policy: "ci", last_used_at: null }]);
    expect(await statusOf(mayfly, secret)).toBe(200);
  });
});

describe("a token's last use", () => {
  it("is noted once an hour, and not of callers that are not let in", async () => {
    const mayfly = createMayfly();
    const secret = await mayfly.tokenOf("alice");
    const lastUse = async () => (await tokensOf(mayfly))[0]?.last_used_at;
    await use(mayfly, `${secret.slice(0, -1)}${secret.endsWith("a") ? "b" : "a"}`);
    expect(await lastUse()).toBeNull();
    await use(mayfly, secret);
    expect(await lastUse()).toBe("2026-11-30T12:00:00.000Z");
    mayfly.advance(HOUR - 1);
    await use(mayfly, secret);
    expect(await lastUse()).toBe("2026-11-30T12:00:00.000Z");
    expect(mayfly.logs.at(-2)).toMatchObject({ statements: 3 });
    mayfly.advance(1);
    await use(mayfly, secret);
    expect(await lastUse()).toBe("2026-11-30T13:00:00.000Z");
    expect(mayfly.logs.at(-2)).toMatchObject({ statements: 4 });
  });

  it("by many at once is written by one of them", async () => {
    const mayfly = createMayfly();
    const { id } = mintedIn(await mint(mayfly, { owner: "alice" }));
    const { tokens } = mayfly.store;
    const first = mayfly.now();
    await tokens.noteUse(id, first, first - HOUR);
    await tokens.noteUse(id, first + MINUTE, first + MINUTE - HOUR);
    expect(await tokensOf(mayfly)).toMatchObject([{ last_used_at: new Date(first).toISOString() }]);
  });

  it("holds up no call: the answer is there before the database has written it", async () => {
    const mayfly = createMayfly();
    const secret = await mayfly.tokenOf("alice");
    const { promise: answered, resolve: release } = Promise.withResolvers<void>();
    const slow = delaying(env.DB, /SET last_used_at/, answered);
    const context = createExecutionContext();
    const headers = { Authorization: `Bearer ${secret}` };
    const bindings = { ...mayfly.bindings, DB: slow };
    const answer = await mayfly.app.request("/v1/machines", { headers }, bindings, context);
    expect(answer.status).toBe(200);
    expect(await tokensOf(mayfly)).toMatchObject([{ last_used_at: null }]);
    release();
    await waitOnExecutionContext(context);
    expect(await tokensOf(mayfly)).toMatchObject([{ last_used_at: "2026-11-30T12:00:00.000Z" }]);
  });

  it("fails no call: what D1 refuses is logged", async () => {
    const mayfly = createMayfly();
    const secret = await mayfly.tokenOf("alice");
    mayfly.configure({ DB: refusing(env.DB, /SET last_used_at/) });
    expect(await statusOf(mayfly, secret)).toBe(200);
    expect(mayfly.logs).toContainEqual(
      expect.objectContaining({ event: "error", error: "StoreError: D1_ERROR: refused" }),
    );
  });
});

describe("a token that is revoked with destroy", () => {
  const destroy = (mayfly: Mayfly, id: string) => mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`);

  it("takes everything with it that its owner has, and nothing of others", async () => {
    const mayfly = createMayfly();
    const { id, secret } = mintedIn(await mint(mayfly, { owner: "alice" }));
    const bob = await mayfly.tokenOf("bob");
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, secret));
    machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, bob));
    await mayfly.send("POST", "/v1/firewalls", { name: "web", deny_all: true }, secret);
    const revoked = await destroy(mayfly, id);
    expect(revoked).toMatchObject({
      status: 202,
      body: {
        token: { id, owner: "tok.alice", revoked_at: "2026-11-30T12:00:00.000Z" },
        machines: [{ id: box.id, status: "deleting" }],
        resources: [{ name: "web" }],
      },
    });
    expect(await statusOf(mayfly, secret)).toBe(401);
    expect(servers(mayfly)).toMatchObject([{ labels: { "mayfly-owner": "tok.bob" } }]);
    expect(mayfly.simulator.state().firewalls).toEqual([]);
  });

  it("takes at a second time what has come since", async () => {
    const mayfly = createMayfly();
    const { id } = mintedIn(await mint(mayfly, { owner: "alice" }));
    expect(await destroy(mayfly, id)).toMatchObject({ status: 202, body: { machines: [], resources: [] } });
    await mayfly.send("PUT", "/v1/machines/late?owner=tok.alice", BODY);
    mayfly.advance(MINUTE);
    expect(await destroy(mayfly, id)).toMatchObject({
      status: 202,
      body: { token: { revoked_at: "2026-11-30T12:00:00.000Z" }, machines: [{ name: "late" }] },
    });
    expect(servers(mayfly)).toEqual([]);
  });

  it("lets no create through that was let in before", async () => {
    const mayfly = createMayfly();
    const { id } = mintedIn(await mint(mayfly, { owner: "alice" }));
    const letIn: Principal = { ...principalOf("tok.alice"), evidence: { by: "token", id, note: "" } };
    await destroy(mayfly, id);
    const order = { serverTypes: ["cx23"], regions: ["fsn1"] };
    expect(await createMachine(mayfly.context(), letIn, "late", order)).toMatchObject({ ok: false });
    expect(servers(mayfly)).toEqual([]);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines"))).toEqual([]);
  });

  it("is found by its id, and without destroy=true leaves all as it is", async () => {
    const mayfly = createMayfly();
    const { id, secret } = mintedIn(await mint(mayfly, { owner: "alice" }));
    await mayfly.send("PUT", "/v1/machines/box", BODY, secret);
    expect((await destroy(mayfly, "tok_unknown")).status).toBe(404);
    expect(await mayfly.send("DELETE", `/v1/tokens/${id}?destroy=maybe`)).toMatchObject({
      status: 422,
      body: { field: "destroy" },
    });
    expect(await statusOf(mayfly, secret)).toBe(200);
    const kept = await mayfly.send("DELETE", `/v1/tokens/${id}?destroy=false`);
    expect([kept.status, Object.keys(z.object({ token: z.unknown() }).strict().parse(kept.body))]).toEqual([
      200,
      ["token"],
    ]);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("a token's secret", () => {
  it("appears in the answer that mints it alone: in no other, no log line and no row", async () => {
    const mayfly = createMayfly({}, POLICIES);
    const minted = [
      await mint(mayfly, { owner: "alice" }, "key-of-mine"),
      await mint(mayfly, { owner: "alice" }, "key-of-mine"),
    ];
    const secrets = minted.map((answer) => mintedIn(answer).secret);
    const [void_ = "", secret = ""] = secrets;
    const texts: string[] = [];
    for (const token of [void_, secret, `${secret.slice(0, -1)}_`]) {
      texts.push((await mayfly.send("PUT", "/v1/machines/box", BODY, token)).text);
      texts.push((await mayfly.send("PUT", "/v1/machines/BOX", BODY, token)).text);
      texts.push((await mayfly.send("GET", `/v1/machines/${token}`, undefined, token)).text);
      texts.push((await mayfly.send("DELETE", "/v1/machines/box", undefined, token)).text);
    }
    mayfly.configure({ DB: refusing(env.DB, /FROM tokens|UPDATE tokens/) });
    texts.push((await use(mayfly, secret)).text);
    mayfly.configure({ DB: env.DB });
    texts.push((await mayfly.send("GET", "/v1/tokens")).text, JSON.stringify(await everything()));
    expect(texts.join()).toContain("store_unavailable");
    const all = texts.join("\n") + JSON.stringify(mayfly.logs);
    for (const hidden of [...secrets, "key-of-mine"]) expect(all).not.toContain(hidden);
  });
});

/** D1 that waits for `until` before it does what matches. */
function delaying(db: D1Database, pattern: RegExp, until: Promise<void>): D1Database {
  const slow = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get: (target, key: keyof D1PreparedStatement) => {
        if (key === "bind") return (...values: unknown[]) => slow(target.bind(...values));
        if (key === "all") return async () => until.then(() => target.all());
        return target[key].bind(target);
      },
    });
  return new Proxy(db, {
    get: (target, key: keyof D1Database) =>
      key === "prepare"
        ? (text: string) => (pattern.test(text) ? slow(target.prepare(text)) : target.prepare(text))
        : target[key].bind(target),
  });
}
