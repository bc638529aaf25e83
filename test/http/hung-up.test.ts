import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { emptyDatabase, TABLES } from "../empty-database.ts";
import { callAndHangUp, type Call, type HangsUp } from "../hang-up.ts";
import { CONFIGURATION, githubHeaders, openHooks, pullRequest } from "../hooks/senders.ts";
import { BODY, MINUTE, mintedIn, NOW, SECOND, type Mayfly } from "../mayfly.ts";
import { KEY_A, KEY_B } from "../simulator/sample-keys.ts";

const EVENT = JSON.stringify(pullRequest("opened", NOW - SECOND));
const LAB = { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" };

/** Ann has two machines, one of them in what is used, and one of each kind that is not; an event is signed and to come. */
async function world() {
  await emptyDatabase();
  await env.DB.prepare("DELETE FROM sqlite_sequence").run();
  const mayfly = openHooks({}, { ...CONFIGURATION, policies: [{ name: "preview", machines: 9 }] });
  const ann = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
  const made = async (method: string, path: string, body: object) => {
    const { status, text } = await mayfly.send(method, path, body, ann.secret);
    expect(status, text).toBe(201);
  };
  for (const name of ["web", "idle"]) await made("POST", "/v1/firewalls", { name, deny_all: true });
  await made("POST", "/v1/networks", LAB);
  await made("POST", "/v1/networks", { ...LAB, name: "idle", ip_range: "10.1.0.0/16" });
  await made("POST", "/v1/ssh_keys", { name: "idle", public_key: KEY_A });
  await made("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web"], networks: ["lab"] });
  await made("PUT", "/v1/machines/bare", { ...BODY, labels: { of: "many" } });
  mayfly.advance(MINUTE);
  return { mayfly, ann };
}

type Who = "ann" | "admin" | "sender" | "nobody";
interface Example {
  readonly who?: Who;
  readonly path?: string;
  readonly body?: object | string;
}

/** One call of each route, on which it does what it is there for. A path of its own says what the definition leaves open. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  "get /healthz": { who: "nobody" },
  "post /v1/hooks/{hook}": { who: "sender", path: "/v1/hooks/preview", body: EVENT },
  "get /v1/whoami": {},
  "put /v1/machines/{ref}": { path: "/v1/machines/new", body: { ...BODY, firewalls: ["web"], networks: ["lab"] } },
  "get /v1/machines/{ref}": { path: "/v1/machines/box" },
  "delete /v1/machines/{ref}": { path: "/v1/machines/box?tombstone=1h" },
  "post /v1/machines": { body: BODY },
  "get /v1/machines": {},
  "delete /v1/machines": { path: "/v1/machines?label_selector=of%3Dmany" },
  "post /v1/machines/{ref}/renew": { path: "/v1/machines/box/renew", body: { ttl: "3h" } },
  "post /v1/machines/{ref}/attach_to_network": {
    path: "/v1/machines/bare/attach_to_network",
    body: { network: "lab" },
  },
  "post /v1/ssh_keys": { body: { name: "new", public_key: KEY_B } },
  "get /v1/ssh_keys": {},
  "get /v1/ssh_keys/{ref}": { path: "/v1/ssh_keys/idle" },
  "delete /v1/ssh_keys/{ref}": { path: "/v1/ssh_keys/idle" },
  "post /v1/firewalls": { body: { name: "new", deny_all: true, machines: ["bare"] } },
  "get /v1/firewalls": {},
  "get /v1/firewalls/{ref}": { path: "/v1/firewalls/web" },
  "delete /v1/firewalls/{ref}": { path: "/v1/firewalls/idle" },
  "post /v1/firewalls/{ref}/apply_to_resources": {
    path: "/v1/firewalls/idle/apply_to_resources",
    body: { machines: ["box", "bare"] },
  },
  "post /v1/firewalls/{ref}/remove_from_resources": {
    path: "/v1/firewalls/web/remove_from_resources",
    body: { machines: ["box"] },
  },
  "post /v1/networks": { body: { ...LAB, name: "new", ip_range: "10.2.0.0/16" } },
  "get /v1/networks": {},
  "get /v1/networks/{ref}": { path: "/v1/networks/lab" },
  "delete /v1/networks/{ref}": { path: "/v1/networks/idle" },
  "post /v1/networks/{ref}/add_route": {
    path: "/v1/networks/lab/add_route",
    body: { destination: "0.0.0.0/0", gateway: "10.0.0.2" },
  },
  "post /v1/teardown": { body: {} },
  "post /v1/reap": { body: { label_selector: "of=many", older_than: "1s" } },
  "get /v1/server_types": {},
  "get /v1/pricing": { path: "/v1/pricing?server_type=cx23&region=fsn1" },
  "get /v1/events": {},
  "get /v1/usage": {},
  "post /v1/sweeps": { who: "admin", body: {} },
  "get /v1/sweeps": { who: "admin" },
  "post /v1/holds/{hold}/release": { who: "admin", path: "/v1/holds/blast_cap/release" },
  "post /v1/tokens": { who: "admin", body: { owner: "bob" } },
  "get /v1/tokens": { who: "admin" },
  "delete /v1/tokens/{id}": { who: "admin", path: "/v1/tokens/{ann}?destroy=true" },
  "get /v1/hooks": { who: "admin" },
};

async function callOf(route: string, { who = "ann", path, body }: Example, ann: { id: string; secret: string }) {
  const [method = "", defined = ""] = route.split(" ");
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  const headers: Record<Who, () => Promise<Record<string, string>>> = {
    ann: async () => ({ Authorization: `Bearer ${ann.secret}` }),
    admin: async () => ({ Authorization: `Bearer ${env.ADMIN_TOKEN}` }),
    sender: () => signed(text ?? ""),
    nobody: async () => ({}),
  };
  const call: Call = {
    method: method.toUpperCase(),
    path: (path ?? defined).replace("{ann}", ann.id),
    headers: await headers[who](),
    ...(text === undefined ? {} : { body: text }),
  };
  return call;
}

/** As GitHub signs it, each time under the same id. */
const signed = async (body: string) => ({ ...(await githubHeaders(body)), "X-GitHub-Delivery": "one" });

