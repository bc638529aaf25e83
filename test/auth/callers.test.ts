import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { identify } from "../../src/auth/identify.ts";
import { identifyClaims } from "../../src/auth/oidc.ts";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { isLabelValue } from "../../src/machine/labels.ts";
import { isOwner } from "../../src/machine/name.ts";
import { openStore } from "../../src/store/store.ts";
import { machineIn, machinesIn, NOW, refusing, servers } from "../mayfly.ts";
import { createCallers, POLICIES } from "./callers.ts";
import { AUDIENCE, createIssuer, GITHUB, githubClaims, GITLAB, gitlabClaims } from "./issuer.ts";

type Policy = NonNullable<Configuration["policies"]>[number];
const ENTRIES = {
  farm: { name: "farm", url: "https://farm.example", jwks: "https://farm.example/keys", kind: "github" },
  lab: { name: "lab", url: "https://lab.example", jwks: "https://lab.example/keys", kind: "gitlab" },
  forge: { name: "forge", url: "https://forge.example", jwks: "https://forge.example/keys", id_claim: "team" },
} as const;
const urlOf = (name: string): string =>
  name === "github" ? GITHUB : name === "gitlab" ? GITLAB : `https://${name}.example`;

/** mayfly with one policy, and its issuer. */
const callersOf = async (policy: Omit<Policy, "name">) =>
  createCallers({
    issuer: await createIssuer({ url: urlOf(policy.issuer ?? ""), alg: "ES256" }),
    configuration: { issuers: Object.values(ENTRIES), policies: [{ name: "one", ...policy }] },
  });

describe("a job of GitHub's", () => {
  it("has a machine under its run and its repository, and a re-run of that run has the same", async () => {
    const callers = await createCallers({ issuer: await createIssuer({ url: GITHUB }) });
    const made = await callers.ask(githubClaims());
    expect(made.status).toBe(201);
    expect(machineIn(made)).toMatchObject({ owner: "gh.74.9001", account: "gh.74" });
    expect(servers(callers.mayfly)).toHaveLength(1);
    expect(servers(callers.mayfly)[0]).toMatchObject({ labels: { "mayfly-owner": "gh.74.9001" } });

    const rerun = await callers.sign(githubClaims({ run_attempt: "2", jti: "another" }));
    const seen = machinesIn(await callers.mayfly.send("GET", "/v1/machines", undefined, rerun));
    expect(seen.map(({ id }) => id)).toEqual([machineIn(made).id]);
    expect((await callers.present(rerun)).status).toBe(200);
    expect((await callers.mayfly.send("DELETE", "/v1/machines/box", undefined, rerun)).status).toBe(200);
    expect(servers(callers.mayfly)).toEqual([]);
  });

  it("sees nothing of another run's, whether of its own repository or not, and does nothing that an admin does", async () => {
    const callers = await createCallers({});
    expect((await callers.ask(githubClaims())).status).toBe(201);
    const other = await callers.sign(githubClaims({ run_id: "9002" }));
    expect(machinesIn(await callers.mayfly.send("GET", "/v1/machines", undefined, other))).toEqual([]);
    expect((await callers.mayfly.send("GET", "/v1/machines/box", undefined, other)).status).toBe(404);
    expect((await callers.mayfly.send("GET", "/v1/machines?owner=gh.74.9001", undefined, other)).status).toBe(403);
    expect((await callers.mayfly.send("POST", "/v1/tokens", { owner: "a" }, other)).status).toBe(403);
  });

  it("is in the log by its owner, and its token is in no log, no row and no answer", async () => {
    const callers = await createCallers({});
    const token = await callers.sign(githubClaims());
    const answer = await callers.present(token);
    expect(callers.mayfly.logs.at(-1)).toMatchObject({ event: "request", principal: "gh.74.9001" });
    const { results } = await callers.mayfly.bindings.DB.prepare("SELECT * FROM machines").all();
    const told = JSON.stringify([results, callers.mayfly.logs, callers.mayfly.simulator.requests()]) + answer.text;
    expect(told).not.toContain(token.split(".")[1]);
    expect(told).not.toContain(token.split(".")[2]);
  });
});

