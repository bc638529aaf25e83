import { describe, expect, it } from "vitest";
import { BUILT_IN_ISSUERS } from "../src/auth/issuers.ts";
import { MAKEABLE, policyEntry } from "../src/auth/policy.ts";
import { readConfig } from "../src/config.ts";
import { createDeployments, defineConfig, readDeployment, verifyDeployment } from "../src/deployment.ts";
import { createCallers } from "./auth/callers.ts";
import { createIssuer, gitlabClaims } from "./auth/issuer.ts";
import { BODY, createMayfly, HOUR, LOCAL, minutes, servers } from "./mayfly.ts";
import { refusalOf } from "./misconfigured.ts";

/** Every value that could be a secret contains it. */
const CANARY = "canary";
const CI = { name: "ci", issuer: "github", claims: { repository_id: "1" } };
const FORGE = { name: "forge", url: "https://forge.example", id_claim: "sub" };
const GITLAB = { issuer: "gitlab", claims: { project_id: "1" } };
const OTHER = { issuer: "forge", claims: { sub: "a" } };

const PROFILE_KEYS =
  "server_type, region, arch, image, ttl, labels, cloud_init, enable_ipv4, enable_ipv6, keep_on_failure, " +
  "ssh_keys, firewalls, networks";

const read = (given: unknown, mayBeLocal = false) => readDeployment(given, mayBeLocal);

describe("an empty configuration", () => {
  it("has the two issuers that are always there, and nothing else", () => {
    expect(read({})).toEqual({
      policies: [],
      profiles: new Map(),
      issuers: BUILT_IN_ISSUERS,
      hooks: new Map(),
    });
    expect(read({ policies: [], profiles: {}, issuers: [] })).toEqual(read({}));
  });

  it("lends as it always did: to the admin and to minted tokens, without a limit on what they name", async () => {
    const mayfly = createMayfly({}, {});
    const token = await mayfly.tokenOf("alice");
    const body = { ...BODY, cloud_init: "#cloud-config", ttl: "24h" };
    expect((await mayfly.send("PUT", "/v1/machines/hers", body, token)).status).toBe(201);
    expect((await mayfly.send("PUT", "/v1/machines/admins", body)).status).toBe(201);
  });
});

