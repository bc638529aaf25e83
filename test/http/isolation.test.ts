import { sign } from "@octokit/webhooks-methods";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Configuration } from "../../src/deployment.ts";
import { AUDIENCE, createIssuer, GITHUB, githubClaims } from "../auth/issuer.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";
import { createMayfly, machineIn, NOW, SECOND, type Mayfly } from "../mayfly.ts";

/** On everything that is the victim's alone: whoever shows it has shown what is hers. */
const CANARY = "hers-alone-5d0c";
const BODY = { server_type: "cx23", region: "fsn1", labels: { team: CANARY } };

const CONFIGURATION: Configuration = {
  profiles: { small: { server_type: "cx23", region: "fsn1", cloud_init: `# ${CANARY}` } },
  policies: [
    { name: "narrow", may: ["machines"], server_types: ["cx23"], longest: "2h", cloud_init: false },
    { name: "guarded", needs_firewall: true, account: "policy" },
    { name: "templates", only_profiles: true },
    { name: "looks", may: [] },
    { name: "job", issuer: "github", claims: { repository_id: 74, ref: "refs/heads/job" } },
    { name: "wide", issuer: "github", claims: { repository_id: 74 }, owner: "repository", account: "policy" },
  ],
  hooks: {
    preview: {
      sender: "github",
      secret: "HOOK_PREVIEW",
      repositories: [1, 2],
      profile: "small",
      rules: (["create", "renew", "destroy"] as const).map((act) => ({
        on: "push",
        when: { act },
        do: act,
        name: "{name}",
      })),
    },
  },
};
const SECRET = "canary-of-the-hook-of-this-test-01";
const MINTED = ["default", "narrow", "guarded", "templates", "looks"];

/** Jobs of the same repository, and of the same run in two policies; and one of a repository of the same name. */
const JOBS = [
  { ref: "refs/heads/job", run_id: "1" },
  { ref: "refs/heads/job", run_id: "2" },
  { ref: "refs/heads/main", run_id: "1" },
  { ref: "refs/heads/job", run_id: "1", repository_id: "75" },
];
const issuer = await createIssuer({ url: GITHUB, alg: "ES256" });
const signed = (claims: object): Promise<string> => issuer.sign(githubClaims({ ...claims }), NOW);
const open = (): Mayfly => createMayfly({ OIDC_AUDIENCE: AUDIENCE, HOOK_PREVIEW: SECRET }, CONFIGURATION, issuer.hosts);

/** Who can be hurt, and what all that is hers is kept under. */
const VICTIMS = [
  { owner: "tok.victim", tokenOf: (mayfly: Mayfly) => mayfly.tokenOf("victim") },
  { owner: "gh.74.9", tokenOf: () => signed({ ref: "refs/heads/job", run_id: "9" }) },
];

/** What is hers, by everything that a caller could name it by. */
interface Hers {
  readonly machine: string;
  readonly ended: string;
  readonly providerId: string;
  readonly address: string;
  readonly firewall: string;
  readonly network: string;
  readonly key: string;
  readonly token: string;
}

const idIn = (body: unknown, kind: string): string =>
  z.object({ id: z.string() }).parse(z.record(z.string(), z.unknown()).parse(body)[kind]).id;

/** A machine with all that one can have, one that has ended, and a token. */
async function settle(mayfly: Mayfly, victim = VICTIMS[0]): Promise<{ hers: Hers; her: string }> {
  await mayfly.tokenOf("victim");
  const her = (await victim?.tokenOf(mayfly)) ?? "";
  const { body: minted } = await mayfly.send("GET", "/v1/tokens");
  const [token] = z.object({ tokens: z.array(z.object({ id: z.string() })) }).parse(minted).tokens;
  const make = async (kind: string, plural: string, body: object) =>
    idIn((await mayfly.send("POST", `/v1/${plural}`, { ttl: "3h", ...body }, her)).body, kind);
  const firewall = await make("firewall", "firewalls", { name: "wall", deny_all: true });
  const network = await make("network", "networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" });
  const key = await make("ssh_key", "ssh_keys", { name: "me", public_key: KEY_A });
  const order = { ...BODY, firewalls: [firewall], networks: [network], ssh_keys: [key], keep_on_failure: "3h" };
  const machine = machineIn(await mayfly.send("PUT", "/v1/machines/box?wait=30", order, her));
  const ended = machineIn(await mayfly.send("PUT", "/v1/machines/old?wait=30", BODY, her));
  await mayfly.send("DELETE", "/v1/machines/old", undefined, her);
  await mayfly.send("PUT", "/v1/machines/spare?wait=30", BODY, her);
  return {
    her,
    hers: {
      machine: machine.id,
      ended: ended.id,
      providerId: machine.provider_id ?? "",
      address: machine.public_ipv4,
      firewall,
      network,
      key,
      token: token?.id ?? "",
    },
  };
}