describe("a job of GitLab's", () => {
  it("has a machine under its pipeline and its project, and another job of that pipeline has the same", async () => {
    const issuer = await createIssuer({ url: GITLAB });
    const configuration = {
      policies: [{ name: "lab", issuer: "gitlab", claims: { project_id: 20, ref_protected: true } }],
    };
    const callers = await createCallers({ issuer, configuration });
    const made = await callers.ask(gitlabClaims());
    expect(made.status).toBe(201);
    expect(machineIn(made)).toMatchObject({ owner: "gl.e7be96a5.20.574", account: "gl.e7be96a5.20" });
    const retried = await callers.sign(gitlabClaims({ job_id: "303" }));
    expect(machinesIn(await callers.mayfly.send("GET", "/v1/machines", undefined, retried))).toMatchObject([
      { name: "box" },
    ]);
    const unprotected = await callers.ask(gitlabClaims({ ref_protected: "false" }));
    expect(unprotected).toMatchObject({
      status: 403,
      body: {
        policy: "lab",
        rule: "`ref_protected` must be true",
        claims: { ref_protected: "false", project_id: "20" },
      },
    });
  });
});

describe("the owner and the account", () => {
  const cases: [string, Omit<Policy, "name">, Record<string, unknown>, string, string][] = [
    ["of a run", { issuer: "github", claims: { repository_id: "74" } }, githubClaims(), "gh.74.9001", "gh.74"],
    [
      "of a repository",
      { issuer: "github", claims: { repository_id: "74" }, owner: "repository" },
      githubClaims(),
      "gh.74.one",
      "gh.74",
    ],
    [
      "of a run, counted by the policy",
      { issuer: "github", claims: { repository_owner_id: "65" }, account: "policy" },
      githubClaims(),
      "gh.74.9001",
      "pol.one",
    ],
    [
      "of another GitHub's run",
      { issuer: "farm", claims: { repository_id: "74" } },
      githubClaims(),
      "gh.22236f14.74.9001",
      "gh.22236f14.74",
    ],
    [
      "of another GitHub's repository",
      { issuer: "farm", claims: { repository_id: "74" }, owner: "repository" },
      githubClaims(),
      "gh.22236f14.74.one",
      "gh.22236f14.74",
    ],
    [
      "of a project",
      { issuer: "gitlab", claims: { namespace_id: "72" }, owner: "project" },
      gitlabClaims(),
      "gl.e7be96a5.20.one",
      "gl.e7be96a5.20",
    ],
    [
      "of another GitLab's pipeline",
      { issuer: "lab", claims: { project_id: "20" } },
      gitlabClaims(),
      "gl.e17e1e57.20.574",
      "gl.e17e1e57.20",
    ],
    [
      "of an id",
      { issuer: "forge", claims: { team: "Blue Team" } },
      { team: "Blue Team" },
      "id.c8c183e4.11a866af58ff8e2466d1f1b6fb32473c",
      "id.c8c183e4.11a866af58ff8e2466d1f1b6fb32473c",
    ],
    [
      "of an id that is a number",
      { issuer: "forge", claims: { team: 7 } },
      { team: 7 },
      "id.c8c183e4.7902699be42c8a8e46fbbb4501726517",
      "id.c8c183e4.7902699be42c8a8e46fbbb4501726517",
    ],
    [
      "of an id, counted by the policy",
      { issuer: "forge", claims: { team: "blue" }, account: "policy" },
      { team: "blue" },
      "id.c8c183e4.16477688c0e00699c6cfa4497a3612d7",
      "pol.one",
    ],
  ];
  it.each(cases)("%s", async (_what, policy, claims, owner, account) => {
    const callers = await callersOf(policy);
    expect(machineIn(await callers.ask(claims))).toMatchObject({ owner, account });
  });
});

