// What was attacked and held.
import { describe, expect, it } from "vitest";
import { exportJWK, generateKeyPair } from "jose";
import type { Configuration } from "../../src/deployment.ts";
import { createCallers } from "../auth/callers.ts";
import { createIssuer, GITHUB, githubClaims } from "../auth/issuer.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, LOCAL, MINUTE, mintedIn, minutes, servers, type Mayfly } from "../mayfly.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const lastLog = ({ logs }: Mayfly) => logs.findLast(({ event }) => event === "request");

describe("JWTs that are odd", () => {
  const policies: Configuration["policies"] = [{ name: "main", issuer: "github", claims: { repository_id: "74" } }];
  it("are no 500 and are let in by no accident", async () => {
    const callers = await createCallers({ configuration: { policies } });
    const { issuer, mayfly } = callers;
    const s = Math.floor(mayfly.now() / 1000);
    const told: unknown[] = [];
    const ask = async (name: string, claims: Record<string, unknown>, header: Record<string, unknown> = {}) => {
      const token = await issuer.sign(githubClaims(claims), mayfly.now(), header);
      const answer = await mayfly.send("GET", "/v1/whoami", undefined, token);
      const log = lastLog(mayfly) as Record<string, unknown>;
      if (answer.status === 200 || answer.status >= 500 || Number(log["statements"]) > 0 || Number(log["fetches"]) > 1) told.push([name, answer.status, answer.text.slice(0, 300), log]);
    };
    await ask("repo list", { repository_id: ["74"] });
    await ask("repo obj", { repository_id: { toString: "74" } });
    await ask("repo true", { repository_id: true });
    await ask("repo 74.5", { repository_id: 74.5 });
    await ask("repo 074", { repository_id: "074" });
    await ask("repo sp", { repository_id: " 74" });
    await ask("repo uni", { repository_id: "７４" });
    await ask("run list", { run_id: ["9001"] });
    await ask("run neg", { run_id: -1 });
    await ask("run 0", { run_id: 0 });
    await ask("run dot", { run_id: "9001.main" });
    await ask("run nl", { run_id: "9001\n" });
    await ask("iss list", { iss: [GITHUB] });
    await ask("iss slash", { iss: `${GITHUB}/` });
    await ask("iss case", { iss: GITHUB.toUpperCase() });
    await ask("aud list of none", { aud: [] });
    await ask("aud obj", { aud: { mayfly: true } });
    await ask("aud prefix", { aud: "mayfly2" });
    await ask("aud list list", { aud: [["mayfly"]] });
    await ask("aud null", { aud: null });
    await ask("exp text", { exp: String(s + 300) });
    await ask("exp null", { exp: null });
    await ask("exp list", { exp: [s + 300] });
    await ask("exp 0", { exp: 0 });
    await ask("nbf far", { nbf: s + 9999 });
    await ask("nbf text", { nbf: "0" });
    await ask("iat far", { iat: s + 9999 });
    await ask("iat text", { iat: "0" });
    await ask("no iat", { iat: undefined });
    await ask("event list", { event_name: ["push", "workflow_run"] });
    await ask("event empty list", { event_name: [] });
    await ask("event obj", { event_name: { a: 1 } });
    await ask("kid proto", {}, { kid: "__proto__" });
    await ask("kid empty", {}, { kid: "" });
    expect(told).toEqual([]);
  });

  it("however keys are served, nobody gets in by them, and it is no 500", async () => {
    const told: unknown[] = [];
    const evil = await generateKeyPair("ES256", { extractable: true });
    const priv = await exportJWK(evil.privateKey);
    const issuer0 = await createIssuer({ url: GITHUB, alg: "ES256" });
    const good = issuer0.jwk();
    const sets: [string, unknown][] = [
      ["null", null], ["list", []], ["keys obj", { keys: {} }], ["keys null", { keys: [null, 1, "a", [], {}] }],
      ["oct", { keys: [{ kty: "oct", k: "AAAA", kid: good.kid }] }],
      ["bad crv", { keys: [{ ...good, crv: "P-999" }] }],
      ["no x", { keys: [{ kty: "EC", kid: good.kid, crv: "P-256" }] }],
      ["x bad", { keys: [{ ...good, x: "!!" }] }],
      ["rsa as ec", { keys: [{ kty: "RSA", kid: good.kid, n: "AA", e: "AQAB" }] }],
      ["enc", { keys: [{ ...good, use: "enc" }] }],
      ["ops", { keys: [{ ...good, key_ops: ["sign"] }] }],
      ["two", { keys: [good, good] }],
      ["two of one kid", { keys: [{ ...good, x: priv.x, y: priv.y }, good] }],
      ["alg", { keys: [{ ...good, alg: "HS256" }] }],
      ["proto", JSON.parse(`{"keys":[],"__proto__":{"keys":[]}}`)],
    ];
    for (const [name, set] of sets) {
      const callers = await createCallers({ configuration: { policies }, issuer: issuer0 });
      issuer0.answer = () => Response.json(set);
      const answer = await callers.mayfly.send("GET", "/v1/whoami", undefined, await callers.sign(githubClaims()));
      const log = lastLog(callers.mayfly) as Record<string, unknown>;
      if (![401, 503].includes(answer.status) || Number(log["statements"]) > 0 || Number(log["fetches"]) > 1) told.push([name, answer.status, answer.text.slice(0, 300)]);
    }
    expect(told).toEqual([]);
  });
});