describe("what is written is read", () => {
  it("of a policy, with its defaults", () => {
    const [policy] = read({ policies: [{ name: "people" }] }).policies;
    expect(policy).toEqual({
      name: "people",
      source: "policies[0] in mayfly.config.ts",
      issuer: null,
      claims: {},
      hasWideOwner: false,
      hasOwnAccount: false,
      takesPrivilegedEvents: false,
      may: MAKEABLE,
      longestMs: null,
      serverTypes: null,
      regions: null,
      images: null,
      profiles: null,
      onlyProfiles: false,
      takesCloudInit: true,
      existing: { firewall: [], network: [] },
      needsFirewall: false,
      mostMachines: null,
      mostMicroEurPerHour: null,
      mostMicroEurPerMonth: null,
      takesUnknownPrice: false,
    });
  });

  it("of a policy, every field", () => {
    const configuration = defineConfig({
      profiles: { small: {} },
      policies: [
        { name: "first" },
        {
          name: "ci",
          issuer: "github",
          claims: { repository_id: 712, ref: ["refs/heads/main", "refs/tags/*"], ref_protected: true },
          owner: "repository",
          account: "policy",
          privileged_events: true,
          may: ["machines"],
          longest: "2h",
          server_types: ["cx*"],
          regions: ["fsn1"],
          images: ["debian-*"],
          profiles: ["small"],
          firewalls: ["id:4711", "id:4712"],
          networks: ["id:815"],
          only_profiles: true,
          cloud_init: false,
          needs_firewall: true,
          machines: 5,
          eur_per_hour: 0.5,
          eur_per_month: 12.34,
          unknown_price: true,
        },
      ],
    });
    expect(read(configuration).policies[1]).toEqual({
      name: "ci",
      source: "policies[1] in mayfly.config.ts",
      issuer: "github",
      claims: { repository_id: ["712"], ref: ["refs/heads/main", "refs/tags/*"], ref_protected: ["true"] },
      hasWideOwner: true,
      hasOwnAccount: true,
      takesPrivilegedEvents: true,
      may: ["machines"],
      longestMs: 2 * HOUR,
      serverTypes: ["cx*"],
      regions: ["fsn1"],
      images: ["debian-*"],
      profiles: ["small"],
      existing: { firewall: ["4711", "4712"], network: ["815"] },
      onlyProfiles: true,
      takesCloudInit: false,
      needsFirewall: true,
      mostMachines: 5,
      mostMicroEurPerHour: 500_000,
      mostMicroEurPerMonth: 12_340_000,
      takesUnknownPrice: true,
    });
  });

  it("of a policy without a number of machines, that of `default`", () => {
    const { policies } = read({
      policies: [{ name: "people" }, { name: "few", machines: 1 }, { name: "default", machines: 3 }],
    });
    expect(policies.map(({ mostMachines }) => mostMachines)).toEqual([3, 1, 3]);
  });

  it("of a policy without a limit in euro, those of `default`", () => {
    const { policies } = read({
      policies: [
        { name: "few", eur_per_hour: 0 },
        { name: "default", eur_per_hour: 2, eur_per_month: 3 },
      ],
    });
    expect(policies.map((one) => [one.mostMicroEurPerHour, one.mostMicroEurPerMonth])).toEqual([
      [0, 3_000_000],
      [2_000_000, 3_000_000],
    ]);
  });

  it("of a profile, in the words of a create", () => {
    const small = { server_type: "cx23", region: ["fsn1", "nbg1"], ttl: "30m", cloud_init: "#cloud-config" };
    expect(read({ profiles: { small } }).profiles.get("small")).toMatchObject({
      serverTypes: ["cx23"],
      regions: ["fsn1", "nbg1"],
      ttl: "30m",
      cloudInit: "#cloud-config",
    });
  });

  it("of an issuer, beside the two that are always there", () => {
    const own = {
      name: "own",
      url: "https://gitlab.example",
      kind: "gitlab",
      audience: "here",
      jwks: "https://k.example",
    };
    expect(read({ issuers: [FORGE, own] }).issuers).toEqual([
      ...BUILT_IN_ISSUERS,
      { name: "forge", url: "https://forge.example", jwks: null, audience: null, kind: "other", idClaim: "sub" },
      {
        name: "own",
        url: "https://gitlab.example",
        jwks: "https://k.example",
        audience: "here",
        kind: "gitlab",
        idClaim: null,
      },
    ]);
  });

  it.each([
    { ...CI, claims: { repository_owner_id: "9" } },
    { ...CI, claims: { repository_owner_id: ["9", "10"], repository: "acme/*" } },
    { ...CI, claims: { repository_owner_id: "9", repository_id: 1 } },
    { ...CI, owner: "run", account: "repository" },
    { name: "lab", issuer: "gitlab", claims: { project_id: 7 }, owner: "pipeline", account: "project" },
    { name: "lab", issuer: "gitlab", claims: { namespace_id: 7 }, owner: "project", account: "policy" },
    { name: "forge", issuer: "forge", claims: { sub: "repo:acme" }, account: "owner" },
    { name: "default", may: [] },
    { name: "people", account: "owner", longest: "60s" },
  ])("a policy that may stand there: %j", (policy) => {
    expect(read({ policies: [policy], issuers: [FORGE] }).policies).toHaveLength(1);
  });
});

