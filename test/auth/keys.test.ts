import { afterEach, describe, expect, it, vi } from "vitest";
import { MINUTE, SECOND } from "../mayfly.ts";
import { createCallers, POLICIES } from "./callers.ts";
import { createIssuer, GITHUB, githubClaims } from "./issuer.ts";

afterEach(() => {
  vi.useRealTimers();
});

const FORGE = { name: "forge", url: "https://forge.example", kind: "github" } as const;
const FORGE_POLICIES = [{ name: "one", issuer: "forge", claims: { repository_id: "74" } }];

/** mayfly and an issuer of which only the url is known. */
async function createDiscovered(url: string = FORGE.url) {
  const issuer = await createIssuer({ url, jwksUri: `${FORGE.url}/keys`, alg: "ES256" });
  return createCallers({ issuer, configuration: { issuers: [{ ...FORGE, url }], policies: FORGE_POLICIES } });
}

/** GitHub's tokens are taken, those of repository 74 not. */
const STRANGE = { policies: [{ name: "one", issuer: "github", claims: { repository_id: "1" } }] };

describe("an issuer's keys", () => {
  it("are fetched once for all tokens of ten minutes, and then anew", async () => {
    const callers = await createCallers({});
    const ask = async () => (await callers.ask(githubClaims())).status;
    expect(await ask()).toBe(201);
    for (let call = 0; call < 5; call++) expect(await ask()).toBe(200);
    callers.mayfly.advance(10 * MINUTE - 1);
    expect(await ask()).toBe(200);
    expect(callers.issuer.asked).toEqual(["/.well-known/jwks"]);
    callers.mayfly.advance(1);
    expect(await ask()).toBe(200);
    expect(callers.issuer.asked).toHaveLength(2);
  });

  it("are counted among what the request has sent out", async () => {
    const callers = await createCallers({ configuration: STRANGE });
    for (const fetches of [1, 0]) {
      await callers.ask(githubClaims());
      expect(callers.mayfly.logs.at(-1)).toMatchObject({ event: "request", fetches });
    }
  });

  it("are fetched once more for one that is new: a rotated key is taken, and the old one no longer", async () => {
    const callers = await createCallers({});
    const old = await callers.sign(githubClaims());
    expect((await callers.present(old)).status).toBe(201);
    await callers.issuer.rotate();
    callers.mayfly.advance(30 * SECOND);
    expect((await callers.present(old)).status).toBe(200);
    expect(callers.issuer.asked).toHaveLength(1);
    expect((await callers.ask(githubClaims())).status).toBe(200);
    expect(callers.issuer.asked).toHaveLength(2);
    expect(await callers.present(old)).toMatchObject({ status: 401, body: { rule: "`kid` must be a key's" } });
  });

  it("are not fetched for every key that somebody invents: a flood costs one fetch in half a minute", async () => {
    const callers = await createCallers({});
    const flood = async () => {
      for (let call = 0; call < 10; call++) {
        const token = await callers.issuer.sign(githubClaims(), callers.mayfly.now(), { kid: `invented-${call}` });
        expect((await callers.present(token)).status).toBe(401);
      }
    };
    await flood();
    expect(callers.issuer.asked).toHaveLength(1);
    callers.mayfly.advance(30 * SECOND);
    await flood();
    expect(callers.issuer.asked).toHaveLength(2);
  });

  it("are not asked for by more than 20 requests at once; the others are told to come back", async () => {
    const callers = await createCallers({ configuration: STRANGE });
    const token = await callers.sign(githubClaims());
    const answers = await Promise.all(Array.from({ length: 30 }, () => callers.present(token)));
    const statuses = answers.map(({ status }) => status);
    expect(callers.issuer.asked).toHaveLength(20);
    expect(statuses.filter((status) => status === 503)).toHaveLength(10);
    expect(statuses.filter((status) => status === 403)).toHaveLength(20);
    callers.mayfly.advance(10 * MINUTE);
    expect((await callers.ask(githubClaims())).status).toBe(403);
    expect(callers.issuer.asked).toHaveLength(21);
    // Once they are known, those go by them who may not ask.
    callers.mayfly.advance(10 * MINUTE);
    const later = await callers.sign(githubClaims());
    const all = await Promise.all(Array.from({ length: 30 }, () => callers.present(later)));
    expect(callers.issuer.asked).toHaveLength(41);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([403]));
  });

  it("stay those that were asked for last, where an older answer comes later", async () => {
    const callers = await createCallers({});
    const late = Promise.withResolvers<Response>();
    const keys = { keys: [callers.issuer.jwk()] };
    callers.issuer.answer = () => late.promise;
    const first = callers.ask(githubClaims());
    await vi.waitUntil(() => callers.issuer.asked.length > 0);
    callers.issuer.answer = undefined;
    callers.mayfly.advance(SECOND);
    await callers.issuer.rotate();
    expect((await callers.ask(githubClaims())).status).toBe(201);
    late.resolve(Response.json(keys));
    expect((await first).status).toBe(200);
    expect((await callers.ask(githubClaims())).status).toBe(200);
    expect(callers.issuer.asked).toHaveLength(2);
  });

  it("are not mixed up: an issuer's token is not verified with another's key of the same name", async () => {
    const forge = await createIssuer({ url: FORGE.url, alg: "ES256" });
    const github = await createIssuer({ url: GITHUB, alg: "ES256" });
    const callers = await createCallers({
      issuer: { ...github, hosts: { ...github.hosts, ...forge.hosts } },
      configuration: { issuers: [FORGE], policies: [...POLICIES, ...FORGE_POLICIES] },
    });
    expect((await callers.ask(githubClaims())).status).toBe(201);
    expect((await callers.present(await forge.sign(githubClaims(), callers.mayfly.now()))).status).toBe(201);
    const claims = githubClaims({ iss: GITHUB });
    const forged = await forge.sign(claims, callers.mayfly.now());
    expect(await callers.present(forged)).toMatchObject({ status: 401, body: { rule: "must be signed by github" } });
  });

  it("are not mixed up either where no entry says where they are", async () => {
    const farm = { ...FORGE, name: "farm", url: "https://farm.example" };
    const issuers = [FORGE, farm];
    const [one, other] = await Promise.all(issuers.map(({ url }) => createIssuer({ url, alg: "ES256" })));
    if (one === undefined || other === undefined) throw new Error("there are two");
    const policies = issuers.map(({ name }) => ({ name, issuer: name, claims: { repository_id: "74" } }));
    const callers = await createCallers({
      issuer: { ...one, hosts: { ...one.hosts, ...other.hosts } },
      configuration: { issuers, policies },
    });
    expect((await callers.ask(githubClaims())).status).toBe(201);
    const forged = await one.sign(githubClaims({ iss: farm.url }), callers.mayfly.now());
    expect(await callers.present(forged)).toMatchObject({ status: 401, body: { rule: "must be signed by farm" } });
    expect((await callers.present(await other.sign(githubClaims(), callers.mayfly.now()))).status).toBe(201);
  });
});

