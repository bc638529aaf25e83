import { base32 } from "./base32.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/** RFC 1123, one label: lower case, digits, inner hyphens, at most 63; a digit may lead (S23, S24, P16). */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME_RULE = "must be 1 to 63 lower-case letters, digits and inner hyphens (RFC 1123)";
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ID_PREFIX = "mch_";

export const checkName = (name: string, field = "name"): Checked<string> =>
  NAME.test(name) ? valid(name) : invalid(field, NAME_RULE);

/** Owner keys, of every kind: lower case, at most 63, and so a label value as they are. */
const OWNER = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;
export const isOwner = (text: string): boolean => OWNER.test(text);

/** Whether text is a uid of ours: a UUID in canonical lower case, so that it fits a label unchanged (P17). */
export const isUid = (text: string): boolean => UID.test(text);

/** Whether a word may be the provider's id of something, as well as a name: a number. */
export const mayBeProviderId = (word: string): boolean => /^\d+$/.test(word);

/** The id that callers see. No name can look like it: names have no underscore. */
export const idOf = (uid: string): string => ID_PREFIX + uid;

/** How a caller refers to a machine: by an id of ours, or by its own name for it. */
export type Ref = { readonly by: "uid"; readonly uid: string } | { readonly by: "name"; readonly name: string };

/** Reads `{name or id}`. An id that cannot be one of ours is an error, not a name. */
export function parseRef(text: string, field = "ref"): Checked<Ref> {
  if (text.startsWith(ID_PREFIX)) {
    const uid = text.slice(ID_PREFIX.length);
    return isUid(uid) ? valid({ by: "uid", uid }) : invalid(field, `must be \`${ID_PREFIX}\` and a UUID, or a name`);
  }
  const name = checkName(text, field);
  return name.ok ? valid({ by: "name", name: name.value }) : name;
}

const HASH_CHARACTERS = 13;
const READABLE_CHARACTERS = 63 - 1 - HASH_CHARACTERS;

/**
 * The machine's name at the provider: the caller's name cut to 49, `-`, and 13 base32 characters (65 bits) of
 * SHA-256 over installation, owner and name. The same three always give the same name, in every process and version,
 * which is what makes the provider refuse a second machine (P14, P15, P18); others give another.
 */
export async function providerName(installation: string, owner: string, name: string): Promise<string> {
  // JSON keeps the three apart: no owner and name can be cut so that two pairs read alike.
  const bytes = new TextEncoder().encode(JSON.stringify([installation, owner, name]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `${name.slice(0, READABLE_CHARACTERS)}-${base32(digest).slice(0, HASH_CHARACTERS)}`;
}
