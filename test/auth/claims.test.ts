import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimsThatCount, judgeClaims, nearestOf, type Claims } from "../../src/auth/claims.ts";
import { BUILT_IN_ISSUERS, type Issuer } from "../../src/auth/issuers.ts";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { githubClaims, gitlabClaims } from "./issuer.ts";

type Policies = NonNullable<Configuration["policies"]>;
const OTHER = { name: "forge", url: "https://forge.example", id_claim: "team" };

const issuerNamed = (name: string): Issuer => {
  const { issuers } = readDeployment({ issuers: [OTHER] }, false);
  const issuer = issuers.find((one) => one.name === name);
  if (issuer === undefined) throw new Error(`there is no issuer ${name}`);
  return issuer;
};
const read = (policies: Policies) => readDeployment({ policies, issuers: [OTHER] }, false).policies;
const judged = (policies: Policies, claims: Claims, issuer = "github") =>
  judgeClaims(read(policies), issuerNamed(issuer), claims);
/** What fails of one policy whose id holds. */
const failedOf = (claims: Policies[number]["claims"], token: Claims, more: object = {}) =>
  judged([{ name: "one", issuer: "github", claims: { repository_id: "74", ...claims }, ...more }], token)[0]?.failed;

describe("a policy's claims", () => {
  it("must all hold, each by a value or one of a list, spelt out or by a pattern", () => {
    const token = githubClaims({ ref: "refs/heads/release/1.2" });
    expect(failedOf({}, token)).toBeNull();
    expect(failedOf({ ref: "refs/heads/release/*" }, token)).toBeNull();
    expect(failedOf({ ref: ["refs/heads/main", "refs/heads/**"] }, token)).toBeNull();
    expect(failedOf({ ref: "refs/heads/*" }, token)).toEqual({
      claim: "ref",
      value: "refs/heads/release/1.2",
      wanted: "refs/heads/*",
    });
    expect(failedOf({ actor: "octocat", ref: ["refs/heads/main", "refs/heads/v*"] }, token)).toEqual({
      claim: "ref",
      value: "refs/heads/release/1.2",
      wanted: "one of refs/heads/main, refs/heads/v*",
    });
  });

  it("equal numbers and truth values of the token, and of the policy, by their text", () => {
    expect(failedOf({ repository_id: 74 }, githubClaims())).toBeNull();
    expect(failedOf({}, githubClaims({ repository_id: 74 }))).toBeNull();
    expect(failedOf({ ref_protected: true }, githubClaims())).toBeNull();
    expect(failedOf({ ref_protected: "true" }, githubClaims({ ref_protected: true }))).toBeNull();
    expect(failedOf({ ref_protected: true }, githubClaims({ ref_protected: false }))).toMatchObject({ value: "false" });
  });

  it("hold by one element where the token's claim is a list, and never by an object", () => {
    expect(failedOf({ groups: "admins" }, githubClaims({ groups: ["users", "admins"] }))).toBeNull();
    expect(failedOf({ groups: "7" }, githubClaims({ groups: [7] }))).toBeNull();
    expect(failedOf({ groups: "admins" }, githubClaims({ groups: ["users"] }))).toMatchObject({ value: '["users"]' });
    expect(failedOf({ groups: "**" }, githubClaims({ groups: [{ name: "admins" }] }))).toMatchObject({
      claim: "groups",
    });
    expect(failedOf({ groups: "**" }, githubClaims({ groups: { admins: true } }))).toMatchObject({ claim: "groups" });
  });

  it("never hold where the token has none, whatever the pattern", () => {
    for (const environment of [undefined, null, []])
      expect(failedOf({ environment: "**" }, githubClaims({ environment }))).toMatchObject({ claim: "environment" });
    expect(failedOf({ constructor: "**" }, githubClaims())).toEqual({
      claim: "constructor",
      value: null,
      wanted: "**",
    });
  });

  it("tell no two numbers apart that JSON cannot: such an id holds nowhere", () => {
    const policy = { name: "one", issuer: "github", claims: { repository_id: "9007199254740992" } };
    const token = (id: string): Claims => {
      const repository_id: unknown = JSON.parse(id);
      return githubClaims({ repository_id });
    };
    expect(judged([policy], token("9007199254740993"))[0]?.failed).toMatchObject({ claim: "repository_id" });
    expect(judged([policy], token('"9007199254740992"'))[0]?.failed).toBeNull();
  });

  it("are judged in the order of policies, those of the token's issuer alone", () => {
    const judgements = judged(
      [
        { name: "lab", issuer: "gitlab", claims: { project_id: "20" } },
        { name: "tags", issuer: "github", claims: { repository_id: "74", ref_type: "tag" } },
        { name: "any", issuer: "github", claims: { repository_id: "74" } },
      ],
      githubClaims(),
    );
    expect(judgements.map(({ policy, failed }) => [policy.name, failed?.claim ?? null])).toEqual([
      ["tags", "ref_type"],
      ["any", null],
    ]);
  });
});

describe("an event in which a fork's code may run", () => {
  it.each(["pull_request_target", "workflow_run", undefined, ["push", "workflow_run"]])(
    "%j fits only a policy that says so",
    (event_name) => {
      expect(failedOf({}, githubClaims({ event_name }))).toMatchObject({ claim: "event_name" });
      expect(failedOf({ event_name: "*" }, githubClaims({ event_name }))).toMatchObject({ claim: "event_name" });
      expect(failedOf({}, githubClaims({ event_name }), { privileged_events: true })).toBeNull();
    },
  );

  it("is none of the others, and none of GitLab's", () => {
    for (const event_name of ["push", "pull_request", "schedule", "workflow_dispatch"])
      expect(failedOf({}, githubClaims({ event_name }))).toBeNull();
    const lab = { name: "lab", issuer: "gitlab", claims: { project_id: "20" } };
    expect(judged([lab], gitlabClaims(), "gitlab")[0]?.failed).toBeNull();
  });
});

