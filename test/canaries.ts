/**
 * A watch over all tests that send requests to a mayfly or let it sweep: nothing that is secret may be in what it answers, logs or
 * keeps. Whoever makes a secret says so by `guard`; what mayfly says is told by `hear`; what has leaked is found after each test.
 */
import { env } from "cloudflare:workers";
import type { Configuration } from "../src/deployment.ts";
import { ROOT_PASSWORD } from "./simulator/create-server.ts";

/** What is shorter is in ordinary words too. */
const SHORTEST = 12;

const FIXED = [
  ["HCLOUD_TOKEN", env.HCLOUD_TOKEN],
  ["ADMIN_TOKEN", env.ADMIN_TOKEN],
  ["a root password", ROOT_PASSWORD],
] as const;

/** By what they are looked for, what they are. */
const secrets = new Map<string, string>();
const heard: { readonly where: string; readonly text: string }[] = [];

/** From here on to the end of the test this must not be seen: neither all of it nor one of its lines, as it is or in JSON. */
export function guard(what: string, secret: string): void {
  for (const part of [secret, ...secret.split("\n")]) {
    // Every cloud-init may begin so.
    if (part.length < SHORTEST || part.trim() === "#cloud-config") continue;
    secrets.set(part, what);
    secrets.set(JSON.stringify(part).slice(1, -1), what);
  }
}

/** What a request carries: JWTs, and the cloud-init of its body. */
export function guardRequest(body: unknown, token: string | null): void {
  // Cut, it is no less: whoever has the payload knows what only the job was told, and the signature makes it whole again.
  if (token?.startsWith("eyJ")) for (const part of [token, ...token.split(".").slice(1)]) guard("a JWT", part);
  guardCloudInit("cloud_init", body);
}

/** What a configuration says: the cloud-init of profiles. */
export function guardProfiles({ profiles = {} }: Configuration): void {
  for (const profile of Object.values(profiles)) guardCloudInit("a profile's cloud_init", profile);
}

/** What settings hold that is secret: the secrets of hooks, with and without what stands before the key. */
export function guardSettings(settings: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(settings))
    if (name.startsWith("HOOK_") && typeof value === "string")
      for (const secret of [value, value.replace(/^whsec_/, "")]) guard(name, secret);
}

function guardCloudInit(what: string, body: unknown): void {
  const text: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "cloud_init") : undefined;
  if (typeof text === "string") guard(what, text);
}

/** Told of what mayfly has said. */
export const hear = (where: string, text: string): void => void heard.push({ where, text });

const MINTING = "POST /v1/tokens";

/** The same of an answer; minting a token shows its secret once. */
export function hearAnswer(call: string, headers: Headers, text: string): void {
  hear(`the headers of ${call}`, JSON.stringify([...headers]));
  const minted = call === MINTING ? /"secret":"(?<secret>[^"]+)"/.exec(text)?.groups?.["secret"] : undefined;
  if (minted !== undefined) guard("a minted token", minted);
  hear(`the answer to ${call}`, minted === undefined ? text : text.replace(minted, ""));
}

/** What has leaked since somebody asked last, D1 looked through as well. Forgets all that was heard and guarded. */
export async function takeLeaks(db: D1Database, tables: readonly string[]): Promise<readonly string[]> {
  if (heard.length === 0) return [];
  const dump = await db.batch(tables.map((table) => db.prepare(`SELECT * FROM ${table}`)));
  for (const [index, { results }] of dump.entries()) hear(`D1's table ${tables[index]}`, JSON.stringify(results));
  for (const [what, secret] of FIXED) guard(what, secret);
  const leaks = new Set<string>();
  for (const { where, text } of heard.splice(0))
    for (const [secret, what] of secrets) if (text.includes(secret)) leaks.add(`${what} is in ${where}`);
  secrets.clear();
  return [...leaks];
}

/** Throws where something has leaked. */
export async function refuseLeaks(db: D1Database, tables: readonly string[]): Promise<void> {
  const leaks = await takeLeaks(db, tables);
  if (leaks.length > 0) throw new Error(`secrets have leaked: ${leaks.join("; ")}`);
}
