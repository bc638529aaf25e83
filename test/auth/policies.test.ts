import { describe, expect, it } from "vitest";
import { readDeployment } from "../../src/deployment.ts";
import { Misconfigured } from "../../src/machine/misconfigured.ts";

const FORGE = { name: "forge", url: "https://forge.example", id_claim: "team" };
const FARM = { name: "farm", url: "https://farm.example", kind: "github" };

/** What is wrong with a configuration, by the entry that is named; null where it is taken. */
function faultOf(configuration: object): { key: string; rule: string } | null {
  try {
    readDeployment({ issuers: [FORGE, FARM], ...configuration }, false);
    return null;
  } catch (error) {
    if (error instanceof Misconfigured) return { key: error.key, rule: error.rule };
    throw error;
  }
}
const faultIn = (issuer: string, claims: unknown) =>
  faultOf({ policies: [{ name: "one", issuer, ...(claims === undefined ? {} : { claims }) }] });

describe("a policy that would take strangers is refused when it is read", () => {
  const SPELT_OUT = "must be spelt out, without `*`";
  const DIGITS = "must be a number of at most 18 digits";
  it.each<[string, unknown, string, string]>([
    ["github", { repository_id: "*" }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_id: "**" }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_id: "7*" }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_id: ["74", "*"] }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_id: [74, "7*", "75"] }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_owner_id: "65", repository_id: "*" }, "claims.repository_id", SPELT_OUT],
    ["github", { repository_owner_id: "*", repository_id: "74" }, "claims.repository_owner_id", SPELT_OUT],
    ["github", { repository_id: "octo-org/octo-repo" }, "claims.repository_id", DIGITS],
    ["github", { repository_id: " " }, "claims.repository_id", DIGITS],
    ["github", { repository_id: " 74" }, "claims.repository_id", DIGITS],
    ["github", { repository_id: "074" }, "claims.repository_id", DIGITS],
    ["github", { repository_id: -74 }, "claims.repository_id", DIGITS],
    ["github", { repository_id: 7.4 }, "claims.repository_id", DIGITS],
    ["github", { repository_id: true }, "claims.repository_id", DIGITS],
    ["farm", { repository_id: "?" }, "claims.repository_id", DIGITS],
    ["gitlab", { project_id: "2*" }, "claims.project_id", SPELT_OUT],
    ["gitlab", { namespace_id: ["72", "my-group"] }, "claims.namespace_id", DIGITS],
    ["forge", { team: "*" }, "claims.team", SPELT_OUT],
    ["forge", { team: ["blue", "r*"] }, "claims.team", SPELT_OUT],
    ["forge", { team: " " }, "claims.team", "must not be blank"],
  ])("%s with %j", (issuer, claims, field, rule) => {
    expect(faultIn(issuer, claims)).toEqual({ key: `policies.one.${field}`, rule });
  });

  it.each<[string, unknown]>([
    ["github", {}],
    ["github", undefined],
    ["github", { repository: "octo-org/octo-repo" }],
    ["github", { repository_owner: "octo-org", ref: "refs/heads/main" }],
    ["github", { sub: "repo:octo-org@65/octo-repo@74:ref:refs/heads/main" }],
    ["github", { project_id: "74" }],
    ["gitlab", { repository_id: "74" }],
    ["gitlab", { project_path: "my-group/my-project" }],
    ["forge", { repository_id: "74" }],
    ["forge", { sub: "somebody" }],
  ])("%s with %j, which names no id that stays", (issuer, claims) => {
    const fault = faultIn(issuer, claims);
    expect(fault?.key).toBe("policies.one.claims");
    expect(fault?.rule).toMatch(/^must have .*: a name can pass to somebody else$/);
  });

  it.each<[unknown, string]>([
    [{ repository_id: "" }, "must not be empty"],
    [{ repository_id: ["74", ""] }, "must not be empty"],
    [{ repository_id: [] }, "must name at least one value"],
    [{ repository_id: null }, "must be a value or a list of values"],
    [{ repository_id: { any: "74" } }, "must be a value or a list of values"],
    [{ repository_id: 2 ** 53 }, "must stand in quotes: numbers of that size are not told apart"],
    [{ repository_id: [2 ** 53] }, "must stand in quotes: numbers of that size are not told apart"],
  ])("github with %j, which is no value", (claims, rule) => {
    const fault = faultIn("github", claims);
    expect(fault?.key).toMatch(/^policies\.one\.claims\.repository_id(\.\d)?$/);
    expect(fault?.rule).toBe(rule);
  });

  it("without an issuer but with claims, which nobody would compare", () => {
    expect(faultOf({ policies: [{ name: "one", claims: { repository_id: "74" } }] })?.key).toBe("policies.one.claims");
  });

  it("of an issuer whose callers its id_claim does not tell apart", () => {
    for (const id_claim of ["iss", "aud", "exp", "iat", "nbf", "jti"])
      expect(faultOf({ issuers: [{ ...FORGE, id_claim }] })).toMatchObject({ key: "issuers.forge.id_claim" });
    expect(faultOf({ issuers: [{ name: FORGE.name, url: FORGE.url }] })).toEqual({
      key: "issuers.forge.id_claim",
      rule: "is required without a kind: the claim that tells callers apart and never passes to another",
    });
  });
});

describe("a policy that names who it means", () => {
  it.each<[string, unknown]>([
    ["github", { repository_id: "74" }],
    ["github", { repository_id: [74, "75"], ref: "**" }],
    ["github", { repository_owner_id: 65, repository: "octo-org/*" }],
    ["farm", { repository_id: "999999999999999999" }],
    ["gitlab", { namespace_id: "72", project_path: "my-group/**" }],
    ["forge", { team: ["blue", "red team"], sub: "*" }],
    ["forge", { team: 7 }],
  ])("%s with %j is taken", (issuer, claims) => {
    expect(faultIn(issuer, claims)).toBeNull();
  });
});