describe("the nearest policy", () => {
  const nearest = (policies: Policies, claims: Claims) => nearestOf(judged(policies, claims));

  it("is the one whose id holds, however many claims of another do", () => {
    const found = nearest(
      [
        { name: "far", issuer: "github", claims: { repository_id: "1", ref: "**", actor: "*", workflow: "*" } },
        { name: "near", issuer: "github", claims: { environment: "prod", repository_id: "74" } },
      ],
      githubClaims(),
    );
    expect(found).toMatchObject({ policy: { name: "near" }, isMeant: true, failed: { claim: "environment" } });
  });

  it("is of those that mean the caller the one of which most holds, of equals the first", () => {
    const found = nearest(
      [
        { name: "less", issuer: "github", claims: { repository_id: "74", actor: "nobody" } },
        { name: "more", issuer: "github", claims: { actor: "*", repository_id: "74", ref: "no" } },
        { name: "equal", issuer: "github", claims: { repository_id: "74", actor: "octocat", environment: "*" } },
      ],
      githubClaims(),
    );
    expect(found).toMatchObject({ policy: { name: "more" }, isMeant: true, failed: { claim: "ref" } });
  });

  it("is the first where none means the caller, whatever else holds, and an id is what fails", () => {
    const policies = [
      { name: "first", issuer: "github", claims: { actor: "nobody", repository_id: "1" } },
      { name: "more", issuer: "github", claims: { actor: "octocat", repository_id: "1", ref: "**" } },
    ];
    const found = nearest(policies, githubClaims());
    expect(found).toMatchObject({ policy: { name: "first" }, isMeant: false, failed: { claim: "repository_id" } });
    const half = (actor: string) => ({ actor, repository_id: "1", repository_owner_id: "65" });
    const halves = [
      { name: "first", issuer: "github", claims: half("nobody") },
      { name: "more", issuer: "github", claims: half("octocat") },
    ];
    expect(nearest(halves, githubClaims())).toMatchObject({
      policy: { name: "first" },
      heldIds: 1,
      failed: { claim: "repository_id" },
    });
  });

  it("is nobody's where of two ids one alone holds: the owner's other repositories are strangers", () => {
    const both = { name: "both", issuer: "github", claims: { repository_owner_id: "65", repository_id: "75" } };
    expect(nearest([both], githubClaims())).toMatchObject({ isMeant: false, heldIds: 1 });
  });

  it("is null where the issuer has no policy", () => {
    expect(nearest([], githubClaims())).toBeNull();
  });
});

describe("the claims that count", () => {
  it("are those that a policy of GitHub's is written from, as text, and no others", () => {
    const token = githubClaims({ environment: "prod" });
    expect(claimsThatCount([], issuerNamed("github"), token)).toEqual({
      sub: "repo:octo-org@65/octo-repo@74:ref:refs/heads/main",
      repository: "octo-org/octo-repo",
      repository_id: "74",
      repository_owner_id: "65",
      ref: "refs/heads/main",
      ref_type: "branch",
      workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
      job_workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
      event_name: "push",
      environment: "prod",
      actor: "octocat",
      run_id: "9001",
      run_attempt: "1",
    });
  });

  it("are GitLab's own", () => {
    expect(claimsThatCount([], issuerNamed("gitlab"), gitlabClaims())).toEqual({
      sub: "project_path:my-group/my-project:ref_type:branch:ref:main",
      namespace_id: "72",
      project_id: "20",
      project_path: "my-group/my-project",
      ref: "main",
      ref_type: "branch",
      ref_protected: "true",
      pipeline_id: "574",
      pipeline_source: "push",
      user_login: "sample-user",
    });
  });

  it("are of another issuer its subject, its id, and what its policies name", () => {
    const policies = read([
      { name: "a", issuer: "forge", claims: { team: "blue", branch: "main" } },
      { name: "b", issuer: "github", claims: { repository_id: "74", actor: "x" } },
    ]);
    const token = { sub: "s", team: "blue", branch: ["main", 7], actor: "x", more: 1 };
    expect(claimsThatCount(policies, issuerNamed("forge"), token)).toEqual({
      sub: "s",
      team: "blue",
      branch: '["main",7]',
    });
  });

  it("are cut to 200 characters", () => {
    const { ref = "" } = claimsThatCount([], issuerNamed("github"), githubClaims({ ref: "r".repeat(5000) }));
    expect(ref).toHaveLength(200);
    expect(ref.startsWith("rrr")).toBe(true);
  });
});

describe("whatever a token of GitHub's says", () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.string()),
    fc.object(),
  );
  const [github] = BUILT_IN_ISSUERS;

  it("no policy takes another repository, nor the same one by its name", () => {
    const policies = read([{ name: "one", issuer: "github", claims: { repository_id: "74", ref: "**" } }]);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value), fc.string(), (claims, id) => {
        fc.pre(id !== "74" && github !== undefined);
        const judgements = judgeClaims(policies, github, { ...githubClaims(), ...claims, repository_id: id });
        expect(judgements.every(({ failed }) => failed?.claim === "repository_id")).toBe(true);
      }),
    );
  });
});
