import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AUDIENCE, createIssuer, GITHUB, githubClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, NOW, type Mayfly } from "../mayfly.ts";
import { tenTimesTwenty, TWO_EACH } from "./limited.ts";

const refusal = z.object({
  code: z.string(),
  policy: z.string(),
  rule: z.string(),
  next: z.string(),
  figures: z.object({ limit: z.number(), used: z.number(), asked: z.number() }),
  machines: z.array(z.object({ name: z.string(), owner: z.string(), expires_at: z.string(), cost_eur: z.number() })),
});
const put = (mayfly: Mayfly, name: string, token?: string) => mayfly.send("PUT", `/v1/machines/${name}`, BODY, token);

describe("I6: an account has no more machines at once than its policy allows", () => {
  it("is refused one more with the rule, the figures and its machines, those that end first before the others", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "two", machines: 2 }] });
    const alice = await mayfly.tokenOf("alice", { policy: "two" });
    await mayfly.send("PUT", "/v1/machines/later", { ...BODY, ttl: "2h" }, alice);
    await mayfly.send("PUT", "/v1/machines/sooner", { ...BODY, ttl: "1h" }, alice);
    const requests = mayfly.simulator.requests().length;
    const answer = await put(mayfly, "third", alice);
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "60"]);
    expect(refusal.parse(answer.body)).toMatchObject({
      code: "limit_count",
      policy: "two",
      figures: { limit: 2, used: 2, asked: 1 },
      machines: [
        { name: "sooner", owner: "tok.alice" },
        { name: "later", owner: "tok.alice" },
      ],
    });
    expect(mayfly.simulator.requests()).toHaveLength(requests);
    // A repeat makes nothing more.
    expect((await put(mayfly, "later", alice)).status).toBe(200);
    await mayfly.send("DELETE", "/v1/machines/sooner", undefined, alice);
    expect((await put(mayfly, "third", alice)).status).toBe(201);
  });

  it("of twenty creates at once under a limit of two, two come to be, ten times", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "two", machines: 2 }] });
    const alice = await mayfly.tokenOf("alice", { policy: "two" });
    expect(await tenTimesTwenty(mayfly, alice, (name) => put(mayfly, name, alice))).toEqual(TWO_EACH);
  });

  it("does not send whoever has no machine to destroy one, nor to wait for what would change nothing", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "none", machines: 0 }] });
    const answer = refusal.parse((await put(mayfly, "box", await mayfly.tokenOf("alice", { policy: "none" }))).body);
    expect(answer).toMatchObject({ code: "limit_count", machines: [], next: "Have an admin raise the limit." });
  });

  it("counts what is not confirmed gone: a machine that is being destroyed, and one past its end", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "one", machines: 1 }] });
    const alice = await mayfly.tokenOf("alice", { policy: "one" });
    await put(mayfly, "box", alice);
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 9 });
    expect((await mayfly.send("DELETE", "/v1/machines/box", undefined, alice)).status).toBe(202);
    expect((await put(mayfly, "next", alice)).status).toBe(429);
    mayfly.simulator.clearFaults();
    mayfly.advance(20 * MINUTE);
    await minutes(mayfly, 2);
    expect((await put(mayfly, "next", alice)).status).toBe(201);
    mayfly.advance(2 * HOUR);
    expect((await put(mayfly, "third", alice)).status).toBe(429);
  });

  it("counts adopted machines too, after the loss of D1, by the account that their label tells", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "shared", machines: 2, account: "policy" }] });
    const tokenOf = (owner: string) => mayfly.tokenOf(owner, { policy: "shared" });
    await put(mayfly, "one", await tokenOf("alice"));
    await put(mayfly, "two", await tokenOf("bob"));
    expect((await put(mayfly, "three", await tokenOf("carol"))).status).toBe(429);
    await mayfly.bindings.DB.batch(
      ["machines", "tokens", "settings"].map((table) => mayfly.bindings.DB.prepare(`DELETE FROM ${table}`)),
    );
    await minutes(mayfly, 35);
    const answer = await put(mayfly, "three", await tokenOf("carol"));
    expect(answer.status).toBe(429);
    expect(refusal.parse(answer.body).machines.map(({ owner }) => owner)).toEqual(["tok.alice", "tok.bob"]);
  });

  it("sums an account over all policies, and each policy compares the sum with its own limit", async () => {
    const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
    const configuration = {
      policies: [
        { name: "main", issuer: "github", claims: { repository_id: 74, ref: "refs/heads/main" }, machines: 2 },
        { name: "rest", issuer: "github", claims: { repository_id: 74 }, machines: 1 },
      ],
    };
    const mayfly = createMayfly({ OIDC_AUDIENCE: AUDIENCE }, configuration, issuer.hosts);
    const main = await issuer.sign(githubClaims(), NOW);
    const branch = await issuer.sign(githubClaims({ ref: "refs/heads/x", run_id: "2" }), NOW);
    expect((await put(mayfly, "one", main)).status).toBe(201);
    expect((await put(mayfly, "two", branch)).status).toBe(429);
    expect((await put(mayfly, "two", main)).status).toBe(201);
    expect((await put(mayfly, "three", main)).status).toBe(429);
  });
});

describe("I6: there are no more machines in all than MAX_MACHINES", () => {
  it("over two accounts and the admin, whom no other limit binds", async () => {
    const mayfly = createMayfly({ MAX_MACHINES: "3" }, { policies: [{ name: "default", machines: 1 }] });
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    expect((await put(mayfly, "a", alice)).status).toBe(201);
    expect((await put(mayfly, "b", alice)).status).toBe(429);
    expect((await put(mayfly, "mine")).status).toBe(201);
    expect((await put(mayfly, "too")).status).toBe(201);
    const answer = await put(mayfly, "c", bob);
    expect(answer.status).toBe(429);
    expect(refusal.parse(answer.body)).toMatchObject({ figures: { limit: 3, used: 3, asked: 1 }, machines: [] });
    expect((await put(mayfly, "more")).status).toBe(429);
  });

  it("is 20 where nothing is set, for an account as for all", async () => {
    const mayfly = createMayfly({ MAX_MACHINES: "" });
    const alice = await mayfly.tokenOf("alice");
    const names = Array.from({ length: 21 }, (_, index) => `m${index}`);
    const statuses: number[] = [];
    for (const name of names) statuses.push((await put(mayfly, name, alice)).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 201), 429]);
  });

  it("is what whoami tells, and zero lets nobody make any", async () => {
    const mayfly = createMayfly(
      { MAX_MACHINES: "7" },
      { policies: [{ name: "none", machines: 0 }, { name: "other" }] },
    );
    const limitOf = async (token?: string) => {
      const { body } = await mayfly.send("GET", "/v1/whoami", undefined, token);
      const shape = z.object({ whoami: z.object({ policy: z.object({ machines: z.int().nullable() }) }) });
      return shape.parse(body).whoami.policy.machines;
    };
    const none = await mayfly.tokenOf("alice", { policy: "none" });
    expect([
      await limitOf(),
      await limitOf(none),
      await limitOf(await mayfly.tokenOf("bob", { policy: "other" })),
    ]).toEqual([null, 0, 7]);
    expect((await put(mayfly, "box", none)).status).toBe(429);
  });
});