describe("a mistake names the entry, the key and the rule", () => {
  const policy = (more: object) => ({ policies: [{ ...CI, ...more }], issuers: [FORGE] });
  const profile = (small: unknown) => ({ profiles: { small } });
  const issuer = (more: object) => ({ issuers: [{ ...FORGE, ...more }] });

  it.each<[string, unknown]>([
    ["mayfly.config.ts must be what defineConfig is given: an object", 7],
    ["mayfly.config.ts must be what defineConfig is given: an object", null],
    ["hooks must be an object of hooks by name", { hooks: [] }],
    ["endpoints is not supported yet: leave it out, for nothing would come of it", { endpoints: {} }],
    ["runners is not supported yet: leave it out, for nothing would come of it", { runners: undefined }],
    ["polices is no part of a configuration: policies, profiles, issuers, hooks", { polices: [] }],
    ["policies must be a list of policies", { policies: { ci: CI } }],
    ["issuers must be a list of issuers", { issuers: null }],
    ["profiles must be an object of profiles by name", { profiles: [] }],
  ])("of the whole: %s", (message, given) => {
    expect(refusalOf(() => read(given)).message).toBe(message);
  });

  it.each<[string, object]>([
    ["policies.0.name must be text", { name: 7 }],
    [
      "policies.0.name must be 1 to 32 lower-case letters, digits and inner hyphens, beginning with a letter",
      { name: "Canary" },
    ],
    [`policies.ci.claim is no key that can stand here: ${Object.keys(policyEntry.shape).join(", ")}`, { claim: {} }],
    ["policies.ci.issuer must be one of github, gitlab, forge", { issuer: "githab" }],
    ["policies.ci.issuer must not be empty", { issuer: "" }],
    [
      "policies.default.issuer must be left out: `default` is the policy of tokens that name no other",
      { name: "default" },
    ],
    [
      "policies.ci.claims must have repository_id or repository_owner_id: a name can pass to somebody else",
      { claims: {} },
    ],
    [
      "policies.ci.claims must have repository_id or repository_owner_id: a name can pass to somebody else",
      { claims: { repository: "acme/app" } },
    ],
    ["policies.ci.claims must have project_id or namespace_id: a name can pass to somebody else", { issuer: "gitlab" }],
    ["policies.ci.claims must have sub: a name can pass to somebody else", { issuer: "forge" }],
    ["policies.ci.claims.repository_id must be spelt out, without `*`", { claims: { repository_id: "*" } }],
    ["policies.ci.claims.repository_id must be spelt out, without `*`", { claims: { repository_id: ["1", "2*"] } }],
    ["policies.ci.claims must be an object of claims", { claims: ["repository_id"] }],
    ["policies.ci.claims.ref must be a value or a list of values", { claims: { repository_id: 1, ref: null } }],
    ["policies.ci.claims.ref must name at least one value", { claims: { repository_id: 1, ref: [] } }],
    ["policies.ci.claims.ref must not be empty", { claims: { repository_id: 1, ref: "" } }],
    [
      "policies.ci.claims.repository_id must stand in quotes: numbers of that size are not told apart",
      { claims: { repository_id: 2 ** 53 } },
    ],
    [
      "policies.ci.claims.repository_id must be a number of at most 18 digits",
      { claims: { repository_id: "acme/app" } },
    ],
    [
      "policies.ci.claims.repository_id must be spelt out, without `*`",
      { claims: { repository_owner_id: "9", repository_id: "1*" } },
    ],
    ["policies.ci.owner must be run or repository", { owner: "repo" }],
    ["policies.ci.owner must be run or repository for github", { owner: "project" }],
    ["policies.ci.account must be repository, owner or policy", { account: "canary" }],
    ["policies.ci.account must be repository or policy for github", { account: "owner" }],
    ["policies.ci.privileged_events must be true or false", { privileged_events: "no" }],
    ["policies.ci.may must be a list", { may: "machines" }],
    [
      "policies.ci.may.1 must be of machines, ssh_keys, firewalls, networks, snapshots",
      { may: ["machines", "canary"] },
    ],
    [
      'policies.ci.longest must be a whole number and a unit, like "90s", "30m", "2h" or "1d", of 60s at least',
      { longest: "59s" },
    ],
    ["policies.ci.server_types must be a list of patterns", { server_types: "cx23" }],
    ["policies.ci.regions must name at least one", { regions: [] }],
    ["policies.ci.images.0 must not be empty", { images: [""] }],
    ["policies.ci.profiles.1 must be a profile: there is no smal", { profiles: ["s*", "smal"] }],
    ["policies.ci.firewalls must be a list", { firewalls: "id:1" }],
    ["policies.ci.firewalls.1 must be `id:` and the provider's id, like `id:4711`", { firewalls: ["id:1", "4711"] }],
    ["policies.ci.networks.0 must be `id:` and the provider's id, like `id:4711`", { networks: ["id:*"] }],
    ["policies.ci.only_profiles must be true or false", { only_profiles: 1 }],
    ["policies.ci.cloud_init must be true or false", { cloud_init: "#canary" }],
    ["policies.ci.needs_firewall must be true or false", { needs_firewall: null }],
    ["policies.ci.machines must be a whole number", { machines: 1.5 }],
    ["policies.ci.machines must be a whole number", { machines: "5" }],
    ["policies.ci.machines must be 0 or more", { machines: -1 }],
    ["policies.ci.eur_per_hour must be a number of EUR", { eur_per_hour: "1" }],
    ["policies.ci.eur_per_hour must be 0 or more", { eur_per_hour: -0.01 }],
    ["policies.ci.eur_per_month must be at most 999999.99", { eur_per_month: 1e6 }],
    ["policies.ci.unknown_price must be true or false", { unknown_price: "yes" }],
  ])("of a policy: %s", (message, more) => {
    const refusal = refusalOf(() => read(policy(more)));
    expect(refusal.message).toBe(message);
    expect(refusal.stack).not.toContain(CANARY);
  });

  it.each<[string, object]>([
    ["policies.people.claims must be left out without an issuer: minted tokens have none", { claims: {} }],
    ["policies.people.owner must be left out without an issuer: minted tokens have none", { owner: "run" }],
    [
      "policies.people.privileged_events must be left out without an issuer: minted tokens have none",
      { privileged_events: false },
    ],
    ["policies.people.account must be owner or policy without an issuer", { account: "repository" }],
    ["policies.people.account must be owner or policy without an issuer", { account: "project" }],
    ["policies.people.owner must be pipeline or project for gitlab", { ...GITLAB, owner: "run" }],
    ["policies.people.account must be project or policy for gitlab", { ...GITLAB, account: "repository" }],
    [
      "policies.people.privileged_events must be left out: only GitHub has such events",
      { ...GITLAB, privileged_events: true },
    ],
    ["policies.people.owner must be left out for forge", { ...OTHER, owner: "run" }],
    ["policies.people.account must be owner or policy for forge", { ...OTHER, account: "project" }],
  ])("of a policy of another issuer, or of none: %s", (message, more) => {
    expect(refusalOf(() => read({ policies: [{ name: "people", ...more }], issuers: [FORGE] })).message).toBe(message);
  });

  it("of two policies of one name, and of an entry that is none", () => {
    expect(refusalOf(() => read({ policies: [CI, { name: "ci" }] })).message).toBe(
      "policies.ci must be there once: callers and tokens go by its name",
    );
    expect(refusalOf(() => read({ policies: [CI, CANARY] })).message).toBe("policies.1 must be of type object");
  });

  it.each<[string, unknown]>([
    ["profiles.small must be of type object", CANARY],
    [`profiles.small.servertype is no key that can stand here: ${PROFILE_KEYS}`, { servertype: CANARY }],
    [`profiles.small.profile is no key that can stand here: ${PROFILE_KEYS}`, { profile: "other" }],
    [
      "profiles.small.arch must be left out where server_type is given: a type has its own",
      { server_type: "cx23", arch: "amd64" },
    ],
    ["profiles.small.arch must be amd64 or arm64", { arch: CANARY }],
    ['profiles.small.ttl must be a whole number and a unit, like "90s", "30m", "2h" or "1d"', { ttl: CANARY }],
    ["profiles.small.ttl must be at least 60s", { ttl: "59s" }],
    ["profiles.small.keep_on_failure must be at least 60s", { keep_on_failure: "1s" }],
    ["profiles.small.cloud_init must be of type string", { cloud_init: [CANARY] }],
    ["profiles.small.labels.a must be text", { labels: { a: [CANARY] } }],
    ["profiles.small.firewalls.0.deny is no key that can stand here", { firewalls: [{ deny: CANARY }] }],
    [
      "profiles.small.ssh_keys.0 must be the name or id of a key of yours, or a public key",
      { ssh_keys: [`-${CANARY}`] },
    ],
  ])("of a profile: %s", (message, small) => {
    const refusal = refusalOf(() => read(profile(small)));
    expect(refusal.message).toBe(message);
    expect(refusal.stack).not.toContain(CANARY);
  });

  it.each<[string, object]>([
    ["cloud_init", { cloud_init: CANARY.repeat(6000) }],
    ["labels", { labels: { "mayfly-owner": CANARY } }],
    ["labels", { labels: { a: `${CANARY} of two words` } }],
    ["image", { image: `${CANARY} of two words` }],
    ["networks.0.ip_range", { networks: [{ ip_range: CANARY }] }],
    ["firewalls.0.rules.0", { firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: CANARY }] }] }],
    ["ssh_keys.0", { ssh_keys: [`ssh-ed25519 ${CANARY}`] }],
  ])("of a profile, by the rules of a create, never repeating what it says: %s", (field, small) => {
    const refusal = refusalOf(() => read(profile(small)));
    expect(refusal.key).toMatch(new RegExp(`^profiles\\.small\\.${field}`));
    expect(refusal.message + refusal.stack).not.toContain(CANARY);
  });

  it("of a profile's name", () => {
    expect(refusalOf(() => read({ profiles: { Small: {} } })).message).toBe(
      "profiles.Small must be 1 to 32 lower-case letters, digits and inner hyphens, beginning with a letter",
    );
  });

  it.each<[string, object]>([
    [
      "issuers.0.name must be 1 to 32 lower-case letters, digits and inner hyphens, beginning with a letter",
      { name: "4forge" },
    ],
    ["issuers.github.name must be another: an issuer of that name is there already", { name: "github" }],
    [
      "issuers.forge.url must be another: an issuer of that url is there already",
      { url: "https://token.actions.githubusercontent.com" },
    ],
    ["issuers.forge.url must be an https URL", { url: null }],
    ["issuers.forge.url must be an https URL", { url: "canary" }],
    [
      "issuers.forge.url must be https: keys that came in the clear could be anybody's",
      { url: "http://canary.example" },
    ],
    [
      "issuers.forge.jwks must be https: keys that came in the clear could be anybody's",
      { jwks: "http://canary.example" },
    ],
    ["issuers.forge.audience must be 1 to 255 letters, digits and signs of ASCII, without spaces", { audience: "" }],
    [
      "issuers.forge.audience must be 1 to 255 letters, digits and signs of ASCII, without spaces",
      { audience: "two canaries" },
    ],
    ["issuers.forge.kind must be github or gitlab, or left out", { kind: "forgejo" }],
    ["issuers.forge.id_claim must be left out where kind says which claims are ids", { kind: "github" }],
    [
      "issuers.forge.secret is no key that can stand here: name, url, jwks, audience, kind, id_claim",
      { secret: CANARY },
    ],
  ])("of an issuer: %s", (message, more) => {
    const refusal = refusalOf(() => read(issuer(more)));
    expect(refusal.message).toBe(message);
    expect(refusal.stack).not.toContain(CANARY);
  });

  const UNDEFINED = "must have a value, or be left out: it is undefined";
  it.each<[string, unknown]>([
    [`policies ${UNDEFINED}`, { policies: undefined }],
    [`policies.ci.server_types ${UNDEFINED}`, policy({ server_types: undefined })],
    [`policies.ci.may.1 ${UNDEFINED}`, policy({ may: ["machines", undefined] })],
    [`policies.ci.needs_firewall ${UNDEFINED}`, policy({ needs_firewall: undefined })],
    [`policies.ci.claims ${UNDEFINED}`, policy({ claims: undefined })],
    [`policies.ci.claims.ref ${UNDEFINED}`, policy({ claims: { repository_id: 1, ref: undefined } })],
    [`policies.ci.machines ${UNDEFINED}`, policy({ machines: undefined })],
    [`policies.0.name ${UNDEFINED}`, policy({ name: undefined })],
    ["policies.0 is required", { policies: [undefined, CI] }],
    [`profiles.small ${UNDEFINED}`, profile(undefined)],
    [
      `profiles.small.firewalls.0.rules.0.port ${UNDEFINED}`,
      profile({ firewalls: [{ rules: [{ port: undefined }] }] }),
    ],
    [`issuers.forge.audience ${UNDEFINED}`, issuer({ audience: undefined })],
  ])("of a key whose value is undefined, which would be taken for left out: %s", (message, given) => {
    expect(refusalOf(() => read(given)).message).toBe(message);
  });

  it.each<[string, string]>([
    ["__proto__", '{"__proto__":[]}'],
    ["policies.ci.__proto__", '{"policies":[{"name":"ci","__proto__":{"needs_firewall":true}}]}'],
    ["policies.ci.claims.__proto__", '{"policies":[{"name":"ci","claims":{"repository_id":"1","__proto__":"x"}}]}'],
    ["profiles.__proto__", '{"profiles":{"__proto__":{"server_type":"cx23"}}}'],
    ["profiles.small.__proto__", '{"profiles":{"small":{"server_type":"cx23","__proto__":{"x":"cx23"}}}}'],
    ["profiles.small.labels.__proto__", '{"profiles":{"small":{"labels":{"__proto__":"x"}}}}'],
    ["issuers.own.__proto__", '{"issuers":[{"name":"own","url":"https://a.example","kind":"gitlab","__proto__":{}}]}'],
  ])("of a key that would be dropped: %s", (key, text) => {
    expect(refusalOf(() => read(JSON.parse(text))).message).toBe(`${key} is no key that can stand here`);
  });

  it("of what inherits, which no copy would", () => {
    const more = { claims: { __proto__: { ref: "refs/heads/main" }, repository_id: "1" } };
    expect(refusalOf(() => read(policy(more))).message).toBe(
      "policies.ci.claims must be a plain object, which inherits nothing",
    );
  });

  it("of two issuers of one name, or of one address", () => {
    expect(refusalOf(() => read({ issuers: [FORGE, { ...FORGE, url: "https://b.example" }] })).key).toBe(
      "issuers.forge.name",
    );
    expect(refusalOf(() => read({ issuers: [FORGE, { ...FORGE, name: "b" }] })).key).toBe("issuers.b.url");
  });
});

