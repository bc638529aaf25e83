import { invalid, valid, type Checked } from "./validation.ts";

/** A public key, apart from the comment that anybody may have put behind it. */
export interface PublicKey {
  /** `type base64`, as authorized_keys has it: what makes two keys the same (S101). */
  readonly material: string;
  /** The key's own bytes. */
  readonly blob: Uint8Array<ArrayBuffer>;
}

const LINE =
  /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t][^\r\n]*)?$/;
const RULE = "must be one public key as in authorized_keys: a type, base64, and maybe a comment";
const MAX_LENGTH = 16_384;

/**
 * Reads one line of an authorized_keys file, however much white space is in it and around it (RFC 4253, section 6.6): the type must be the
 * one that the bytes tell.
 */
export function parsePublicKey(text: string, field = "public_key"): Checked<PublicKey> {
  const match = text.length <= MAX_LENGTH ? LINE.exec(text.trim()) : null;
  if (match?.[1] === undefined || match[2] === undefined) return invalid(field, RULE);
  const blob = decode(match[2]);
  if (blob === null || !isKeyOf(match[1], fieldsIn(blob))) return invalid(field, RULE);
  // Written anew, because base64 may be spelt with and without its end.
  return valid({ material: `${match[1]} ${blob.toBase64()}`, blob });
}

/** The fingerprint by which Hetzner knows a key: MD5 of its bytes, hex pairs joined by colons. */
export async function fingerprintOf({ blob }: PublicKey): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("MD5", blob));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

/** What a key's bytes consist of; nothing where they are not whole fields, each behind its length in four bytes. */
function fieldsIn(blob: Uint8Array<ArrayBuffer>): readonly Uint8Array[] {
  const view = new DataView(blob.buffer);
  const fields: Uint8Array[] = [];
  for (let at = 0; at < blob.byteLength;) {
    const end = at + 4 <= blob.byteLength ? at + 4 + view.getUint32(at) : Infinity;
    if (end > blob.byteLength) return [];
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

const ED25519 = "ssh-ed25519";
const ED25519_BYTES = 32;

/** Whether fields are those of such a key: its type, and behind it one of fixed length, or two at least. */
function isKeyOf(type: string, [first, ...others]: readonly Uint8Array[]): boolean {
  if (first === undefined || new TextDecoder().decode(first) !== type) return false;
  const [point] = others;
  return type === ED25519 ? others.length === 1 && point?.byteLength === ED25519_BYTES : others.length > 1;
}
