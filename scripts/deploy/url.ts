// Where a deployment can be reached. wrangler says so when it deploys, and at no other time.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readIfThere } from "../files.ts";
import type { Ran } from "./wrangler.ts";

const FILE = ".wrangler/deployed-url";

/** The address that a deploy told of; its own domain before one of workers.dev. Null where it told of none. */
export function urlIn({ events }: Ran): string | null {
  const targets = events.flatMap(({ targets: told }) => told ?? []);
  const addresses = targets.flatMap((target) => addressIn(target) ?? []);
  return addresses.find((address) => !address.endsWith(".workers.dev")) ?? addresses[0] ?? null;
}

/** A target may be an address, a domain with a remark, a route with a pattern, or a cron's line. */
function addressIn(target: string): string | null {
  if (/^https?:\/\/[^/\s]+/.test(target)) return /^https?:\/\/[^/\s]+/.exec(target)?.[0] ?? null;
  const domain = /^([a-z0-9-]+(?:\.[a-z0-9-]+)+) \(custom domain/.exec(target)?.[1];
  return domain === undefined ? null : `https://${domain}`;
}

export async function keepUrl(root: string, url: string): Promise<void> {
  const file = join(root, FILE);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${url}\n`);
}

/** What `MAYFLY_URL` says, else what the last deploy from this folder told; null where nobody has said anything. */
export async function knownUrl(root: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (env["MAYFLY_URL"]) return env["MAYFLY_URL"].replace(/\/+$/, "");
  const kept = await readIfThere(join(root, FILE));
  return kept?.trim() || null;
}