describe("two issuers whose urls' SHA-256 begin alike", () => {
  const issuers = [
    { name: "ours", url: "https://gitlab-16690.example.com", kind: "gitlab" as const },
    { name: "theirs", url: "https://gitlab-57826.example.com", kind: "gitlab" as const },
  ];
  const policies = issuers.map(({ name }) => ({ name, issuer: name, claims: { project_id: "20" } }));
  const [ours] = issuers;
  const fault = {
    key: "issuers.theirs.url",
    rule: "must be another: its SHA-256 begins like that of ours, and what their callers make is kept under that",
  };

  it("are refused before anything runs", async () => {
    await expect(verifyDeployment({ issuers, policies }, false)).rejects.toMatchObject(fault);
    await expect(verifyDeployment({ issuers: [ours] }, false)).resolves.toEqual(read({ issuers: [ours] }));
  });

  it.each([0, 1])("let nobody in with a JWT where they run all the same, and alone they do: %i", async (index) => {
    const [entry] = issuers.slice(index);
    if (entry === undefined) throw new Error("no issuer");
    const issuer = await createIssuer({ url: entry.url, jwksUri: `${entry.url}/keys`, alg: "ES256" });
    const together = await createCallers({ issuer, configuration: { issuers, policies } });
    await together.expectRefused(await together.ask(gitlabClaims()), 503, "misconfigured");
    expect(issuer.asked).toEqual([]);
    const own = policies.filter(({ name }) => name === entry.name);
    const alone = await createCallers({ issuer, configuration: { issuers: [entry], policies: own } });
    expect((await alone.ask(gitlabClaims())).status).toBe(201);
  });
});

