/** What a minted token looks like. docs/decisions/token-form.md says why. */
import { base32 } from "../machine/base32.ts";
import { sha256 } from "./hash.ts";

const PREFIX = "mayfly_";
const CHECKSUM_CHARACTERS = 7;

/** Finds a token in any text. */
export const TOKEN = /\bmayfly_[a-z2-7]{59}\b/;
export const TOKEN_FORM_RULE =
  "must be `mayfly_` and 59 characters of a-z and 2-7, the last seven of which fit the rest";

/** A token of 32 unpredictable bytes. */
export async function writeToken(randomBytes: Uint8Array): Promise<string> {
  const text = PREFIX + base32(randomBytes);
  return text + (await checksumOf(text));
}

/** Whether text is a token as far as it tells by itself: `mistyped` has the form of one and another's checksum. */
export async function formOf(text: string): Promise<"token" | "mistyped" | "other"> {
  if (TOKEN.exec(text)?.[0] !== text) return "other";
  const isRight = text.endsWith(await checksumOf(text.slice(0, -CHECKSUM_CHARACTERS)));
  return isRight ? "token" : "mistyped";
}

/** The first 35 bits of a text's SHA-256. */
const checksumOf = async (text: string): Promise<string> => base32(await sha256(text)).slice(0, CHECKSUM_CHARACTERS);
