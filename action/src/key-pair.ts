import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const TYPE = "ssh-ed25519";

/** A field of the SSH protocol: its length in four bytes, then its bytes (RFC 4251, section 5). */
function field(bytes: Uint8Array | string): Buffer {
  const content = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  return Buffer.concat([length, content]);
}

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** The keys of a pair as OpenSSH has them: a line of authorized_keys, and a private key without a passphrase (PROTOCOL.key). */
export function makeKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const [seed, point] = [Buffer.from(d, "base64url"), Buffer.from(x, "base64url")];
  const blob = Buffer.concat([field(TYPE), field(point)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([
    check,
    check,
    field(TYPE),
    field(point),
    field(Buffer.concat([seed, point])),
    field(""),
  ]);
  // Filled up to whole blocks of eight bytes with 1, 2, 3, …
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, index) => index + 1));
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    field("none"),
    field("none"),
    field(""),
    number(1),
    field(blob),
    field(Buffer.concat([secret, padding])),
  ]);
  const lines = whole.toString("base64").match(/.{1,70}/g) ?? [];
  return {
    publicKey: `${TYPE} ${blob.toString("base64")}`,
    privateKey: ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n"),
  };
}

/** Makes a pair; its private key stands in a file that nobody else reads, in a folder of its own below `folder`. */
export function writeKeyPair(folder: string, name: string): { readonly publicKey: string; readonly path: string } {
  const { publicKey, privateKey } = makeKeyPair();
  const own = join(folder, `mayfly-${name}`);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const path = join(own, "id_ed25519");
  writeFileSync(path, privateKey, { mode: 0o600 });
  return { publicKey, path };
}
