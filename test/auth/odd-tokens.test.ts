import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Mayfly, NOW } from "../mayfly.ts";
import { createCallers } from "./callers.ts";
import { createIssuer, GITHUB, githubClaims } from "./issuer.ts";

const configuration = {
  policies: [{ name: "main", issuer: "github", claims: { repository_id: "74" } }],
};
const cost = z.object({ statements: z.int(), fetches: z.int() });
const costOf = ({ logs }: Mayfly) => cost.parse(logs.findLast(({ event }) => event === "request"));
const SECONDS = NOW / 1000;

describe("a token that nobody's forge makes is refused, at the cost of one fetch at most and of no row", () => {
  it.each<[string, Record<string, unknown>]>([
    ["a repository that is a list", { repository_id: ["74"] }],
    ["an object", { repository_id: { toString: "74" } }],
    ["a truth value", { repository_id: true }],
    ["a fraction", { repository_id: 74.5 }],
    ["another spelling of its number", { repository_id: "074" }],
    ["white space", { repository_id: " 74" }],
    ["wide digits", { repository_id: "７４" }],
    ["a run that is a list", { run_id: ["9001"] }],
    ["a negative run", { run_id: -1 }],
    ["a run with a dot", { run_id: "9001.main" }],
    ["a run with a line break", { run_id: "9001\n" }],
    ["a list of issuers", { iss: [GITHUB] }],
    ["an issuer with a slash", { iss: `${GITHUB}/` }],
    ["an issuer in capitals", { iss: GITHUB.toUpperCase() }],
    ["no audience in a list", { aud: [] }],
    ["an audience that is an object", { aud: { mayfly: true } }],
    ["a longer audience", { aud: "mayfly2" }],
    ["an audience within a list within a list", { aud: [["mayfly"]] }],
    ["an end as text", { exp: String(SECONDS + 300) }],
    ["an end in a list", { exp: [SECONDS + 300] }],
    ["a beginning as text", { nbf: "0" }],
    ["a beginning far ahead", { nbf: SECONDS + 9999 }],
    ["made far ahead", { iat: SECONDS + 9999 }],
    ["made at no time", { iat: undefined }],
    ["two events, of which one is privileged", { event_name: ["push", "workflow_run"] }],
    ["no event in a list", { event_name: [] }],
    ["an event that is an object", { event_name: { a: 1 } }],
  ])("%s", async (_name, claims) => {
    const { issuer, mayfly } = await createCallers({ configuration });
    const { status } = await mayfly.send("GET", "/v1/whoami", undefined, await issuer.sign(githubClaims(claims), NOW));
    expect([401, 403]).toContain(status);
    expect(costOf(mayfly).statements).toBe(0);
    expect(costOf(mayfly).fetches).toBeLessThanOrEqual(1);
  });

  it.each(["__proto__", ""])("one that names the key %j", async (kid) => {
    const { issuer, mayfly } = await createCallers({ configuration });
    const token = await issuer.sign(githubClaims(), NOW, { kid });
    expect((await mayfly.send("GET", "/v1/whoami", undefined, token)).status).toBe(401);
  });
});

describe("however an issuer serves its keys, nobody gets in by what is no public key of its own", async () => {
  const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
  const good = issuer.jwk();
  const { kid } = good;
  const other = await exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey);
  it.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["keys that are an object", { keys: {} }],
    ["keys that are none", { keys: [null, 1, "a", [], {}] }],
    ["a secret", { keys: [{ kty: "oct", k: "AAAA", kid }] }],
    ["another curve", { keys: [{ ...good, crv: "P-999" }] }],
    ["half a point", { keys: [{ kty: "EC", kid, crv: "P-256" }] }],
    ["a point that is none", { keys: [{ ...good, x: "!!" }] }],
    ["a key of another kind", { keys: [{ kty: "RSA", kid, n: "AA", e: "AQAB" }] }],
    ["a key for encryption", { keys: [{ ...good, use: "enc" }] }],
    ["a key to sign with", { keys: [{ ...good, key_ops: ["sign"] }] }],
    ["two keys of one name", { keys: [{ ...good, ...other }, good] }],
    ["a key of another algorithm", { keys: [{ ...good, alg: "HS256" }] }],
    ["no keys, and a prototype with some", JSON.parse(`{"keys":[],"__proto__":{"keys":[]}}`)],
  ])("%s", async (_name, served) => {
    const { mayfly } = await createCallers({ configuration, issuer });
    issuer.answer = () => Response.json(served);
    const { status } = await mayfly.send("GET", "/v1/whoami", undefined, await issuer.sign(githubClaims(), NOW));
    expect([401, 503]).toContain(status);
    expect(costOf(mayfly).statements).toBe(0);
    expect(costOf(mayfly).fetches).toBeLessThanOrEqual(1);
  });
});