describe("an issuer on this machine", () => {
  it.each(["http://127.0.0.1:9999", "http://localhost:9", "http://[::1]:9/path"])(
    "is taken while the provider is there too, and only then: %s",
    (url) => {
      const given = { issuers: [{ ...FORGE, url }] };
      expect(read(given, true).issuers).toHaveLength(3);
      expect(refusalOf(() => read(given, false)).key).toBe("issuers.forge.url");
    },
  );

  it.each(["http://127.0.0.1.example.com", "http://localhost@example.com", "http://10.0.0.1"])(
    "is not what only looks so: %s",
    (url) => {
      expect(refusalOf(() => read({ issuers: [{ ...FORGE, url }] }, true)).key).toBe("issuers.forge.url");
    },
  );
});

describe("a part as JSON in a setting", () => {
  const NEEDED = {
    HCLOUD_TOKEN: "t",
    INSTALLATION: "installation-of-ours",
    ADMIN_TOKEN: "a".repeat(40),
    OIDC_AUDIENCE: "m",
  };
  const FILE = { policies: [CI], profiles: { small: {} } };
  const open = (settings: object, file: object = FILE) => {
    const set = { ...NEEDED, ...settings };
    return createDeployments(file)(set, readConfig(set));
  };

  it.each([{}, LOCAL])("is not needed: the file stands for itself", (settings) => {
    expect(open(settings)).toEqual(read(FILE));
    expect(open({ ...settings, POLICIES: "" })).toEqual(read(FILE));
  });

  it("stands in place of that part of the file, while the provider is on this machine", () => {
    const policies = [{ name: "other" }];
    const given = open({ ...LOCAL, POLICIES: JSON.stringify(policies) });
    const [other] = read({ policies }).policies;
    expect(given).toEqual({ ...read(FILE), policies: [{ ...other, source: "policies[0] in the setting POLICIES" }] });
    expect(open({ ...LOCAL, PROFILES: ' {"big": {}}\n' })).toEqual(read({ ...FILE, profiles: { big: {} } }));
    expect(open({ ...LOCAL, ISSUERS: JSON.stringify([FORGE]) })).toEqual(read({ ...FILE, issuers: [FORGE] }));
  });

  it("is read from an environment of any class", () => {
    class Environment {
      POLICIES = "[]";
    }
    const config = readConfig({ ...NEEDED, ...LOCAL });
    expect(createDeployments(FILE)(new Environment(), config).policies).toEqual([]);
  });

  it.each(["POLICIES", "PROFILES", "ISSUERS"])("is refused elsewhere, whatever it says: %s", (name) => {
    for (const value of ["[]", "{}", CANARY, { [CANARY]: 1 }]) {
      const refusal = refusalOf(() => open({ [name]: value }));
      expect(refusal.message).toBe(`${name} is read under npm start alone: write it into mayfly.config.ts`);
    }
  });

  it.each(["POLICIES", "PROFILES", "ISSUERS"])(
    "names the setting where it is no JSON, and what is in it else: %s",
    (name) => {
      for (const value of [`[${CANARY}]`, "[", '[{"name": "main"', `[{"name": '${CANARY}'`, { [CANARY]: 1 }]) {
        const refusal = refusalOf(() => open({ ...LOCAL, [name]: value }));
        expect(refusal.message).toBe(`${name} must be JSON of what that part of mayfly.config.ts would be`);
        expect(refusal.stack).not.toContain(CANARY);
      }
      expect(refusalOf(() => open({ ...LOCAL, [name]: " " })).key).toBe(name);
      expect(refusalOf(() => open({ ...LOCAL, [name]: "'[]'" })).rule).toContain("without quotes");
      expect(refusalOf(() => open({ ...LOCAL, [name]: `"${CANARY}"` })).key).toBe(name);
      expect(refusalOf(() => open({ ...LOCAL, [name]: "7" })).key).toBe(name.toLowerCase());
    },
  );

  it("is read anew where it changes", () => {
    const openOne = createDeployments(FILE);
    const policiesOf = (settings: object) => {
      const set = { ...NEEDED, ...LOCAL, ...settings };
      return openOne(set, readConfig(set)).policies.map(({ name }) => name);
    };
    expect(policiesOf({ POLICIES: '[{"name": "a"}]' })).toEqual(["a"]);
    expect(policiesOf({ POLICIES: '[{"name": "b"}]' })).toEqual(["b"]);
    expect(policiesOf({})).toEqual(["ci"]);
  });
});

