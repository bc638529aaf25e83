import { describe, expect, it } from "vitest";
import { BODY, createMayfly, refusing, servers } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const IS_SAFE = "Repeat the same call; it cannot double anything.";
const machines: unknown = expect.stringMatching(
  /^A machine may have been made as (m-\w+), and a repeat .* PUT \/v1\/machines\/\1: /,
);
const tokens: unknown = expect.stringMatching(/^Look at GET \/v1\/tokens first: .* a repeat mints another\./);
const mint = { owner: "ann" };

describe("where the database fails, a call is told whether a repeat would do it once more", () => {
  it.each([
    ["POST", "/v1/machines", BODY, {}, machines],
    ["POST", "/v1/machines", BODY, { "Idempotency-Key": "k" }, IS_SAFE],
    ["PUT", "/v1/machines/box", BODY, {}, IS_SAFE],
    ["POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, {}, IS_SAFE],
    ["POST", "/v1/tokens", mint, {}, tokens],
    ["POST", "/v1/tokens", mint, { "Idempotency-Key": "k" }, IS_SAFE],
  ])("%s %s %j %j", async (method, path, body, headers, next) => {
    const mayfly = createMayfly();
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /^INSERT/) });
    const answer = await mayfly.send(method, path, body, mayfly.bindings.ADMIN_TOKEN, headers);
    expect(answer).toMatchObject({ status: 503, body: { code: "store_unavailable", next } });
  });

  it("says nothing of it before the call has begun", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /FROM tokens/) });
    expect(await mayfly.send("POST", "/v1/machines", BODY, ann)).toMatchObject({
      status: 503,
      body: { next: IS_SAFE },
    });
  });
});

it("where the provider's answer to a POST is lost, its caller is told that a repeat makes another machine, as it does", async () => {
  const mayfly = createMayfly();
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", status: 504, code: "timeout" });
  mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
  const post = () => mayfly.send("POST", "/v1/machines", BODY);
  for (const answer of [await post(), await post()])
    expect(answer).toMatchObject({ status: 503, body: { code: "provider_unavailable", next: machines } });
  expect((await post()).status).toBe(201);
  expect(servers(mayfly)).toHaveLength(1);
  const { results } = await mayfly.bindings.DB.prepare("SELECT name FROM machines").all();
  expect(results).toHaveLength(3);
});
