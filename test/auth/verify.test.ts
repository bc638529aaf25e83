import { exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { NOW } from "../mayfly.ts";
import { createCallers } from "./callers.ts";
import { AUDIENCE, createIssuer, GITHUB, githubClaims, type TestIssuer } from "./issuer.ts";

const S = NOW / 1000;
const CLAIMS = { iss: GITHUB, aud: AUDIENCE, iat: S, exp: S + 300, ...githubClaims() };
const part = (json: unknown): string =>
  new TextEncoder().encode(JSON.stringify(json)).toBase64({ alphabet: "base64url", omitPadding: true });

let github: TestIssuer;
beforeAll(async () => {
  github = await createIssuer({ url: GITHUB });
});

/** Presents a token that is refused, and says whether the issuer was asked for its keys. */
async function expectUnauthorized(token: string, fields: object): Promise<{ asked: number }> {
  const before = github.asked.length;
  const callers = await createCallers({ issuer: github });
  const answer = await callers.present(token);
  await callers.expectRefused(answer, 401, "unauthorized", fields);
  expect(answer.headers.get("WWW-Authenticate")).toBe("Bearer");
  return { asked: github.asked.length - before };
}

describe("a token of which one thing is wrong is refused for that", () => {
  it.each<[string, Record<string, unknown>, object]>([
    ["for somebody else", { aud: "https://example.com" }, { rule: "`aud` must be mayfly" }],
    [
      "for several others",
      { aud: ["a", "mayfly2"] },
      { rule: "`aud` must be mayfly", detail: "This token is made for somebody else: a, mayfly2." },
    ],
    ["for nobody", { aud: undefined }, { rule: "`aud` is required" }],
    ["that has ended", { exp: S - 31 }, { rule: "`exp` must lie ahead" }],
    ["without an end", { exp: undefined }, { rule: "`exp` is required" }],
    ["whose end is text", { exp: "never" }, { rule: "`exp` must be a number" }],
    ["without a beginning", { iat: undefined }, { rule: "`iat` is required" }],
    ["whose beginning is text", { iat: "now" }, { rule: "`iat` must be a number" }],
    ["that was made in the future", { iat: S + 31 }, { rule: "`iat` must not lie ahead" }],
    ["that is not valid yet", { nbf: S + 31 }, { rule: "`nbf` must not lie ahead" }],
    ["without a repository's id", { repository_id: undefined }, { rule: "`repository_id` is required" }],
    [
      "whose repository's id is a name",
      { repository_id: "octo/repo" },
      { rule: "`repository_id` must be a number of at most 18 digits" },
    ],
    [
      "whose repository's id is a list",
      { repository_id: ["74"] },
      { rule: "`repository_id` must be text or a number" },
    ],
    [
      "whose repository's id is too long",
      { repository_id: "1".repeat(19) },
      { rule: "`repository_id` must be a number of at most 18 digits" },
    ],
    ["without a run's id", { run_id: undefined }, { rule: "`run_id` is required" }],
    ["whose run's id has a dot", { run_id: "9.main" }, { rule: "`run_id` must be a number of at most 18 digits" }],
  ])("one %s", async (_what, claims, fields) => {
    await expectUnauthorized(await github.sign(githubClaims(claims), NOW), fields);
  });

  it("one of an issuer that is not configured, of which nothing is fetched", async () => {
    for (const iss of ["https://evil.example", `${GITHUB}/`, GITHUB.toUpperCase(), "", "x".repeat(2000)]) {
      const { asked } = await expectUnauthorized(await github.sign(githubClaims({ iss }), NOW), {
        rule: "`iss` must be the url of a configured issuer, letter by letter",
      });
      expect(asked).toBe(0);
    }
  });

  it("one that nobody has signed, for which nothing is fetched", async () => {
    const { asked } = await expectUnauthorized(new UnsecuredJWT(CLAIMS).encode(), {
      detail: "Tokens that are signed with the algorithm none are not taken.",
    });
    expect(asked).toBe(0);
  });

  it("one that is signed with the public key as if it were a secret, for which nothing is fetched", async () => {
    const publicKey = await importJWK(github.jwk(), "RS256", { extractable: true });
    if (publicKey instanceof Uint8Array) throw new Error("a public key is no secret");
    const secret = new TextEncoder().encode(await exportSPKI(publicKey));
    const header = { alg: "HS256", kid: github.jwk().kid ?? "" };
    const token = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(secret);
    const { asked } = await expectUnauthorized(token, {
      detail: "Tokens that are signed with the algorithm HS256 are not taken.",
    });
    expect(asked).toBe(0);
  });

  it("one that is no JWT, for which nothing is fetched", async () => {
    const { alg, kid } = github.jwk();
    for (const token of [
      "eyJ..",
      `${part({ alg, kid })}.${part(CLAIMS)}x.AAAA`,
      `${part({ alg, kid })}.${part([])}.AAAA`,
      `${part({ kid })}.${part(CLAIMS)}.AAAA`,
      `${part({ alg: 7, kid })}.${part(CLAIMS)}.AAAA`,
      `${part({ alg, kid })}.${part({ ...CLAIMS, iss: undefined })}.AAAA`,
      `${part({ alg, kid })}.${part({ ...CLAIMS, iss: [GITHUB] })}.AAAA`,
    ]) {
      const { asked } = await expectUnauthorized(token, { detail: "This token is no JWT that can be read." });
      expect(asked).toBe(0);
    }
  });

  it("one that says a key which the issuer does not have", async () => {
    const token = await github.sign(githubClaims(), NOW, { kid: "nobody's" });
    await expectUnauthorized(token, { rule: "`kid` must be a key's" });
  });

  it("one that another has signed under the issuer's key's name", async () => {
    const { privateKey } = await generateKeyPair("RS256");
    const header = { alg: "RS256", kid: github.jwk().kid ?? "" };
    const token = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(privateKey);
    await expectUnauthorized(token, { detail: "The signature of this token is not right." });
  });

  it("one whose claims were changed after it was signed", async () => {
    const [header, , signature] = (await github.sign(githubClaims(), NOW)).split(".");
    const token = [header, part({ ...CLAIMS, repository_id: "75" }), signature].join(".");
    await expectUnauthorized(token, { detail: "The signature of this token is not right." });
  });

  it("one that demands what is not understood", async () => {
    const { alg, kid } = github.jwk();
    const token = [part({ alg, kid, crit: ["new"], new: true }), part(CLAIMS), "AAAA"].join(".");
    await expectUnauthorized(token, {
      rule: "must be a JWT (RFC 7519) that is signed with a key of its algorithm and of a sufficient length",
    });
  });
});

describe("what a token says and nobody vouches for", () => {
  it("is repeated in an answer up to 200 characters", async () => {
    const callers = await createCallers({ issuer: github });
    const long = `https://${"x".repeat(3000)}`;
    for (const token of [
      await callers.sign(githubClaims({ iss: long })),
      await callers.sign(githubClaims({ aud: long })),
      `${part({ alg: long })}.${part(CLAIMS)}.AAAA`,
    ]) {
      const { status, text } = await callers.present(token);
      expect(status).toBe(401);
      expect(text).toContain("x".repeat(100));
      expect(text).not.toContain("x".repeat(200));
    }
  });
});

describe("a token is taken", () => {
  it("while two clocks are half a minute apart, one way or the other", async () => {
    const callers = await createCallers({ issuer: github });
    expect((await callers.ask(githubClaims({ exp: S - 29 }))).status).toBe(201);
    expect((await callers.ask(githubClaims({ iat: S + 29, nbf: S + 30 }))).status).toBe(200);
  });

  it("for one audience among several", async () => {
    const callers = await createCallers({ issuer: github });
    expect((await callers.ask(githubClaims({ aud: ["other", AUDIENCE] }))).status).toBe(201);
  });

  it.each(["RS512", "PS256", "ES384", "ES512", "EdDSA"])("with a signature by %s", async (alg) => {
    const issuer = await createIssuer({ url: GITHUB, alg });
    const callers = await createCallers({ issuer });
    expect((await callers.ask(githubClaims())).status).toBe(201);
  });

  it("without the name of a key where the issuer has only one that fits", async () => {
    const callers = await createCallers({ issuer: github });
    const token = await github.sign(githubClaims(), NOW, { kid: undefined });
    expect((await callers.present(token)).status).toBe(201);

    const several = await createCallers({ issuer: await createIssuer({ url: GITHUB }) });
    const keys = [github.jwk(), { ...github.jwk(), kid: "another" }];
    several.issuer.answer = () => Response.json({ keys });
    const answer = await several.present(token);
    expect(answer).toMatchObject({ status: 401, body: { rule: "`kid` must say which key it is signed with" } });
  });
});

describe("the audience", () => {
  const named = { name: "forge", url: "https://forge.example", kind: "github", audience: "forge-only" } as const;
  const policies = [{ name: "one", issuer: "forge", claims: { repository_id: "74" } }];

  it("is the issuer's own where its entry says one, and then no other", async () => {
    const issuer = await createIssuer({ url: named.url, jwksUri: `${named.url}/keys`, alg: "ES256" });
    const callers = await createCallers({ issuer, configuration: { issuers: [named], policies } });
    expect(await callers.ask(githubClaims())).toMatchObject({
      status: 401,
      body: { rule: "`aud` must be forge-only" },
    });
    expect((await callers.ask(githubClaims({ aud: "forge-only" }))).status).toBe(201);
  });

  it("is never the host that was called, nor anything, where none is set", async () => {
    const callers = await createCallers({ issuer: github, configuration: {}, settings: { OIDC_AUDIENCE: "" } });
    const before = github.asked.length;
    for (const aud of ["localhost", "http://localhost", "", undefined])
      await callers.expectRefused(await callers.ask(githubClaims({ aud })), 401, "unauthorized", {
        next: "An admin sets OIDC_AUDIENCE, and writes a policy.",
      });
    expect(github.asked).toHaveLength(before);
  });
});
