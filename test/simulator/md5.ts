// MD5 (RFC 1321), by hand: workerd's WebCrypto has it, Node's does not, and the simulator runs in both.
const SHIFTS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const START = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as const;
const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

type Words = [a: number, b: number, c: number, d: number];

/** The MD5 digest of these bytes: 16 bytes. */
export function md5(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - LENGTH_BYTES, BigInt(bytes.length) * 8n, true);

  let state: Words = [...START];
  for (let start = 0; start < padded.length; start += BLOCK_BYTES) state = digestBlock(state, view, start);
  const digest = new DataView(new ArrayBuffer(16));
  for (const [index, word] of state.entries()) digest.setUint32(index * 4, word, true);
  return new Uint8Array(digest.buffer);
}

function digestBlock(state: Words, view: DataView, start: number): Words {
  let [a, b, c, d] = state;
  for (let step = 0; step < 64; step += 1) {
    const round = Math.floor(step / 16);
    const { mixed, word } = mix(round, step, b, c, d);
    const sum = a + mixed + sine(step) + view.getUint32(start + word * 4, true);
    [a, b, c, d] = [d, (b + rotate(sum | 0, SHIFTS[round]?.[step % 4] ?? 0)) | 0, b, c];
  }
  return [(state[0] + a) | 0, (state[1] + b) | 0, (state[2] + c) | 0, (state[3] + d) | 0];
}

// The round's function of three words, and which word of the block it takes.
function mix(round: number, step: number, b: number, c: number, d: number): { mixed: number; word: number } {
  switch (round) {
    case 0:
      return { mixed: (b & c) | (~b & d), word: step };
    case 1:
      return { mixed: (d & b) | (~d & c), word: (5 * step + 1) % 16 };
    case 2:
      return { mixed: b ^ c ^ d, word: (3 * step + 5) % 16 };
    default:
      return { mixed: c ^ (b | ~d), word: (7 * step) % 16 };
  }
}

const sine = (step: number): number => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0;

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
