import { describe, expect, it } from "vitest";
import { BODY, createMayfly, machineIn, machinesIn } from "../mayfly.ts";

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