/** All that there is, at the provider and in D1, and all that was logged; not in which order, where five go on at once. */
async function stateOf(mayfly: Mayfly) {
  const dump = await env.DB.batch(TABLES.map((table) => env.DB.prepare(`SELECT * FROM ${table}`)));
  const tables = TABLES.map((table, index) => {
    const rows = z.array(z.looseObject({})).parse(dump[index]?.results);
    return [table, rows.map((row) => JSON.stringify({ ...row, id: null })).toSorted()] as const;
  });
  const logs = mayfly.logs.map(({ fetches: _fetches, statements: _statements, ...line }) => line);
  const { actions: _actions, ...provider } = mayfly.simulator.state();
  return { tables: Object.fromEntries(tables), provider, logs };
}

/** Where to hang up in a call of so many trips: at each, of many at the first and at some of the others. */
const pointsIn = (trips: number): number[] =>
  Array.from({ length: trips }, (_, trip) => trip).filter((trip) => trip < 6 || trip % 4 === 0 || trip === trips - 1);

const line = z.object({ event: z.literal("request"), outcome: z.string() });

async function play(route: string, when: HangsUp, isKept = false) {
  const { mayfly, ann } = await world();
  const before = structuredClone(await stateOf(mayfly));
  const call = await callOf(route, EXAMPLES[route] ?? {}, ann);
  const trips = await callAndHangUp(mayfly, call, when, isKept);
  return { before, after: await stateOf(mayfly), trips };
}

describe("S158: a caller that hangs up changes nothing, wherever in its call it does", () => {
  it("every route has an example here", async () => {
    const { mayfly } = await world();
    const routes = mayfly.app.definitions.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(EXAMPLES).toSorted((a, b) => a.localeCompare(b))).toEqual(
      routes.toSorted((a, b) => a.localeCompare(b)),
    );
  });

  it.each(Object.keys(EXAMPLES))("%s", async (route) => {
    const { before, after: whole, trips } = await play(route, "never", true);
    expect(line.parse(whole.logs.at(-1)).outcome).not.toMatch(/error|invalid|not_/);
    // Else it shows nothing.
    expect(route.startsWith("get ") ? null : before).not.toEqual({ ...whole, logs: before.logs });
    for (const when of ["never" as const, ...pointsIn(trips)]) {
      const { after } = await play(route, when);
      expect(after, `hung up at ${when} of ${trips}`).toEqual(whole);
    }
  });
});
