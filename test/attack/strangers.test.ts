import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { guardRequest, hear, takeLeaks } from "../canaries.ts";
import { createCallers } from "../auth/callers.ts";
import { createIssuer, GITHUB, githubClaims, GITLAB, gitlabClaims } from "../auth/issuer.ts";
import { BODY, createMayfly, mintedIn, MINUTE, servers } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };

describe("a token that is revoked with destroy", () => {
  it("takes everything with it that its owner has, however much, or says that there is more", async () => {
    const mayfly = createMayfly();
    const { id, secret } = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
    await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, secret);
    const row = await env.DB.prepare("SELECT * FROM resources").first<Record<string, unknown>>();
    if (row === null) throw new Error("no row");
    const columns = Object.keys(row);
    const copies = Array.from({ length: 520 }, (_, i) => ({
      ...row, uid: `10000000-0000-4000-8000-${String(i).padStart(12, "0")}`, name: `k${i}`, provider_name: `k${i}`, provider_id: String(900000 + i), spec: JSON.stringify({ kind: "ssh_key", publicKey: `ssh-ed25519 AAAA${i}` }),
    })) as Record<string, unknown>[];
    await env.DB.batch(copies.map((one) => env.DB.prepare(`INSERT INTO resources (${columns.join(",")}) VALUES (${columns.map(() => "?").join(",")})`).bind(...columns.map((c) => one[c]))));
    const answer = await mayfly.send("DELETE", `/v1/tokens/${id}?destroy=true`);
    const left = await env.DB.prepare("SELECT count(*) AS n FROM resources WHERE delete_requested_at IS NULL").first<{ n: number }>();
    expect([answer.status, left]).toEqual([202, { n: 0 }]);
  });
});

describe("a JWT", () => {
  it("that was made ten years ago for twenty years is not taken", async () => {
    const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
    const callers = await createCallers({ issuer });
    const s = Math.floor(callers.mayfly.now() / 1000);
    const year = 31_536_000;
    const answer = await callers.ask(githubClaims({ iat: s - 10 * year, nbf: s - 10 * year, exp: s + 10 * year }));
    expect(answer.status).toBe(401);
  });
});

