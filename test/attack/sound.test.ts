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

describe("minting", () => {
  it("three at once under one key: one token, one of the secrets counts", async () => {
    const mayfly = createMayfly();
    const all = await Promise.all(
      [1, 2, 3].map(() =>
        mayfly.send("POST", "/v1/tokens", { owner: "ann" }, mayfly.bindings.ADMIN_TOKEN, { "Idempotency-Key": "k" }),
      ),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    const ids = new Set(all.map((one) => mintedIn(one).id));
    expect(ids.size).toBe(1);
    const works = [];
    for (const one of all) works.push((await mayfly.send("GET", "/v1/whoami", undefined, mintedIn(one).secret)).status);
    expect(works.filter((status) => status === 200)).toHaveLength(1);
  });
  it("two at once under one key with other bodies", async () => {
    const mayfly = createMayfly();
    const all = await Promise.all(
      ["ann", "bob"].map((owner) =>
        mayfly.send("POST", "/v1/tokens", { owner }, mayfly.bindings.ADMIN_TOKEN, { "Idempotency-Key": "k" }),
      ),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 409]);
  });
});

describe("whatever a body says", () => {
  const odd = ["\ud800", "\u0000", "a\u0000b", "__proto__", "constructor", "toString", "", " ", "\u2028", "𝟜", "x".repeat(70000), "%s", "null"];
  it("is no 500", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "default", server_types: ["*"], images: ["**"] }], profiles: { small: BODY } });
    const bad: unknown[] = [];
    const tryOne = async (method: string, path: string, body: unknown) => {
      const answer = await mayfly.send(method, path, body);
      if (answer.status >= 500) bad.push([method, path, JSON.stringify(body).slice(0, 200), answer.status, answer.text.slice(0, 200)]);
    };
    for (const text of odd) {
      for (const key of ["server_type", "region", "arch", "image", "profile", "ttl", "cloud_init", "keep_on_failure"])
        await tryOne("PUT", "/v1/machines/box", { ...BODY, [key]: text });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, image: { label_selector: text } });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, labels: { a: text } });
      await tryOne("PUT", "/v1/machines/box", JSON.stringify({ ...BODY, labels: { [text]: "a" } }));
      await tryOne("PUT", "/v1/machines/box", { ...BODY, ssh_keys: [text] });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, ssh_keys: [`ssh-ed25519 ${text}`] });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, firewalls: [text] });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, networks: [{ ip_range: text }] });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: text }] }] });
      await tryOne("PUT", "/v1/machines/box", { ...BODY, firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: "22", source_ips: [text] }] }] });
      await tryOne("POST", "/v1/firewalls", { name: text, deny_all: true });
      await tryOne("POST", "/v1/networks", { name: "n", ip_range: text, region: text });
      await tryOne("POST", "/v1/ssh_keys", { name: "n", public_key: text });
      await tryOne("POST", "/v1/tokens", { owner: text });
      await tryOne("POST", "/v1/tokens", { owner: "a", policy: text });
      await tryOne("POST", "/v1/tokens", { owner: "a", note: text });
      await tryOne("POST", "/v1/machines/none/renew", { ttl: text });
      await tryOne("POST", "/v1/holds/" + encodeURIComponent(text.slice(0, 100).toWellFormed()) + "/release", undefined);
      await tryOne("DELETE", "/v1/tokens/" + encodeURIComponent(text.slice(0, 100).toWellFormed()), undefined);
      await tryOne("GET", "/v1/whoami?owner=" + encodeURIComponent(text.slice(0, 100).toWellFormed()), undefined);
      await tryOne("GET", "/v1/machines?label_selector=" + encodeURIComponent(text.slice(0, 100).toWellFormed()), undefined);
    }
    for (const body of ["[".repeat(120000), '{"a":'.repeat(50000), "[]", "null", "1", '"x"', "{\"server_type\":[[\"a\"]]}"])
      for (const [method, path] of [["PUT", "/v1/machines/box"], ["POST", "/v1/teardown"], ["POST", "/v1/tokens"], ["POST", "/v1/firewalls"], ["POST", "/v1/sweeps"]] as const)
        await tryOne(method, path, body);
    expect(bad).toEqual([]);
  });
});
describe("needs_firewall", () => {
  it.each([0, 1])("holds where another firewall is agreed to and then fails (advance %i)", async (wait) => {
    const mayfly = createMayfly({}, { policies: [{ name: "default", needs_firewall: true }] });
    for (const name of ["web", "ssh"]) await mayfly.send("POST", "/v1/firewalls", { name, rules: [{ direction: "in", protocol: "tcp", port: "22" }] });
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"] });
    mayfly.advance(MINUTE);
    await mayfly.tick();
    mayfly.simulator.fault({ method: "POST", path: "actions/apply_to_resources$", action_error: true });
    const applied = await mayfly.send("POST", "/v1/firewalls/ssh/apply_to_resources", { machines: ["box"] });
    if (wait) mayfly.advance(1000);
    const removed = await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] });
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect([applied.status, removed.status, servers(mayfly).map(({ public_net }) => public_net.firewalls?.length)]).toMatchObject([expect.anything(), 403, [1]]);
  });
});

describe("over the rate", () => {
  it("a create that was cut off is ended by the sweep on its owner's word", async () => {
    const mayfly = createMayfly(LOCAL);
    const ann = await mayfly.tokenOf("ann");
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, ann)).status).toBe(503);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) });
    expect((await mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, ann)).status).toBe(202);
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
    const { results } = await mayfly.bindings.DB.prepare("SELECT phase FROM machines").all();
    expect(["destroyed", "failed"]).toContain(results[0]?.["phase"]);
  });
});

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