/** All that is hers, in D1 and at the provider. */
async function stateOf(mayfly: Mayfly, owner = "tok.victim"): Promise<unknown> {
  const { DB } = mayfly.bindings;
  const rows = async (text: string) => (await DB.prepare(text).bind(owner).all()).results;
  const { servers, firewalls, networks, ssh_keys } = mayfly.simulator.state();
  const isHers = ({ labels }: { labels?: Record<string, string> | null }) => labels?.["mayfly-owner"] === owner;
  return structuredClone({
    machines: await rows("SELECT * FROM machines WHERE owner = ?1 ORDER BY uid"),
    resources: await rows("SELECT * FROM resources WHERE owner = ?1 ORDER BY uid"),
    uses: await rows(
      `SELECT * FROM resource_uses WHERE machine_uid IN (SELECT uid FROM machines WHERE owner = ?1)
       OR resource_uid IN (SELECT uid FROM resources WHERE owner = ?1) ORDER BY resource_uid, machine_uid`,
    ),
    tombstones: await rows("SELECT * FROM tombstones WHERE owner = ?1"),
    events: await rows("SELECT * FROM events WHERE owner = ?1 ORDER BY id"),
    tokens: await rows("SELECT id, revoked_at, expires_at FROM tokens WHERE owner = 'tok.victim' AND ?1 = ?1"),
    held: [servers, firewalls, networks, ssh_keys].map((all) => all.filter(isHers)),
  });
}

/** Whatever might be taken for a reference to hers, as it stands in a path. */
const refsTo = (hers: Hers): string[] => [
  hers.machine,
  hers.ended,
  hers.machine.toUpperCase(),
  hers.machine.replace("mch_", ""),
  hers.machine.replace("mch_", "MCH_"),
  `${hers.machine}%00`,
  `%20${hers.machine}`,
  hers.providerId,
  hers.firewall,
  hers.network,
  hers.key,
  hers.firewall.replace("fw_", "mch_"),
  hers.machine.replace("mch_", "fw_"),
  hers.machine.replace("mch_", "key_"),
  hers.token,
  "preview",
  "box",
  "old",
  "wall",
  "lab",
  "me",
  "tok.victim",
  "tok.victim%2Fbox",
  "..%2Fmachines%2Fbox",
  "blast_cap",
  "inventory",
];

const QUERIES = [
  "",
  "?owner=tok.victim",
  "?owner=victim",
  "?owner=gh.74.9",
  "?owner=gh.74",
  "?owner=TOK.VICTIM",
  "?owner=tok.attacker&owner=tok.victim",
  "?owner=tok.victim&owner=tok.attacker",
  "?owner=",
  "?owner=*",
  "?owner=admin",
  "?owner[]=tok.victim",
  "?label_selector=team",
  "?label_selector=team&owner=tok.victim",
  "?status=destroyed",
  "?status=destroyed&since=1d",
  "?machine=:ref",
  "?account=tok.victim",
  "?since=1d&kind=created&kind=destroyed",
  "?outcome=failure",
  "?tombstone=1h",
  "?destroy=true",
  "?wait=5",
  "?per_page=50",
];

