import { base32 } from "../machine/base32.ts";
import { sha256, sha256Hex } from "./hash.ts";

const KEY = /^[!-~]{1,200}$/;
export const IDEMPOTENCY_KEY_RULE = "must be 1 to 200 visible ASCII characters";
export const isIdempotencyKey = (text: string): boolean => KEY.test(text);

/** For so long what was made under a key, and has ended since, is not made again. */
export const KEY_LIFE_MS = 24 * 60 * 60 * 1000;

/** The name of the machine that is made under an idempotency key: always the same, 100 bits of the key's SHA-256. */
export const nameOfKey = async (key: string): Promise<string> => `m-${base32(await sha256(key)).slice(0, 20)}`;

/**
 * The uid of what an owner makes under a key, `kind` by `kind`: always the same, a UUID of version 8 (RFC 9562) from a SHA-256. `spent`
 * is how many came before under this key that count no more: each has a row, and so a uid, of its own.
 */
export async function uidOfKey(owner: string, kind: string, key: string, spent = 0): Promise<string> {
  const hex = await sha256Hex(JSON.stringify([owner, kind, key, ...(spent === 0 ? [] : [spent])]));
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
