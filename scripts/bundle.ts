// What a deploy would upload.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
// wrangler wants to see that the secrets exist; their values go nowhere in a dry run.
const secrets = { HCLOUD_TOKEN: "-", ADMIN_TOKEN: "-", INSTALLATION: "-" };

/** Has wrangler build into `dist/`; the text of all modules, and what wrangler said about it. Throws where it cannot. */
export function buildBundle(): { readonly text: string; readonly output: string } {
  const output = execFileSync("npx", ["--no-install", "wrangler", "deploy", "--dry-run", "--outdir", "dist"], {
    cwd: root,
    env: { ...process.env, ...secrets, WRANGLER_HIDE_BANNER: "true", WRANGLER_SEND_METRICS: "false" },
    encoding: "utf8",
  });
  const text = readdirSync(`${root}/dist`)
    .filter((name) => name.endsWith(".js"))
    .map((name) => readFileSync(`${root}/dist/${name}`, "utf8"))
    .join("\n");
  return { text, output };
}