const bodiesAbout = (hers: Hers): unknown[] => [
  undefined,
  {},
  { ttl: "3h" },
  { server_type: "cx23", region: "fsn1" },
  { profile: "small" },
  { server_type: "cx23", region: "fsn1", firewalls: [hers.firewall] },
  { server_type: "cx23", region: "fsn1", firewalls: ["wall"], networks: ["lab"], ssh_keys: ["me"] },
  { server_type: "cx23", region: "fsn1", networks: [hers.network], ssh_keys: [hers.key] },
  { server_type: "cx23", region: "fsn1", labels: { "mayfly-owner": "tok.victim" } },
  { server_type: "cx23", region: "fsn1", owner: "tok.victim" },
  { server_type: "cx23", region: "fsn1", ssh_keys: [KEY_A], firewalls: [{ deny_all: true }] },
  { machines: [hers.machine] },
  { machines: ["box"] },
  { machines: [hers.providerId] },
  { network: hers.network },
  { network: "lab" },
  { destination: "0.0.0.0/0", gateway: "10.0.0.2" },
  { name: "me", public_key: KEY_A },
  { name: "theirs", public_key: KEY_A },
  { name: "wall", rules: [{ direction: "in", protocol: "tcp", port: "22" }] },
  { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" },
  { owner: "victim" },
  { dry_run: true },
  { act: "destroy", name: "box", repository: { id: 1 } },
];

interface Attack {
  readonly path: string;
  readonly body: unknown;
}
interface Route {
  readonly method: string;
  readonly path: string;
}

/** The app lists a route once for each handler on its way. */
const routesIn = ({ app }: Mayfly): Route[] => {
  const routes = app.routes.filter(({ path, method }) => method !== "ALL" && !path.includes("*"));
  return [...new Map(routes.map(({ path, method }) => [nameOf({ path, method }), { path, method }])).values()];
};
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const hasBody = ({ method }: Route): boolean => method === "POST" || method === "PUT";

const attacksOn = (route: Route, hers: Hers): fc.Arbitrary<Attack> =>
  fc
    .record({
      ref: fc.constantFrom(...refsTo(hers)),
      query: fc.constantFrom(...QUERIES),
      body: hasBody(route) ? fc.constantFrom(...bodiesAbout(hers)) : fc.constant(undefined),
    })
    .map(({ ref, query, body }) => ({ path: (route.path + query).replaceAll(/:\w+/g, ref), body }));

/** Those that do nothing but name what is hers, which chance alone would seldom put together. */
function plainAttacksOn(route: Route, hers: Hers): Attack[] {
  const refs = [hers.machine, hers.firewall, hers.network, hers.key];
  const sent = HER_CALLS[nameOf(route)]?.body;
  const body = sent === BODY ? { server_type: "cx23", region: "fsn1" } : sent;
  const paths = new Set(refs.map((ref) => route.path.replaceAll(/:\w+/g, ref)));
  return [...paths].map((path) => ({ path, body }));
}

/** The same for all attackers of a run. */
const KNOWN: Route[] = routesIn(createMayfly());

const cases = KNOWN.flatMap(({ method, path }) =>
  VICTIMS.map((victim) => ({ method, path, owner: victim.owner, victim })),
);

describe("one owner cannot hurt another, nor see what is hers", () => {
  it("over every route that the app has, by callers who are all let in, save a repository of another id", async () => {
    expect(KNOWN.length).toBeGreaterThan(30);
    const mayfly = open();
    const statusOf = async (token: string) => (await mayfly.send("GET", "/v1/machines", undefined, token)).status;
    for (const policy of MINTED) expect(await statusOf(await mayfly.tokenOf("attacker", { policy }))).toBe(200);
    const jobs = await Promise.all(JOBS.map(async (claims) => statusOf(await signed(claims))));
    expect(jobs).toEqual([200, 200, 200, 403]);
  });

  it.each(cases)("$method $path, with what is $owner's", async ({ victim, owner, ...route }) => {
    const mayfly = open();
    const { hers, her } = await settle(mayfly, victim);
    const before = await stateOf(mayfly, owner);
    // Of two addresses one may be the beginning of the other.
    const address = new RegExp(`\\b${hers.address.replaceAll(".", "\\.")}\\b`);
    const minted = await Promise.all(MINTED.map((policy) => mayfly.tokenOf("attacker", { policy })));
    const tokens = [...minted, ...(await Promise.all(JOBS.map(signed)))];
    const attack = fc.tuple(fc.constantFrom(...tokens), attacksOn(route, hers));
    await fc.assert(
      fc.asyncProperty(attack, async ([token, { path, body }]) => {
        const { status, text, headers } = await mayfly.send(route.method, path, body, token);
        expect(status).not.toBe(500);
        const told = text + JSON.stringify([...headers]);
        expect(told).not.toContain(CANARY);
        expect(told).not.toMatch(address);
        const sent = decodeURIComponent(path) + JSON.stringify(body);
        const ids = [hers.machine, hers.ended, hers.firewall, hers.network, hers.key, hers.token];
        expect(ids.filter((id) => told.includes(id) && !sent.includes(id))).toEqual([]);
        expect(await stateOf(mayfly, owner)).toEqual(before);
      }),
      { numRuns: 12, examples: plainAttacksOn(route, hers).map((one) => [[minted[0] ?? "", one]]) },
    );
    expect((await mayfly.send("GET", "/v1/machines/box", undefined, her)).status).toBe(200);
  });

  it("while by her own token each route that changes anything changes what is hers", async () => {
    const changing = KNOWN.filter(({ method }) => method !== "GET").map(nameOf);
    expect(changing.toSorted()).toEqual([...Object.keys(HER_CALLS), ...ADMINS, ...SIGNED].toSorted());
    for (const [name, { path, body }] of Object.entries(HER_CALLS)) {
      const mayfly = open();
      await mayfly.bindings.DB.batch(
        ["machines", "resources", "resource_uses", "tombstones", "tokens"].map((table) =>
          mayfly.bindings.DB.prepare(`DELETE FROM ${table}`),
        ),
      );
      const { her } = await settle(mayfly);
      // What is reaped is some age.
      mayfly.advance(SECOND);
      const before = await stateOf(mayfly);
      const [method = ""] = name.split(" ");
      const answer = await mayfly.send(method, path, body, her);
      expect([name, answer.status < 300]).toEqual([name, true]);
      expect(await stateOf(mayfly), name).not.toEqual(before);
    }
  });
});

describe("whoever signs the events of one repository", () => {
  const push = async (mayfly: Mayfly, event: object) => {
    const body = JSON.stringify(event);
    const headers = { "X-GitHub-Event": "push", "X-Hub-Signature-256": await sign(SECRET, body) };
    return mayfly.send("POST", "/v1/hooks/preview", body, null, headers);
  };

  it.each(VICTIMS)("reaches nothing of $owner's, nor of another repository's, under whatever name", async (victim) => {
    const mayfly = open();
    const { hers, her } = await settle(mayfly, victim);
    expect((await push(mayfly, { act: "create", name: "box", repository: { id: 1 } })).status).toBe(202);
    const before = [await stateOf(mayfly, victim.owner), await stateOf(mayfly, "hook.preview.1")];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("create", "renew", "destroy"),
        fc.constantFrom("box", "old", hers.machine, hers.providerId, "hook.preview.1", `1.${victim.owner}`),
        fc.constantFrom(2, "2", "1.box", "2.1", 1e300, null, [1], { id: 1 }),
        async (act, name, id) => {
          const { status, text } = await push(mayfly, { act, name, repository: { id } });
          expect(status === 202 || status === 403).toBe(true);
          expect(text).not.toContain(CANARY);
          expect([await stateOf(mayfly, victim.owner), await stateOf(mayfly, "hook.preview.1")]).toEqual(before);
        },
      ),
      { numRuns: 30 },
    );
    expect((await mayfly.send("GET", "/v1/machines/box", undefined, her)).status).toBe(200);
  });
});

