import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { identify } from "../../src/auth/identify.ts";
import { BUILT_IN_ISSUERS } from "../../src/auth/issuers.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/auth/policy.ts";
import { createMayfly, mintedIn, type Mayfly } from "../mayfly.ts";

const CI: Policy = { ...DEFAULT_POLICY, name: "ci", source: "policies[0] in mayfly.config.ts" };
const CONFIGURATION = { policies: [{ name: "ci" }] };

const callerOf = (mayfly: Mayfly, secret: string, policies: readonly Policy[]) =>
  identify(
    secret,
    { store: mayfly.store, now: mayfly.now, fetch: mayfly.runtime.fetch, keys: new Map() },
    { adminToken: env.ADMIN_TOKEN, authEpoch: "1", policies, issuers: BUILT_IN_ISSUERS, audience: null },
  );

describe("who holds a minted token", () => {
  it("is its owner, under the policy that is configured now, with the token's id and note as evidence", async () => {
    const mayfly = createMayfly({}, CONFIGURATION);
    const { id, secret } = mintedIn(
      await mayfly.send("POST", "/v1/tokens", { owner: "alice", policy: "ci", note: "nightly build" }),
    );
    const narrowed: Policy = { ...CI, may: ["ssh_keys"] };
    expect(await callerOf(mayfly, secret, [narrowed])).toMatchObject({
      ok: true,
      principal: {
        kind: "token",
        owner: "tok.alice",
        account: "tok.alice",
        policy: narrowed,
        evidence: { by: "token", id, note: "nightly build" },
        seesAll: false,
      },
    });
    expect(await callerOf(mayfly, secret, [{ ...CI, hasOwnAccount: true }])).toMatchObject({
      principal: { owner: "tok.alice", account: "pol.ci" },
    });
  });

  it.each([
    ["is gone", []],
    ["takes an issuer's tokens by now", [{ ...CI, issuer: "github", claims: { repository_id: ["1"] } }]],
  ])("is refused where its policy %s, and told which one it was", async (_what, policies) => {
    const mayfly = createMayfly({}, CONFIGURATION);
    const secret = await mayfly.tokenOf("alice", { policy: "ci" });
    expect(await callerOf(mayfly, secret, policies)).toMatchObject({
      ok: false,
      refusal: { code: "forbidden", policy: "ci" },
    });
  });
});
