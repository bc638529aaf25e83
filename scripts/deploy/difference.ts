// What lies between what there is and what is wanted.
import type { Deployed } from "./cloudflare.ts";
import type { Toml } from "./toml.ts";

/** What stands in this checkout. */
export interface Wanted {
  readonly toml: Toml;
  /** In their order. */
  readonly migrations: readonly string[];
  readonly tag: string;
  /** Secrets that are set whether they are there or not. */
  readonly replace: readonly string[];
}

export interface Difference {
  readonly lacksDatabase: boolean;
  readonly migrations: readonly string[];
  /** The secrets to be set. */
  readonly secrets: readonly string[];
  /** Why there is something to be deployed; null where there is not. */
  readonly why: "nothing is deployed" | "what is deployed differs" | "its secrets change" | null;
}

/** Throws where the database is ahead of this checkout: code that does not know its database must not be put upon it. */
export function differenceOf(deployed: Deployed, { toml, migrations, tag, replace }: Wanted): Difference {
  const unknown = deployed.applied.filter((name) => !migrations.includes(name));
  if (unknown.length > 0)
    throw new Error(
      `the database was migrated by a newer version, which has ${unknown.join(", ")}: deploy that one, or a later one`,
    );
  const isThere = (name: string): boolean => deployed.secrets?.includes(name) ?? false;
  const secrets = [...new Set([...toml.secrets, ...replace])].filter(
    (name) => replace.includes(name) || !isThere(name),
  );
  return {
    lacksDatabase: !deployed.hasDatabase,
    migrations: migrations.filter((name) => !deployed.applied.includes(name)),
    secrets,
    why: whyDeploy(deployed, tag, secrets),
  };
}

function whyDeploy({ secrets, tag }: Deployed, wanted: string, changed: readonly string[]): Difference["why"] {
  if (secrets === null) return "nothing is deployed";
  if (tag !== wanted) return "what is deployed differs";
  return changed.length > 0 ? "its secrets change" : null;
}
