// The word on the labels of what this checkout makes at the real provider.
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";

/**
 * The installation of a state folder: made at its first start and kept there, so that two checkouts on one project do not take each other's
 * machines for their own. Rejects where it can be neither read nor written.
 */
export async function installationOf(stateDir: string): Promise<string> {
  await mkdir(stateDir, { recursive: true });
  const file = `${stateDir}/installation`;
  try {
    const word = `local-${randomBytes(12).toString("hex")}`;
    await writeFile(file, `${word}\n`, { flag: "wx" });
    return word;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return (await readFile(file, "utf8")).trim();
  }
}
