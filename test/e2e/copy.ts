// A copy of what mayfly is built from, for a configuration of its own: what ships is empty, and stays so.
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./npm-start.ts";

const PARTS = [
  "migrations",
  "package.json",
  "scripts",
  "src",
  "test",
  "tsconfig.json",
  "worker-configuration.d.ts",
  "wrangler.toml",
];

export interface Copy {
  path: string;
  /** Writes a file by its path in the copy. */
  write(file: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function makeCopy(): Promise<Copy> {
  const path = await mkdtemp(join(tmpdir(), "mayfly-copy-"));
  for (const part of PARTS) await cp(join(ROOT, part), join(path, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(path, "node_modules"));
  return {
    path,
    async write(file, text) {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), text);
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
