import { invalid, valid, type Checked } from "./validation.ts";

/** A public key, apart from the comment that anybody may have put behind it. */
export interface PublicKey {
  /** `type base64`, as authorized_keys has it: what makes two keys the same (S101). */
  readonly material: string;
  /** The key's own bytes. */
  readonly blob: Uint8Array<ArrayBuffer>;
}

const LINE =
  /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com) ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?\s*$/;
const RULE = "must be one public key as in authorized_keys: a type, base64, and maybe a comment";
const MAX_LENGTH = 16_384;

/** Reads one line of an authorized_keys file (RFC 4253, section 6.6): the type must be the one that the bytes tell. */
export function parsePublicKey(text: string, field = "public_key"): Checked<PublicKey> {
  const match = text.length <= MAX_LENGTH ? LINE.exec(text) : null;
  if (match?.[1] === undefined || match[2] === undefined) return invalid(field, RULE);
  const blob = decode(match[2]);
  if (blob === null || typeIn(blob) !== match[1]) return invalid(field, RULE);
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

/** The type that a key's bytes begin with; null where they are not whole fields, each behind its length in four bytes. */
function typeIn(blob: Uint8Array<ArrayBuffer>): string | null {
  const view = new DataView(blob.buffer);
  const fields: Uint8Array[] = [];
  for (let at = 0; at < blob.byteLength;) {
    const end = at + 4 <= blob.byteLength ? at + 4 + view.getUint32(at) : Infinity;
    if (end > blob.byteLength) return null;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  const [type] = fields;
  return type === undefined || fields.length < 2 ? null : new TextDecoder().decode(type);
}
