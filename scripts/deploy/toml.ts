// What wrangler.toml says of the deployment.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { textOf } from "../vars.ts";

const shape = z.object({
  name: z.string(),
  account_id: z.string().optional(),
  vars: z.record(z.string(), z.json()),
  secrets: z.object({ required: z.array(z.string()) }),
  preview_urls: z.boolean().optional(),
  d1_databases: z
    .array(
      z.looseObject({ binding: z.string(), database_name: z.string().optional(), database_id: z.string().optional() }),
    )
    .length(1, "wrangler.toml must have one [[d1_databases]]"),
});

/** What a deploy goes by. */
export interface Toml {
  readonly worker: string;
  readonly accountId: string | null;
  readonly vars: Readonly<Record<string, string>>;
  /** The secrets without which the Worker is not deployed. */
  readonly secrets: readonly string[];
  readonly database: { readonly name: string; readonly id: string | null };
  readonly hasPreviews: boolean;
}

/** Reads that checkout's wrangler.toml; throws where something that is needed does not stand there. */
export async function readToml(root: string): Promise<Toml> {
  // Only when it is asked for: wrangler takes seconds to load.
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const read = shape.parse(readConfig({ config: join(root, "wrangler.toml") }, { hideWarnings: true }));
  const [database] = read.d1_databases;
  if (database?.database_name === undefined) throw new Error("wrangler.toml must give its D1 database a database_name");
  return {
    worker: read.name,
    accountId: read.account_id ?? null,
    vars: Object.fromEntries(Object.entries(read.vars).map(([name, value]) => [name, textOf(value)])),
    secrets: read.secrets.required,
    database: { name: database.database_name, id: database.database_id ?? null },
    hasPreviews: read.preview_urls !== false,
  };
}

/** The names of all migrations of that checkout, in their order. */
export const migrationsOf = async (root: string): Promise<string[]> =>
  (await readdir(join(root, "migrations"))).filter((name) => name.endsWith(".sql")).toSorted();
