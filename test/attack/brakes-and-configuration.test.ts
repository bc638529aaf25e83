import { describe, expect, it } from "vitest";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { identifyClaims } from "../../src/auth/oidc.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, LOCAL, MINUTE, minutes, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const count = async (mayfly: Mayfly, table: string) =>
  (await mayfly.bindings.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<{ n: number }>())?.n;

describe("evidence", () => {
  it("says who it is where the issuer's id is the subject", async () => {
    const { issuers, policies } = readDeployment(
      {
        issuers: [{ name: "google", url: "https://accounts.google.com", id_claim: "sub", audience: "m" }],
        policies: [{ name: "nightly", issuer: "google", claims: { sub: ["1045", "1046"] } }],
      },
      false,
    );
    const issuer = issuers.find(({ name }) => name === "google");
    if (issuer === undefined) throw new Error("no issuer");
    const found = await identifyClaims(issuer, { sub: "1045" }, policies);
    expect(found).toMatchObject({ ok: true, principal: { evidence: { claims: { sub: "1045" } } } });
  });
});

describe("a configuration that says undefined", () => {
  const entry = { name: "a", issuer: "github", claims: { repository_id: "74" } };
  it.each([
    ["a claim", { policies: [{ ...entry, claims: { repository_id: "74", ref: undefined } }] }],
    ["server_types", { policies: [{ ...entry, server_types: undefined }] }],
    ["may", { policies: [{ ...entry, may: undefined }] }],
    ["longest", { policies: [{ ...entry, longest: undefined }] }],
    ["needs_firewall", { policies: [{ ...entry, needs_firewall: undefined }] }],
    ["policies", { policies: undefined }],
    ["a whole policy", { policies: [undefined, entry] }],
    ["an audience", { issuers: [{ name: "x", url: "https://x.example", kind: "gitlab", audience: undefined }] }],
  ])("where something was meant is refused: %s", (_, given) => {
    expect(() => readDeployment(given as unknown as Configuration, false)).toThrow();
  });
});