describe("an issuer that does not serve its keys", () => {
  const hung = (request: Request): Promise<Response> =>
    new Promise((_, reject) => {
      request.signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  /** What the platform answers: of a redirect that it was told to follow, what is there. */
  const elsewhere = ({ redirect }: Request): Response =>
    redirect === "manual" ? Response.redirect("https://evil.example/keys", 302) : Response.json({ keys: [] });
  const endless = (): Response =>
    new Response(
      new ReadableStream({
        type: "bytes",
        pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024).fill(32)),
      }),
    );

  it.each<[string, (request: Request) => Response | Promise<Response>, string]>([
    ["fails", () => new Response("no", { status: 500 }), "answered with the status 500"],
    ["has none there", () => new Response("no", { status: 404 }), "answered with the status 404"],
    ["sends elsewhere", elsewhere, "answered with the status 302"],
    ["answers no JSON", () => new Response("<html>"), "answered what is no JSON"],
    ["answers nothing", () => new Response(""), "answered what is no JSON"],
    ["answers other JSON", () => Response.json([]), "answered what cannot be read (body)"],
    ["answers no list", () => Response.json({ keys: "none" }), "answered what cannot be read (keys)"],
    ["answers without end", endless, "answered with more than 262144 bytes"],
    ["cannot be reached", () => Promise.reject(new TypeError("connection refused")), "could not be reached"],
  ])("%s: 503, and for ten seconds nobody asks again", async (_what, answer, why) => {
    const callers = await createCallers({});
    callers.issuer.answer = answer;
    const refused = async () =>
      callers.expectRefused(await callers.ask(githubClaims()), 503, "issuer_unavailable", {
        detail: `The keys of github cannot be had: it ${why}.`,
      });
    await refused();
    callers.issuer.answer = undefined;
    callers.mayfly.advance(10 * SECOND - 1);
    await refused();
    expect(callers.issuer.asked).toHaveLength(1);
    callers.mayfly.advance(1);
    const answered = await callers.ask(githubClaims());
    expect(answered.status).toBe(201);
    expect(callers.issuer.asked).toHaveLength(2);
  });

  it("hangs: 503 after five seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const callers = await createCallers({});
    callers.issuer.answer = hung;
    const asking = callers.ask(githubClaims());
    await vi.waitUntil(() => callers.issuer.asked.length > 0);
    vi.advanceTimersByTime(5_000);
    await callers.expectRefused(await asking, 503, "issuer_unavailable", {
      detail: "The keys of github cannot be had: it did not answer in time.",
    });
    expect(callers.issuer.asked).toHaveLength(1);
  });

  it("stops nobody whose key was known within the hour; who shows another comes back", async () => {
    const callers = await createCallers({});
    expect((await callers.ask(githubClaims())).status).toBe(201);
    callers.issuer.answer = () => new Response("no", { status: 500 });
    for (const wait of [10 * MINUTE, SECOND, 50 * MINUTE - SECOND - 1]) {
      callers.mayfly.advance(wait);
      expect((await callers.ask(githubClaims())).status).toBe(200);
      const token = await callers.issuer.sign(githubClaims(), callers.mayfly.now(), { kid: "another" });
      expect(await callers.present(token)).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
    }
    // Asked at 10 and at 60 minutes, once each: whoever came in between went by what was known.
    expect(callers.issuer.asked).toHaveLength(3);
    callers.mayfly.advance(1);
    expect(await callers.ask(githubClaims())).toMatchObject({ status: 503, body: { code: "issuer_unavailable" } });
    callers.issuer.answer = undefined;
    callers.mayfly.advance(10 * SECOND);
    const token = await callers.sign(githubClaims());
    expect((await callers.mayfly.send("GET", "/v1/whoami", undefined, token)).status).toBe(200);
  });

  it("and then serves others has those, and the old ones count no more", async () => {
    const callers = await createCallers({});
    const old = await callers.issuer.sign(
      githubClaims({ exp: callers.mayfly.now() / 1000 + 3600 }),
      callers.mayfly.now(),
    );
    expect((await callers.present(old)).status).toBe(201);
    callers.issuer.answer = () => new Response("no", { status: 500 });
    callers.mayfly.advance(10 * MINUTE);
    expect((await callers.present(old)).status).toBe(200);
    callers.issuer.answer = undefined;
    await callers.issuer.rotate();
    callers.mayfly.advance(10 * SECOND);
    expect(await callers.present(old)).toMatchObject({ status: 401, body: { rule: "`kid` must be a key's" } });
    expect((await callers.ask(githubClaims())).status).toBe(200);
  });

  it("says when to come back", async () => {
    const callers = await createCallers({});
    callers.issuer.answer = () => new Response("no", { status: 500 });
    expect((await callers.ask(githubClaims())).headers.get("Retry-After")).toBe("10");
  });

  it("harms nobody whose key is known: a flood of unknown ones meanwhile fails by itself", async () => {
    const callers = await createCallers({});
    expect((await callers.ask(githubClaims())).status).toBe(201);
    callers.issuer.answer = () => new Response("no", { status: 500 });
    callers.mayfly.advance(MINUTE);
    for (let call = 0; call < 3; call++) {
      const token = await callers.issuer.sign(githubClaims(), callers.mayfly.now(), { kid: "invented" });
      expect((await callers.present(token)).status).toBe(503);
      expect((await callers.ask(githubClaims())).status).toBe(200);
    }
    expect(callers.issuer.asked).toHaveLength(2);
  });

  it("serves others beside them, which are passed over", async () => {
    const callers = await createCallers({});
    const secret = { kty: "oct", k: "c2VjcmV0", kid: callers.issuer.jwk().kid };
    callers.issuer.answer = () => Response.json({ keys: [7, {}, secret, { kty: "AKP" }, callers.issuer.jwk()] });
    expect((await callers.ask(githubClaims())).status).toBe(201);
  });
});

