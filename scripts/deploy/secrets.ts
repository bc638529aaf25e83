// The secrets of a deployment: which are made, which are given, and where those that are made wait until they are put somewhere safe.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { readConfig } from "../../src/config.ts";
import { base32 } from "../../src/machine/base32.ts";
import { readIfThere, replaceFile } from "../files.ts";

/** Beside wrangler.toml, and not in the repository. */
export const SECRETS_FILE = "secrets.json";

/** Those that can be made here; what else is required has to be given. */
const MAKERS: Readonly<Record<string, () => string>> = {
  INSTALLATION: () => base32(randomBytes(16)),
  ADMIN_TOKEN: () => `admin-${randomBytes(24).toString("base64url")}`,
};
export const canMake = (name: string): boolean => name in MAKERS;
export const make = (name: string): string => MAKERS[name]?.() ?? "";

const file = z.record(z.string(), z.string());
/** Secrets by name. */
export type Secrets = Readonly<Record<string, string>>;

/** What {@link SECRETS_FILE} has; nothing where there is none. Throws where it is something else than names and texts. */
export async function readSecrets(root: string): Promise<Secrets> {
  const text = await readIfThere(join(root, SECRETS_FILE));
  if (text === null) return {};
  try {
    return file.parse(JSON.parse(text));
  } catch (cause) {
    // Not what it says: that may quote a secret.
    throw new Error(`${SECRETS_FILE} must be a JSON object of names and texts`, { cause });
  }
}

/** The name in the file of one that takes another's place, until it does. */
export const nameOfNew = (name: string): string => `NEW_${name}`;

/** Adds to {@link SECRETS_FILE}, which nobody else may read. */
export const keepSecrets = async (root: string, secrets: Secrets): Promise<void> =>
  writeSecrets(root, { ...(await readSecrets(root)), ...secrets });

/** Those that have taken another's place are in the file under its name, if they are there at all. */
export async function settleSecrets(root: string, names: readonly string[]): Promise<void> {
  const kept = await readSecrets(root);
  const settled = Object.entries(kept).filter(([name]) => !names.includes(name) || kept[nameOfNew(name)] === undefined);
  const nameOf = (name: string): string => names.find((one) => nameOfNew(one) === name) ?? name;
  if (settled.length > 0)
    await writeSecrets(root, Object.fromEntries(settled.map(([name, value]) => [nameOf(name), value])));
}

const writeSecrets = (root: string, secrets: Secrets): Promise<void> =>
  replaceFile(join(root, SECRETS_FILE), `${JSON.stringify(secrets, null, 2)}\n`);

/** Those of Hetzner have 64. */
const SHORTEST_TOKEN = 32;
const FEWEST_CHARACTERS = 10;
const WORDS =
  /(^|[^a-z])(api|canary|change|dummy|example|fake|here|hetzner|my|placeholder|sample|secret|simulated|test|todo|token|your)([^a-z]|$)/i;

/** Why a text is no API token of Hetzner's, but stands for one; null where it may be one. */
export function placeholderReason(token: string): string | null {
  if (/[<>{}$\s]/.test(token)) return "it still has the marks of a placeholder in it";
  if (token.length < SHORTEST_TOKEN) return `it has ${token.length} characters; those of Hetzner have 64`;
  if (WORDS.test(token)) return "it is made of words, as tests have it";
  if (new Set(token).size < FEWEST_CHARACTERS) return "it repeats a few characters";
  return null;
}

/** Some that the Worker could use, where the true ones are not here. */
export const STAND_INS = { HCLOUD_TOKEN: "t".repeat(64), ADMIN_TOKEN: "a".repeat(48), INSTALLATION: "i".repeat(32) };

/** Throws, by name and rule, where the Worker would refuse one of these. */
export function checkSecrets(secrets: Secrets): void {
  readConfig({ ...STAND_INS, ...secrets });
  const reason = secrets["HCLOUD_TOKEN"] === undefined ? null : placeholderReason(secrets["HCLOUD_TOKEN"].trim());
  if (reason !== null) throw new Error(`HCLOUD_TOKEN is no token of a Hetzner project: ${reason}`);
}
