// Whether what serves is what stands here.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { TEXT_IMPORTS } from "../configuration.ts";

/** Cloudflare keeps no more of a tag than 25 characters. */
const CHARACTERS = 16;

/** A tag that is the same for the same code, configuration and files beside it, wherever the checkout stands. */
export async function fingerprintOf(root: string): Promise<string> {
  const hash = createHash("sha256");
  hash.update(await codeOf(root));
  hash.update(await readFile(join(root, "wrangler.toml")));
  for (const name of await filesIn(join(root, "public")))
    hash.update(name).update(await readFile(join(root, "public", name)));
  return `mayfly-${hash.digest("hex").slice(0, CHARACTERS)}`;
}

/** The files of a folder, and of the folders in it, by their paths in it and in order. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted();
}

async function codeOf(root: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/index.ts"],
    bundle: true,
    // Without it the text has paths in it.
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    external: ["cloudflare:*"],
    loader: TEXT_IMPORTS,
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}
