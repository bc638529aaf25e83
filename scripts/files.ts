// Files that may not be there, and files of which nobody may see half.
import { readFile, rename, writeFile } from "node:fs/promises";

/** What stands in a file; null where there is none. */
export async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Puts a text in a file's place, which nobody else may read. Whoever is killed meanwhile leaves the old one or the new one. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.tmp`, text, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
}
