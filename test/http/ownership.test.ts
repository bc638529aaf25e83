import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BODY, createMayfly, HOUR, machineIn, machinesIn } from "../mayfly.ts";

const tokenIn = (body: unknown) =>
  z.object({ token: z.object({ id: z.string(), owner: z.string(), secret: z.string() }) }).parse(body).token;

describe("tokens", () => {
  it("are minted for a named owner, shown once, and kept as a hash", async () => {
    const mayfly = createMayfly();
    const minted = await mayfly.send("POST", "/v1/tokens", { owner: "alice" });
    expect(minted.status).toBe(201);
    const { id, owner, secret } = tokenIn(minted.body);
    expect(owner).toBe("tok.alice");
    const listed = await mayfly.send("GET", "/v1/tokens");
    expect(listed.body).toMatchObject({ tokens: [{ id, owner: "tok.alice", revoked_at: null }] });
    const { results } = await mayfly.bindings.DB.prepare("SELECT * FROM tokens").all();
    expect(listed.text + JSON.stringify(results)).not.toContain(secret);
  });

  it("die when they are revoked, when they expire, and when the epoch moves on", async () => {
    const mayfly = createMayfly();
    const mint = async (owner: string, life: string) =>
      tokenIn((await mayfly.send("POST", "/v1/tokens", { owner, expires_in: life })).body);
    const use = async (secret: string, world = mayfly) =>
      (await world.send("GET", "/v1/machines", undefined, secret)).status;

    const revoked = await mint("alice", "2h");
    expect(await use(revoked.secret)).toBe(200);
    expect((await mayfly.send("DELETE", `/v1/tokens/${revoked.id}`)).status).toBe(200);
    expect(await use(revoked.secret)).toBe(401);
    expect((await mayfly.send("DELETE", `/v1/tokens/${revoked.id}`)).status).toBe(200);
    expect((await mayfly.send("DELETE", "/v1/tokens/tok_unknown")).status).toBe(404);

    const short = await mint("bob", "1h");
    expect(await use(short.secret)).toBe(200);
    mayfly.advance(HOUR);
    expect(await use(short.secret)).toBe(401);

    const old = await mint("carol", "9h");
    const nextEpoch = createMayfly({ AUTH_EPOCH: "2" });
    nextEpoch.advance(HOUR);
    expect(await use(old.secret, nextEpoch)).toBe(401);
    expect(await use(old.secret)).toBe(200);
  });
});

describe("an owner", () => {
  it("sees and touches only its own; foreign and unknown look the same", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const bob = await mayfly.tokenOf("bob");
    const hers = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, alice));
    const his = await mayfly.send("PUT", "/v1/machines/box", { ...BODY, region: "hel1" }, bob);
    expect(his.status).toBe(201);
    expect(hers).toMatchObject({ owner: "tok.alice", account: "tok.alice" });
    expect(mayfly.simulator.state().servers).toHaveLength(2);

    expect(machinesIn(await mayfly.send("GET", "/v1/machines", undefined, bob))).toMatchObject([{ owner: "tok.bob" }]);
    const foreign = await mayfly.send("GET", `/v1/machines/${hers.id}`, undefined, bob);
    const unknown = await mayfly.send(
      "GET",
      `/v1/machines/mch_${"f".repeat(8)}-1111-4111-8111-${"f".repeat(12)}`,
      undefined,
      bob,
    );
    expect([foreign.status, unknown.status]).toEqual([404, 404]);
    const masked = (text: string) => text.replace(/"request_id":"[^"]+"/, "");
    expect(masked(foreign.text)).toBe(masked(unknown.text));
    expect((await mayfly.send("DELETE", `/v1/machines/${hers.id}`, undefined, bob)).status).toBe(404);
    expect(mayfly.simulator.state().servers).toHaveLength(2);

    for (const method of ["GET", "DELETE"])
      expect(await mayfly.send(method, "/v1/machines/box?owner=tok.alice", undefined, bob)).toMatchObject({
        status: 403,
        body: { code: "forbidden", field: "owner" },
      });
    expect((await mayfly.send("PUT", "/v1/machines/x?owner=tok.alice", BODY, bob)).status).toBe(403);
    expect((await mayfly.send("GET", "/v1/machines?owner=tok.alice", undefined, bob)).status).toBe(403);
    expect((await mayfly.send("GET", "/v1/machines?owner=tok.bob", undefined, bob)).status).toBe(200);
  });

  it("may neither mint, list or revoke tokens nor run or read sweeps", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const calls: [string, string, unknown][] = [
      ["POST", "/v1/tokens", { owner: "alice" }],
      ["GET", "/v1/tokens", undefined],
      ["DELETE", "/v1/tokens/tok_x", undefined],
      ["POST", "/v1/sweeps", {}],
      ["GET", "/v1/sweeps", undefined],
    ];
    for (const [method, path, body] of calls)
      expect(await mayfly.send(method, path, body, alice), `${method} ${path}`).toMatchObject({
        status: 403,
        body: { code: "forbidden", rule: "needs the admin token" },
      });
  });

  it("finds nothing to destroy under a name that it never used: 204, and nothing is stored", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    expect((await mayfly.send("DELETE", "/v1/machines/nothing", undefined, alice)).status).toBe(204);
    expect(mayfly.simulator.requests()).toEqual([]);
    expect((await mayfly.bindings.DB.prepare("SELECT * FROM machines").all()).results).toEqual([]);
  });
});

describe("the admin", () => {
  it("sees all, reaches others by id or ?owner=, and may act for them", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    const hers = machineIn(await mayfly.send("PUT", "/v1/machines/box", BODY, alice));
    await mayfly.send("PUT", "/v1/machines/mine", BODY);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines")).map(({ name }) => name)).toEqual(["box", "mine"]);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines?owner=tok.alice")).map(({ name }) => name)).toEqual([
      "box",
    ]);
    expect((await mayfly.send("GET", "/v1/machines/box")).status).toBe(404);
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box?owner=tok.alice")).id).toBe(hers.id);
    expect(machineIn(await mayfly.send("GET", `/v1/machines/${hers.id}`)).id).toBe(hers.id);
    expect((await mayfly.send("GET", `/v1/machines/${hers.id}?owner=tok.bob`)).status).toBe(404);
    const made = machineIn(await mayfly.send("PUT", "/v1/machines/other?owner=tok.alice", BODY));
    expect(made).toMatchObject({ owner: "tok.alice", account: "tok.alice" });
    expect((await mayfly.send("DELETE", `/v1/machines/${hers.id}`)).status).toBe(200);
    expect((await mayfly.send("DELETE", "/v1/machines/other?owner=tok.alice")).status).toBe(200);
  });
});