describe("the principal", () => {
  /** Who a token makes of its holder, found out without app and database. */
  async function principalOf(policies: Policy[], claims: Record<string, unknown>, name = "github") {
    const issuer = await createIssuer({ url: urlOf(name), alg: "ES256" });
    const deployment = readDeployment({ issuers: Object.values(ENTRIES), policies }, false);
    const work = {
      now: () => NOW,
      fetch: (input: string, init: RequestInit) => issuer.fetch(new Request(input, init)),
      keys: new Map(),
      store: openStore(refusing(env.DB, /./), () => {}),
    };
    const settings = { ...deployment, adminToken: "admin", authEpoch: "1", audience: AUDIENCE };
    const caller = await identify(await issuer.sign(claims, NOW), work, settings);
    if (!caller.ok) throw new Error(caller.refusal.message);
    return caller.principal;
  }

  it("has the first policy that fits, and shows what it goes by: the claims that count, without the subject", async () => {
    const claims = { repository_id: "74" };
    const { policy, ...principal } = await principalOf(
      [
        { name: "tags", issuer: "github", claims: { ...claims, ref_type: "tag" } },
        { name: "any", issuer: "github", claims },
        { name: "main", issuer: "github", claims: { ...claims, ref: "refs/heads/main" } },
      ],
      githubClaims({ environment: "e".repeat(300) }),
    );
    expect(policy.name).toBe("any");
    expect(principal).toEqual({
      kind: "oidc",
      owner: "gh.74.9001",
      account: "gh.74",
      evidence: {
        by: "oidc",
        issuer: "github",
        claims: {
          repository: "octo-org/octo-repo",
          repository_id: "74",
          repository_owner_id: "65",
          ref: "refs/heads/main",
          ref_type: "branch",
          workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
          job_workflow_ref: "octo-org/octo-repo/.github/workflows/build.yml@refs/heads/main",
          event_name: "push",
          environment: `${"e".repeat(199)}…`,
          actor: "octocat",
          run_id: "9001",
          run_attempt: "1",
        },
      },
      seesAll: false,
    });
  });

  it("shows the subject where that is the issuer's id, and only there", async () => {
    const evident = async (id_claim: string, claims: Record<string, string>) => {
      const entry = { ...ENTRIES.forge, id_claim };
      const { issuers, policies } = readDeployment(
        { issuers: [entry], policies: [{ name: "one", issuer: "forge", claims: { [id_claim]: ["7", "8"] } }] },
        false,
      );
      const issuer = issuers.find(({ name }) => name === "forge");
      if (issuer === undefined) throw new Error("no issuer");
      const caller = await identifyClaims(issuer, claims, policies);
      return caller.ok ? caller.principal.evidence : caller.refusal;
    };
    const evidence = { by: "oidc", issuer: "forge" };
    expect(await evident("sub", { sub: "7" })).toEqual({ ...evidence, claims: { sub: "7" } });
    expect(await evident("team", { sub: "7", team: "8" })).toEqual({ ...evidence, claims: { team: "8" } });
  });

  it("has keys that fit a label and tell all issuers, sources and runs apart, whatever the ids and the policy's name", async () => {
    const id = fc.bigInt({ min: 1n, max: 10n ** 18n - 1n }).map(String);
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/).filter((one) => one !== "default");
    const seen = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("github", "farm", "gitlab", "lab"),
        id,
        id,
        name,
        fc.boolean(),
        async (issuer, source, run, policy, isWide) => {
          const isHub = issuer === "github" || issuer === "farm";
          const { owner, account } = await principalOf(
            [
              isHub
                ? {
                    name: policy,
                    issuer,
                    claims: { repository_id: source },
                    ...(isWide ? { owner: "repository" } : {}),
                  }
                : { name: policy, issuer, claims: { project_id: source }, ...(isWide ? { owner: "project" } : {}) },
            ],
            isHub
              ? githubClaims({ repository_id: source, run_id: run })
              : gitlabClaims({ project_id: source, pipeline_id: run }),
            issuer,
          );
          for (const key of [owner, account]) expect([key, isOwner(key), isLabelValue(key)]).toEqual([key, true, true]);
          const meant = JSON.stringify([issuer, source, isWide ? policy : run]);
          expect(seen.get(owner) ?? meant).toBe(meant);
          seen.set(owner, meant);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("a token that is right and fits no policy is refused, and says why", () => {
  it.each<[string, Record<string, unknown>, object]>([
    [
      "the same repository's name with another id",
      { repository_id: "75" },
      { rule: "`repository_id` must be what the policy names", policy: "main" },
    ],
    [
      "a tag where a branch is wanted",
      { ref: "refs/tags/main", ref_type: "tag" },
      {
        detail: "No policy fits this token. main comes nearest, but for `ref`, which is refs/tags/main.",
        rule: "`ref` must be refs/heads/main",
        policy: "main",
      },
    ],
    [
      "a claim that is missing",
      { ref: undefined },
      {
        detail: "No policy fits this token. main comes nearest, but for `ref`, which is missing.",
        rule: "`ref` must be refs/heads/main",
      },
    ],
    [
      "code of a fork with the repository's rights",
      { event_name: "pull_request_target" },
      {
        detail: "No policy fits this token. main comes nearest, but for `event_name`, which is pull_request_target.",
        rule: "`event_name` must be said, and none of pull_request_target, workflow_run, in which a fork's code may run (privileged_events)",
      },
    ],
    ["the same after a run", { event_name: "workflow_run" }, { policy: "main" }],
    ["no event at all", { event_name: undefined }, { policy: "main" }],
  ])("%s", async (_what, claims, fields) => {
    const callers = await createCallers({});
    const answer = await callers.ask(githubClaims(claims));
    await callers.expectRefused(answer, 403, "forbidden", fields);
    const { claims: shown } = z.object({ claims: z.record(z.string(), z.string()) }).parse(answer.body);
    const { repository_id, ref, event_name } = githubClaims(claims);
    expect(shown).toMatchObject({ iss: GITHUB });
    expect(shown).toMatchObject(
      Object.fromEntries(Object.entries({ repository_id, ref, event_name }).filter(([, one]) => one !== undefined)),
    );
  });

  it("and such an event passes where the policy says so", async () => {
    const policy = { issuer: "github", claims: { repository_id: "74" }, privileged_events: true };
    const callers = await callersOf(policy);
    expect((await callers.ask(githubClaims({ event_name: "pull_request_target" }))).status).toBe(201);
  });

  it("a stranger learns the policies' names and nothing of what they want", async () => {
    const callers = await callersOf({
      issuer: "github",
      claims: { repository_id: ["7401", "7402"], ref: "refs/heads/hidden-*", environment: "hidden" },
    });
    const answer = await callers.ask(githubClaims({ repository_id: "1", ref: "refs/heads/hidden" }));
    await callers.expectRefused(answer, 403, "forbidden", { policy: "one" });
    for (const wanted of ["7401", "7402", "hidden-", '"hidden"']) expect(answer.text).not.toContain(wanted);
  });

  it("a stranger cannot find out by trying what a policy wants, nor can another repository of its owner", async () => {
    const claims = { repository_owner_id: "65", repository_id: "2", environment: "prod-eu-7" };
    const callers = await createCallers({
      configuration: {
        policies: [
          { name: "one", issuer: "github", claims: { repository_owner_id: "65", repository_id: "1" } },
          { name: "deploy", issuer: "github", claims },
          { name: "any", issuer: "github", claims: { repository_owner_id: "3", environment: "prod-eu-7" } },
        ],
      },
    });
    const toldOf = async (source: object, environment: string) => {
      const { body } = await callers.ask(githubClaims({ ...source, environment }));
      return z.object({ policy: z.string(), rule: z.string() }).parse(body);
    };
    for (const [source, claim] of [
      [{ repository_id: "666", repository_owner_id: "66" }, "repository_owner_id"],
      [{ repository_id: "666" }, "repository_id"],
    ] as const)
      for (const environment of ["prod-eu-7", "prod-eu-8"])
        expect(await toldOf(source, environment)).toEqual({
          policy: "one",
          rule: `\`${claim}\` must be what the policy names`,
        });
  });

  it("no policy for the issuer at all", async () => {
    const callers = await createCallers({ configuration: { policies: [{ name: "tokens" }] } });
    const answer = await callers.ask(githubClaims());
    await callers.expectRefused(answer, 403, "forbidden", {
      detail: "No policy takes tokens of github.",
      next: "An admin writes policies into mayfly.config.ts; `npm run policy -- <token>` shows what one can be written from.",
    });
    expect(answer.body).not.toHaveProperty("policy");
    expect(answer.body).not.toHaveProperty("claims");
    // Nobody is asked for keys, so that a token that nobody has signed costs no more.
    expect(callers.issuer.asked).toEqual([]);
    expect((await callers.present(`${(await callers.sign(githubClaims())).slice(0, -6)}AAAAAA`)).status).toBe(403);
    expect(callers.issuer.asked).toEqual([]);
  });

  it("a policy of another issuer with the same ids", async () => {
    const issuer = await createIssuer({ url: ENTRIES.farm.url, alg: "ES256" });
    const callers = await createCallers({ issuer, configuration: { issuers: [ENTRIES.farm], policies: POLICIES } });
    const answer = await callers.ask(githubClaims());
    await callers.expectRefused(answer, 403, "forbidden", { detail: "No policy takes tokens of farm." });
    expect(answer.body).not.toHaveProperty("policy");
  });

  it("a pattern as id: the whole configuration is refused, and nobody gets in", async () => {
    const policies = [{ name: "main", issuer: "github", claims: { repository_id: "*" } }];
    const callers = await createCallers({ configuration: { policies } });
    await callers.expectRefused(await callers.ask(githubClaims()), 503, "misconfigured");
    expect(callers.issuer.asked).toEqual([]);
  });
});

describe("what a policy says besides", () => {
  it("holds for a job as for a token: a machine that it forbids is not made", async () => {
    const callers = await callersOf({ issuer: "github", claims: { repository_id: "74" }, server_types: ["cx33"] });
    const answer = await callers.ask(githubClaims());
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden", policy: "one", field: "server_type" } });
    expect(callers.mayfly.simulator.requests()).toEqual([]);
  });
});