/** A route that changes things, and takes signatures alone. */
const SIGNED = ["POST /v1/hooks/:hook"];

/** Routes that change things, and take the admin alone. */
const ADMINS = ["POST /v1/sweeps", "POST /v1/holds/:hold/release", "POST /v1/tokens", "DELETE /v1/tokens/:id"];

/** How the victim herself would use the others. */
const HER_CALLS: Record<string, Attack> = {
  "PUT /v1/machines/:ref": { path: "/v1/machines/new", body: BODY },
  "POST /v1/machines": { path: "/v1/machines", body: BODY },
  "POST /v1/machines/:ref/renew": { path: "/v1/machines/box/renew", body: { ttl: "3h" } },
  "DELETE /v1/machines/:ref": { path: "/v1/machines/box", body: undefined },
  "DELETE /v1/machines": { path: "/v1/machines?label_selector=team", body: undefined },
  "POST /v1/ssh_keys": { path: "/v1/ssh_keys", body: { name: "other", public_key: KEY_B } },
  "POST /v1/firewalls": { path: "/v1/firewalls", body: { name: "other", deny_all: true } },
  "POST /v1/networks": { path: "/v1/networks", body: { name: "other", ip_range: "10.0.0.0/16", region: "fsn1" } },
  "POST /v1/firewalls/:ref/apply_to_resources": {
    path: "/v1/firewalls/wall/apply_to_resources",
    body: { machines: ["spare"] },
  },
  "POST /v1/firewalls/:ref/remove_from_resources": {
    path: "/v1/firewalls/wall/remove_from_resources",
    body: { machines: ["box"] },
  },
  "POST /v1/networks/:ref/add_route": {
    path: "/v1/networks/lab/add_route",
    body: { destination: "0.0.0.0/0", gateway: "10.0.0.2" },
  },
  "POST /v1/machines/:ref/attach_to_network": {
    path: "/v1/machines/spare/attach_to_network",
    body: { network: "lab" },
  },
  "DELETE /v1/firewalls/:ref": { path: "/v1/firewalls/wall", body: undefined },
  "DELETE /v1/networks/:ref": { path: "/v1/networks/lab", body: undefined },
  "DELETE /v1/ssh_keys/:ref": { path: "/v1/ssh_keys/me", body: undefined },
  "POST /v1/reap": { path: "/v1/reap", body: { label_selector: "team", older_than: "1s" } },
  "POST /v1/teardown": { path: "/v1/teardown", body: {} },
};