describe("OIDC_AUDIENCE", () => {
  const NEEDED = { HCLOUD_TOKEN: "t", INSTALLATION: "installation-of-ours", ADMIN_TOKEN: "a".repeat(40) };
  const open = (file: object, settings: object = {}) => {
    const set = { ...NEEDED, ...settings };
    return createDeployments(file)(set, readConfig(set));
  };
  const TAKES = { name: "forges", issuer: "forge", claims: { sub: "a" } };

  it("is required as soon as a policy takes tokens of an issuer that says no audience of its own", () => {
    for (const file of [{ policies: [CI] }, { policies: [{ name: "people" }, TAKES], issuers: [FORGE] }]) {
      expect(refusalOf(() => open(file)).key).toBe("OIDC_AUDIENCE");
      expect(() => open(file, { OIDC_AUDIENCE: "mayfly" })).not.toThrow();
    }
    expect(refusalOf(() => open({ policies: [CI] })).rule).toBe(
      "must be set, as [vars] in wrangler.toml: there is a policy for tokens of an issuer, and whom those must be made for is not said",
    );
  });

  it("is not where every issuer that is taken says its own, or none is taken", () => {
    for (const file of [
      {},
      { issuers: [FORGE] },
      { policies: [{ name: "people" }] },
      { policies: [TAKES], issuers: [{ ...FORGE, audience: "here" }] },
    ])
      expect(() => open(file)).not.toThrow();
  });
});

