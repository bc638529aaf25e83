import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../answers.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, mintedIn, refusing, type Answer, type Mayfly } from "../mayfly.ts";

const BODIES: Readonly<Record<string, unknown>> = {
  "PUT /v1/machines/{ref}": BODY,
  "POST /v1/machines": BODY,
  "POST /v1/machines/{ref}/renew": { ttl: "30m" },
  "POST /v1/machines/{ref}/attach_to_network": { network: "box" },
  "POST /v1/ssh_keys": {
    name: "box",
    public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGCmyZkZ0Jm2yGqZ3p1N3mVb8y2hH3S1p7eYV9l7fJ8Z",
  },
  "POST /v1/firewalls": { name: "box", deny_all: true },
  "POST /v1/firewalls/{ref}/apply_to_resources": { machines: ["box"] },
  "POST /v1/firewalls/{ref}/remove_from_resources": { machines: ["box"] },
  "POST /v1/networks": { name: "box", ip_range: "10.0.0.0/16", region: "fsn1" },
  "POST /v1/networks/{ref}/add_route": { destination: "0.0.0.0/0", gateway: "10.0.0.2" },
  "POST /v1/teardown": {},
  "POST /v1/reap": { label_selector: "a", older_than: "1s" },
  "POST /v1/tokens": { owner: "alice" },
};
const QUERIES: Readonly<Record<string, string>> = {
  "DELETE /v1/machines": "?label_selector=a%3Db",
  "GET /v1/pricing": "?region=fsn1&server_type=cx23",
};
const NO_TOKEN = new Set(["GET /healthz", "POST /v1/hooks/{hook}"]);

type More = Parameters<Mayfly["send"]>;

/** One call of each operation; `createMayfly` holds each answer against the document and the rules for all. */
async function callAll(
  mayfly: Mayfly,
  { token = env.ADMIN_TOKEN, body }: { token?: string | null; body?: unknown } = {},
): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  for (const { method, path } of OPERATIONS) {
    const name = `${method} ${path}`;
    const target = path.replace(/\{\w+\}/, path.includes("/holds/") ? "blast_cap" : "box") + (QUERIES[name] ?? "");
    const sent: More[2] = method === "GET" ? undefined : (body ?? BODIES[name]);
    answers.set(name, await mayfly.send(method, target, sent, token));
  }
  return answers;
}

/** What those were answered that are not of these. */
const codesOf = (answers: Map<string, Answer>, without: (name: string) => boolean = () => false) =>
  new Set(
    [...answers].flatMap(([name, { status, body }]) =>
      without(name) || typeof body !== "object" || body === null ? [] : [`${status} ${Reflect.get(body, "code")}`],
    ),
  );
const isOpen = (name: string) => NO_TOKEN.has(name);
const isHealth = (name: string) => name === "GET /healthz";

describe("every call, whatever it is answered, is kept by nobody, has an id, and says when to come back where it must", () => {
  it("when all is well", async () => {
    const answers = await callAll(createMayfly());
    expect([...answers.values()].filter(({ status }) => status < 300).length).toBeGreaterThan(20);
  });

  it("without a token, and with a wrong one", async () => {
    for (const token of [null, "wrong", `${env.ADMIN_TOKEN}x`])
      expect(codesOf(await callAll(createMayfly(), { token }), isOpen)).toEqual(new Set(["401 unauthorized"]));
  });

  it("with a token that is no admin's", async () => {
    const mayfly = createMayfly();
    const answers = await callAll(mayfly, { token: await mayfly.tokenOf("bob") });
    const forbidden = [...answers].filter(([, { status }]) => status === 403).map(([name]) => name);
    expect(forbidden.sort()).toEqual([
      "DELETE /v1/tokens/{id}",
      "GET /v1/hooks",
      "GET /v1/sweeps",
      "GET /v1/tokens",
      "POST /v1/holds/{hold}/release",
      "POST /v1/sweeps",
      "POST /v1/tokens",
    ]);
  });

  it("over the rate of its address, and of its account", async () => {
    const byAddress = createMayfly();
    byAddress.configure({ ADDRESS_BRAKE: brakeOn(byAddress.now, 0) });
    byAddress.callFrom("203.0.113.7");
    expect(codesOf(await callAll(byAddress))).toContain("429 limit_rate");
    const byAccount = createMayfly();
    byAccount.configure({ ACCOUNT_BRAKE: brakeOn(byAccount.now, 0) });
    expect(codesOf(await callAll(byAccount))).toContain("429 limit_rate");
  });

  it("while the configuration cannot be used", async () => {
    const answers = await callAll(createMayfly({ MAX_AGE: "long" }));
    expect(codesOf(answers, isHealth)).toEqual(new Set(["503 misconfigured"]));
    expect(answers.get("GET /healthz")?.status).toBe(503);
  });

  it("while the database refuses, and while it is full", async () => {
    const refused = createMayfly();
    refused.configure({ DB: refusing(refused.bindings.DB, /./) });
    expect(codesOf(await callAll(refused))).toContain("503 store_unavailable");
    const full = createMayfly();
    full.configure({ DB: refusing(full.bindings.DB, /INSERT/, "database or disk is full") });
    expect(codesOf(await callAll(full))).toContain("507 store_full");
  });

  it("while the provider is down, refuses the token, or is at its limits", async () => {
    for (const [fault, code] of [
      [{ status: 503, code: "unavailable" }, "503 provider_unavailable"],
      [{ status: 401, code: "unauthorized" }, "503 provider_unauthorized"],
      [{ status: 429, code: "rate_limit_exceeded" }, "503 provider_unavailable"],
      [{ status: 403, code: "resource_limit_exceeded" }, "503 provider_quota"],
    ] as const) {
      const mayfly = createMayfly();
      mayfly.simulator.fault({ ...fault, message: "no", times: 999 });
      expect(codesOf(await callAll(mayfly)), code).toContain(code);
    }
  });

  it("with a body that is too large, or no JSON, or nothing that it takes", async () => {
    const large = codesOf(await callAll(createMayfly(), { body: "x".repeat(1_100_000) }));
    expect(large).toContain("413 too_large");
    const broken = codesOf(await callAll(createMayfly(), { body: "{" }));
    expect(broken).toContain("400 malformed");
    const odd = codesOf(await callAll(createMayfly(), { body: { odd: true } }));
    expect(odd).toContain("422 invalid_input");
  });

  it("when it goes to no path that is served, or comes by a method that the path does not take", async () => {
    const mayfly = createMayfly();
    for (const path of ["/", "/v1", "/v1/nothing", "/openapi.json/x"])
      expect((await mayfly.send("GET", path)).status).toBe(404);
    for (const { path } of OPERATIONS)
      expect((await mayfly.send("PATCH", path.replace(/\{\w+\}/, "box"))).status).toBe(405);
  });

  it("when it shows a secret, which then stands in its body alone", async () => {
    const mayfly = createMayfly();
    const key = { "Idempotency-Key": "one-and-the-same-key" };
    for (const status of [201, 200]) {
      const answer = await mayfly.send("POST", "/v1/tokens", { owner: "alice" }, env.ADMIN_TOKEN, key);
      expect(answer.status).toBe(status);
      expect(JSON.stringify([...answer.headers])).not.toContain(mintedIn(answer).secret);
    }
  });
});
