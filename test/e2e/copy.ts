// A copy of what mayfly is built from, for a configuration of its own.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./npm-start.ts";

const PARTS = [
  ".oxfmtrc.json",
  ".oxlintrc.json",
  "action",
  "migrations",
  "package.json",
  "public",
  "scripts",
  "src",
  "test",
  "tsconfig.json",
  "vitest.config.ts",
  "worker-configuration.d.ts",
];

/** What ships in mayfly.config.ts. */
const NOTHING = `import { defineConfig } from "./src/deployment.ts";

export default defineConfig({});
`;

export interface Copy {
  path: string;
  /** Writes a file by its path in the copy. */
  write(file: string, text: string): Promise<void>;
  /** Writes wrangler.toml, with these lines as all of its `[vars]`. */
  writeVars(lines: string): Promise<void>;
  remove(): Promise<void>;
}

/** A copy as it ships, whatever this deployment has configured. */
export async function makeCopy(): Promise<Copy> {
  const path = await mkdtemp(join(tmpdir(), "mayfly-copy-"));
  for (const part of PARTS) await cp(join(ROOT, part), join(path, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(path, "node_modules"));
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  };
  const toml = await readFile(join(ROOT, "wrangler.toml"), "utf8");
  const writeVars = (lines: string): Promise<void> =>
    write(
      "wrangler.toml",
      toml.replace(/^\[vars\]\n[^[]*/m, () => `[vars]\n${lines}\n`),
    );
  await write("mayfly.config.ts", NOTHING);
  await writeVars("");
  return { path, write, writeVars, remove: () => rm(path, { recursive: true, force: true }) };
}
