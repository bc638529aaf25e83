import { md5 } from "./md5.ts";

// What OpenSSH still takes from a client; ssh-dss is not among it.
const TYPES = new Set([
  "ssh-rsa",
  "ssh-ed25519",
  "ecdsa-sha2-nistp256",
  "ecdsa-sha2-nistp384",
  "ecdsa-sha2-nistp521",
  "sk-ssh-ed25519@openssh.com",
  "sk-ecdsa-sha2-nistp256@openssh.com",
]);
const ED25519_BYTES = 32;

/** The fingerprint of a public key as Hetzner writes it, or null for text that is no key. Source: Hetzner API, SSH Keys. */
export function fingerprintOf(public_key: string): string | null {
  const [, type = "", base64 = ""] = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t][^\r\n]*)?$/.exec(public_key) ?? [];
  const blob = decode(base64);
  if (!TYPES.has(type) || blob === null || !isKeyOf(type, blob)) return null;
  return Array.from(md5(blob), (byte) => byte.toString(16).padStart(2, "0")).join(":");
}

function decode(base64: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function isKeyOf(type: string, blob: Uint8Array): boolean {
  const [name, ...parts] = splitStrings(blob) ?? [];
  if (name === undefined || new TextDecoder().decode(name) !== type) return false;
  return type === "ssh-ed25519" ? parts.length === 1 && parts[0]?.length === ED25519_BYTES : parts.length > 1;
}

// A blob is strings, each behind its length in four bytes. Source: RFC 4253, section 6.6.
function splitStrings(blob: Uint8Array): Uint8Array[] | null {
  const view = new DataView(blob.buffer);
  const parts: Uint8Array[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return null;
    const end = at + 4 + view.getUint32(at);
    if (end > blob.length) return null;
    parts.push(blob.subarray(at + 4, end));
    at = end;
  }
  return parts;
}
