// `npm run build`: what a deploy would upload, and the promises about it that only the bundle can break.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A little above what it weighs; one named import of `z` would add more, because it brings zod's locales along. */
const MOST_KIB = 460;
/** The same as it is sent. What it consists of, and what is not to be had: docs/decisions/size-of-the-bundle.md. */
const MOST_GZIP_KIB = 152;
const root = fileURLToPath(new URL("..", import.meta.url));

// wrangler wants to see that the secrets exist; their values go nowhere in a dry run.
const secrets = { HCLOUD_TOKEN: "-", ADMIN_TOKEN: "-", INSTALLATION: "-" };
const output = execFileSync("npx", ["--no-install", "wrangler", "deploy", "--dry-run", "--outdir", "dist"], {
  cwd: root,
  env: { ...process.env, ...secrets, WRANGLER_HIDE_BANNER: "true", WRANGLER_SEND_METRICS: "false" },
  encoding: "utf8",
});
const [, kib = Number.NaN, gzipKib = Number.NaN] =
  /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(output)?.map(Number) ?? [];
const bundle = readdirSync(`${root}/dist`)
  .filter((name) => name.endsWith(".js"))
  .map((name) => readFileSync(`${root}/dist/${name}`, "utf8"))
  .join("\n");

const faults = [
  Number.isNaN(kib) && `no size in what wrangler said:\n${output}`,
  kib > MOST_KIB && `the bundle has ${kib} KiB, and ${MOST_KIB} are allowed: what does it carry that it does not need?`,
  gzipKib > MOST_GZIP_KIB && `packed the bundle has ${gzipKib} KiB, and ${MOST_GZIP_KIB} are allowed`,
  /["']node:/.test(bundle) && "the bundle names a Node API",
].filter((fault) => fault !== false);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`bundle: ${kib} KiB, ${gzipKib} KiB packed, no Node API`);
