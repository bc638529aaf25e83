import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { serveSimulator, type SimulatorServer } from "../../scripts/simulator-server.ts";
import { startStack, type Stack } from "../../scripts/stack.ts";
import { createIssuer, githubClaims, type TestIssuer } from "../auth/issuer.ts";
import { refuseForbidden, watchRequest } from "../driven-simulator.ts";

/** Issuers that serve no keys, by the first part of their path, and what they do instead. */
const FAULTY: Record<string, () => Response> = {
  redirecting: () => Response.redirect("http://127.0.0.1:1/keys", 302),
  halting: () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode("{")) })),
  endless: () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536)) })),
};

describe("a CI job without a secret, whose forge is on a real socket", () => {
  let server: SimulatorServer;
  let issuer: TestIssuer;
  let stack: Stack;
  const faultyAsked: string[] = [];

  async function serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const faulty = FAULTY[pathname.split("/")[1] ?? ""];
    if (faulty === undefined) return issuer.fetch(request);
    faultyAsked.push(pathname);
    return faulty();
  }

  beforeAll(async () => {
    server = await serveSimulator({ fetch: serve }, 0);
    issuer = await createIssuer({ url: server.url });
    const faulty = Object.keys(FAULTY).map((name) => ({ name, url: `${server.url}/${name}`, kind: "github" }));
    stack = await startStack({
      settings: {
        ADMIN_TOKEN: "e2e-admin",
        HCLOUD_TOKEN: "e2e-hcloud",
        INSTALLATION: "local",
        OIDC_AUDIENCE: "mayfly",
        ISSUERS: JSON.stringify([{ name: "forge", url: server.url, kind: "github" }, ...faulty]),
        POLICIES: JSON.stringify([
          { name: "main", issuer: "forge", claims: { repository_id: "74", ref: "refs/heads/main" } },
          ...faulty.map(({ name }) => ({
            name,
            issuer: name,
            claims: { repository_id: "74" },
          })),
        ]),
      },
      onRequest: watchRequest,
    });
  });
  afterEach(refuseForbidden);
  afterAll(async () => {
    await stack.stop();
    await server.close();
  });

  async function ask(name: string, claims: Record<string, unknown>, now = Date.now()) {
    const response = await fetch(`${stack.url}/v1/machines/${name}`, {
      method: "PUT",
      headers: { Authorization: `Bearer ${await issuer.sign(claims, now)}` },
      body: JSON.stringify({ server_type: "cx23", region: "fsn1" }),
    });
    const body: unknown = await response.json();
    return { status: response.status, body };
  }
  const countServers = (): number | undefined => stack.simulator?.controls.state().servers.length;

  it("gets a machine by its token, and the same again; its keys are found and fetched once", async () => {
    const before = countServers() ?? 0;
    expect(await ask("box", githubClaims())).toMatchObject({
      status: 201,
      body: { machine: { owner: expect.stringMatching(/^gh\.[0-9a-f]{8}\.74\.9001$/) as unknown } },
    });
    expect((await ask("box", githubClaims({ run_attempt: "2" }))).status).toBe(200);
    expect(countServers()).toBe(before + 1);
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  it("is one of many at once, who all get the one machine", async () => {
    const before = countServers() ?? 0;
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask("shared", githubClaims())));
    expect(answers.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
    expect(countServers()).toBe(before + 1);
  });

  it("is refused with the reason, and costs nothing", async () => {
    const before = countServers();
    expect(await ask("none", githubClaims({ ref: "refs/heads/other" }))).toMatchObject({
      status: 403,
      body: { code: "forbidden", policy: "main", rule: "`ref` must be refs/heads/main" },
    });
    expect(await ask("none", githubClaims({ aud: "other" }))).toMatchObject({
      status: 401,
      body: { code: "unauthorized", rule: "`aud` must be mayfly" },
    });
    expect(await ask("none", githubClaims(), Date.now() - 3_600_000)).toMatchObject({
      status: 401,
      body: { code: "unauthorized", rule: "`exp` must lie ahead" },
    });
    expect(countServers()).toBe(before);
  });

  it.each([
    ["redirecting", "it answered with the status 302."],
    ["halting", "it did not answer in time."],
    ["endless", "it answered with more than 262144 bytes."],
  ])("is told to come back while its forge is %s", async (name, why) => {
    faultyAsked.length = 0;
    const claims = githubClaims({ iss: `${server.url}/${name}` });
    const refusal = {
      status: 503,
      body: { code: "issuer_unavailable", detail: `The keys of ${name} cannot be had: ${why}` },
    };
    expect(await ask("none", claims)).toMatchObject(refusal);
    expect(await ask("none", claims)).toMatchObject(refusal);
    expect(faultyAsked).toEqual([`/${name}/.well-known/openid-configuration`]);
  });
});
