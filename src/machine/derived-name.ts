import { base32 } from "./base32.ts";
import { checkName } from "./name.ts";

const HASH_CHARACTERS = 10;
const READABLE_CHARACTERS = 63 - 1 - HASH_CHARACTERS;

/**
 * A machine's name made of any text: the text itself where that is a name. Else in lower case, with `-` for what a name cannot have,
 * cut, and with 10 base32 characters (50 bits) of its SHA-256 behind it, since another text would read alike.
 */
export async function derivedName(text: string): Promise<string> {
  if (checkName(text).ok) return text;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const readable = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, READABLE_CHARACTERS)
    .replaceAll(/^-|-$/g, "");
  return [readable || "m", base32(digest).slice(0, HASH_CHARACTERS)].join("-");
}