describe("an issuer whose entry does not say where its keys are", () => {
  it("says so itself, in its discovery document", async () => {
    const callers = await createDiscovered();
    expect((await callers.ask(githubClaims())).status).toBe(201);
    expect((await callers.ask(githubClaims())).status).toBe(200);
    expect(callers.issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  it("is asked below its own path, whether or not its url ends with a slash", async () => {
    const callers = await createDiscovered("https://forge.example/_services/token/");
    expect((await callers.ask(githubClaims())).status).toBe(201);
    expect(callers.issuer.asked).toEqual(["/_services/token/.well-known/openid-configuration", "/keys"]);
  });

  it.each<[string, object, string]>([
    [
      "calls itself otherwise",
      { issuer: "https://evil.example", jwks_uri: "https://forge.example/keys" },
      "calls itself otherwise in its discovery document",
    ],
    [
      "differs in a slash",
      { issuer: "https://forge.example/", jwks_uri: "https://forge.example/keys" },
      "calls itself otherwise in its discovery document",
    ],
    [
      "has keys that come in the clear",
      { issuer: FORGE.url, jwks_uri: "http://forge.example/keys" },
      "answered what cannot be read (jwks_uri)",
    ],
    [
      "has keys on this machine",
      { issuer: FORGE.url, jwks_uri: "http://127.0.0.1/keys" },
      "answered what cannot be read (jwks_uri)",
    ],
    [
      "has keys that are a file",
      { issuer: FORGE.url, jwks_uri: "file:///keys" },
      "answered what cannot be read (jwks_uri)",
    ],
    ["has no keys", { issuer: FORGE.url }, "answered what cannot be read (jwks_uri)"],
  ])("and that %s is not believed: 503, and no key is fetched", async (_what, document, why) => {
    const callers = await createDiscovered();
    callers.issuer.answer = () => Response.json(document);
    await callers.expectRefused(await callers.ask(githubClaims()), 503, "issuer_unavailable", {
      detail: `The keys of forge cannot be had: it ${why}.`,
    });
    expect(callers.issuer.asked).toEqual(["/.well-known/openid-configuration"]);
  });
});
