import { describe, expect, it } from "vitest";
import { fingerprintOf, parsePublicKey } from "../../src/machine/ssh-key.ts";

/** Made by ssh-keygen, with the fingerprints that `ssh-keygen -l -E md5` shows. */
const KEYS: [string, string][] = [
  [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMcOL20YlBkE4kAlePP9eFk/81YyJpa7cqTX2Q7Vs/b",
    "ca:da:18:81:62:f8:a0:2e:55:8e:04:78:d7:08:d7:e6",
  ],
  [
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIdLtg09xX+IVuAsDcTQuHz7b/M6xWpLCR7RcbW1gucE9CGXBPVAtWKBEqoQc9P37Cm1poHrMBCsZy38btdqcwY=",
    "e4:f6:8b:c8:22:21:43:2d:c9:b5:3f:d4:73:32:0f:3d",
  ],
];
const [[ED25519] = [""]] = KEYS;

/** The base64 of a key whose last field has lost a byte. */
function shortened(key: string): string {
  const bytes = Uint8Array.from(atob(key.split(" ")[1] ?? ""), (character) => character.charCodeAt(0));
  bytes[18] = 31;
  return bytes.slice(0, -1).toBase64();
}

describe("a public key", () => {
  it.each(KEYS)(
    "S101: %s is the same with any comment or none, and has the fingerprint that ssh-keygen shows",
    async (key, print) => {
      const [type = "", base64 = ""] = key.split(" ");
      for (const text of [
        key,
        `${key} me@here`,
        `${key} two words\n`,
        `${type}\t${base64}`,
        `${type}   ${base64}\tme@here`,
        ` \t${type} \t ${base64}  me@here \r\n`,
      ]) {
        const parsed = parsePublicKey(text);
        expect(parsed.ok && parsed.value.material).toBe(key);
        expect(parsed.ok && (await fingerprintOf(parsed.value))).toBe(print);
      }
    },
  );

  it.each([
    ["nothing", ""],
    ["a word", "ssh-ed25519"],
    ["no base64", "ssh-ed25519 !!!!"],
    ["cut base64", ED25519.slice(0, 40)],
    ["the type of another key", ED25519.replace("ssh-ed25519", "ssh-rsa")],
    ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----"],
    ["options before it", `no-pty ${ED25519}`],
    ["two of them", `${ED25519}\n${ED25519}`],
    ["a line end after its type", ED25519.replace(" ", "\n")],
    ["one of 31 bytes", `ssh-ed25519 ${shortened(ED25519)}`],
    ["one of a field too few", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"],
    ["dsa", "ssh-dss AAAAB3NzaC1kc3MAAACBAA=="],
    ["far too much", `${ED25519} ${"x".repeat(20_000)}`],
  ])("S102: %s is refused, naming the field", (_what, text) => {
    expect(parsePublicKey(text)).toMatchObject({ ok: false, problem: { field: "public_key" } });
  });
});