describe("a Worker whose configuration cannot be used", () => {
  const wrong = { policies: [{ ...CI, claims: { repository_id: "*" } }] };

  it("answers 503 misconfigured, and health is red: to whom is not known yet, so the entry is in the log alone", async () => {
    const mayfly = createMayfly({ OIDC_AUDIENCE: "mayfly" }, wrong);
    await mayfly.tick();
    const answer = await mayfly.send("GET", "/v1/machines", undefined, null);
    expect(answer).toMatchObject({
      status: 503,
      body: { code: "misconfigured", detail: "The configuration cannot be used." },
    });
    expect(answer.body).not.toHaveProperty("field");
    expect(answer.body).not.toHaveProperty("rule");
    const health = await mayfly.send("GET", "/healthz", undefined, null);
    expect(health.body).toMatchObject({ status: "red", reasons: ["the configuration cannot be used"] });
    expect(answer.text + health.text).not.toMatch(/policies|repository_id|spelt out/);
    expect(mayfly.logs.filter(({ event }) => event === "error")).toMatchObject([
      { error: "Misconfigured: policies.ci.claims.repository_id must be spelt out, without `*`" },
    ]);
  });

  it("says the same of a setting that its policies need", async () => {
    const mayfly = createMayfly({}, { policies: [CI] });
    await mayfly.tick();
    expect(await mayfly.send("GET", "/v1/machines")).toMatchObject({
      status: 503,
      body: { code: "misconfigured", field: "OIDC_AUDIENCE" },
    });
    expect((await mayfly.send("GET", "/healthz")).text).toContain("OIDC_AUDIENCE");
  });

  it("still sweeps: what it lent before ends when it should", async () => {
    const mayfly = createMayfly({ OIDC_AUDIENCE: "mayfly" }, { policies: [CI] });
    expect((await mayfly.send("PUT", "/v1/machines/box", { ...BODY, ttl: "2m" })).status).toBe(201);
    mayfly.configure({ OIDC_AUDIENCE: "" });
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(503);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 3);
    expect(servers(mayfly)).toEqual([]);
  });
});
