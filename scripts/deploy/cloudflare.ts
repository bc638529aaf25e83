// What there is at Cloudflare already. Nothing here changes anything.
import * as z from "zod";
import type { Toml } from "./toml.ts";
import { demand, jsonIn, reasonOf, type Wrangler } from "./wrangler.ts";

/** What is deployed, as far as a deploy goes by it. */
export interface Deployed {
  readonly hasDatabase: boolean;
  /** The migrations that the database has seen. */
  readonly applied: readonly string[];
  /** The names of its secrets; null where there is no Worker. */
  readonly secrets: readonly string[] | null;
  /** What the version that serves is tagged with; null for none, or where several serve. */
  readonly tag: string | null;
}

const who = z.looseObject({
  loggedIn: z.boolean(),
  accounts: z.array(z.looseObject({ id: z.string(), name: z.string() })),
});
const databases = z.array(z.looseObject({ uuid: z.string(), name: z.string() }));
const rows = z.array(z.looseObject({ results: z.array(z.looseObject({ name: z.string() })) }));
const names = z.array(z.looseObject({ name: z.string() }));
const deployment = z.looseObject({ versions: z.array(z.looseObject({ version_id: z.string() })) });
const version = z.looseObject({ annotations: z.record(z.string(), z.unknown()).optional() });

/** Throws, with what to do, where wrangler may not speak for one account. */
export async function checkLogin(wrangler: Wrangler, toml: Toml, env: NodeJS.ProcessEnv): Promise<void> {
  const ran = await wrangler(["whoami", "--json"]);
  if (ran.code !== 0) throw new Error("wrangler is not logged in: npx wrangler login, or set CLOUDFLARE_API_TOKEN");
  const { accounts } = jsonIn(ran, who);
  const named = env["CLOUDFLARE_ACCOUNT_ID"] || toml.accountId;
  if (accounts.length > 1 && !named)
    throw new Error(
      `wrangler speaks for several accounts; set CLOUDFLARE_ACCOUNT_ID to one of them: ${accounts.map(({ id, name }) => `${id} (${name})`).join(", ")}`,
    );
}

/** Looks at everything, without changing anything. Rejects, in wrangler's words, where something cannot be seen. */
export async function lookAt(wrangler: Wrangler, toml: Toml): Promise<Deployed> {
  const [hasDatabase, secrets] = await Promise.all([seesDatabase(wrangler, toml), secretsOf(wrangler)]);
  const [applied, tag] = await Promise.all([
    hasDatabase ? appliedTo(wrangler, toml.database.name) : [],
    secrets === null ? null : tagOf(wrangler),
  ]);
  return { hasDatabase, applied, secrets, tag };
}

async function seesDatabase(wrangler: Wrangler, { database }: Toml): Promise<boolean> {
  const all = jsonIn(await demand(wrangler, ["d1", "list", "--json"]), databases);
  if (database.id === null) return all.some(({ name }) => name === database.name);
  if (all.some(({ uuid }) => uuid === database.id)) return true;
  throw new Error(
    `wrangler.toml names the database ${database.id}, which is not in this account: take its database_id out, or log in elsewhere`,
  );
}

/** The migrations that a database has seen, in wrangler's own table of them. */
export async function appliedTo(wrangler: Wrangler, database: string): Promise<string[]> {
  const command = "SELECT name FROM d1_migrations ORDER BY id";
  const ran = await wrangler(["d1", "execute", database, "--remote", "--json", "--command", command]);
  if (ran.code !== 0) {
    if (/no such table: d1_migrations/.test(ran.output + reasonOf(ran))) return [];
    throw new Error(`the migrations of the database ${database} cannot be read: ${reasonOf(ran)}`);
  }
  return jsonIn(ran, rows).flatMap(({ results }) => results.map(({ name }) => name));
}

async function secretsOf(wrangler: Wrangler): Promise<string[] | null> {
  const ran = await wrangler(["secret", "list", "--format", "json"]);
  if (ran.code === 0) return jsonIn(ran, names).map(({ name }) => name);
  if (/^Worker ".*" not found/m.test(reasonOf(ran))) return null;
  throw new Error(`the secrets of the Worker cannot be listed: ${reasonOf(ran)}`);
}

async function tagOf(wrangler: Wrangler): Promise<string | null> {
  const ran = await wrangler(["deployments", "status", "--json"]);
  // As one that was made for its secrets alone.
  if (ran.code !== 0 && /has no deployments/.test(reasonOf(ran))) return null;
  if (ran.code !== 0) throw new Error(`what is deployed cannot be read: ${reasonOf(ran)}`);
  const [only, ...others] = jsonIn(ran, deployment).versions;
  if (only === undefined || others.length > 0) return null;
  const shown = jsonIn(await demand(wrangler, ["versions", "view", only.version_id, "--json"]), version);
  const tag = shown.annotations?.["workers/tag"];
  return typeof tag === "string" ? tag : null;
}
