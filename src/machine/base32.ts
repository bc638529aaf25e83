const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** Bytes in base32 (RFC 4648), in lower case and without `=`: five bits a character, the last one filled up with zeros. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(held >> bits) & 31] ?? "";
    }
  }
  return bits === 0 ? text : text + (ALPHABET[(held << (5 - bits)) & 31] ?? "");
}
