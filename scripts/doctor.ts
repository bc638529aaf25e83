// `npm run doctor -- <url>`: looks at a mayfly that is deployed, and says line by line what is right, what is not, and what to do.
import { fileURLToPath } from "node:url";
import { migrationsOf, readToml } from "./deploy/toml.ts";
import { knownUrl } from "./deploy/url.ts";
import { createWrangler } from "./deploy/wrangler.ts";
import { examine } from "./doctor/examine.ts";
import { lineOf } from "./doctor/finding.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { env } = process;

async function urlOf(words: readonly string[]): Promise<string> {
  const said = words[0] ?? (await knownUrl(root, env)) ?? "";
  if (words.length > 1 || !/^https?:\/\/[^/]+/.test(said))
    throw new Error("MAYFLY_TOKEN=<ADMIN_TOKEN> npm run doctor -- https://<your worker>");
  return new URL(said).origin;
}

try {
  let isBad = false;
  for await (const finding of examine({
    url: await urlOf(process.argv.slice(2)),
    token: env["MAYFLY_TOKEN"] ?? "",
    toml: await readToml(root),
    migrations: await migrationsOf(root),
    wrangler: createWrangler(root, env),
    fetch: (input, init) => fetch(input, init),
    now: () => Date.now(),
  })) {
    console.log(lineOf(finding));
    isBad ||= finding.level === "bad";
  }
  process.exitCode = isBad ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
