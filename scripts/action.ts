// Makes `action/dist/index.mjs`, the one file that GitHub runs, of `action/src/`. With `--check` it is compared with what stands there.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = `${root}action/dist/index.mjs`;

/** The file as these sources make it: always the same, wherever it is made. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["action/src/index.ts"],
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    // The file must be readable, and its text must not depend on the machine.
    legalComments: "inline",
    charset: "utf8",
    write: false,
    outfile: target,
  });
  return outputFiles[0]?.text ?? "";
}

const text = await bundle();
if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  console.error("action/dist/index.mjs is not what action/src/ makes: npm run action");
  process.exitCode = 1;
}
