import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formOf, TOKEN, writeToken } from "../../src/auth/token-form.ts";

const anyBytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
/** Of 32 bytes that are all 7; worked out with Python's hashlib and base64. */
const SEVENS = "mayfly_a4dqobyha4dqobyha4dqobyha4dqobyha4dqobyha4dqobyha4dqev3ig4l";

describe("a token's form", () => {
  it("is the same for the same bytes, in every version", async () => {
    expect(await writeToken(new Uint8Array(32).fill(7))).toBe(SEVENS);
  });

  it("is found in any text by one expression, which takes all of it and no more", async () => {
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        const token = await writeToken(bytes);
        expect(token).toHaveLength(66);
        expect(TOKEN.exec(`{"Authorization": "Bearer ${token}"}`)?.[0]).toBe(token);
        expect(await formOf(token)).toBe("token");
      }),
    );
  });

  it("tells every single wrong character, and two that have changed places, by its checksum", async () => {
    const one = fc.record({
      bytes: anyBytes,
      at: fc.nat(58),
      letter: fc.stringMatching(/^[a-z2-7]$/),
    });
    await fc.assert(
      fc.asyncProperty(one, async ({ bytes, at, letter }) => {
        const token = await writeToken(bytes);
        const place = "mayfly_".length + at;
        const wrong = token.slice(0, place) + letter + token.slice(place + 1);
        expect(await formOf(wrong)).toBe(wrong === token ? "token" : "mistyped");
        const swapped =
          token.slice(0, place - 1) + token.charAt(place) + token.charAt(place - 1) + token.slice(place + 1);
        expect(await formOf(swapped)).toBe(swapped === token ? "token" : at === 0 ? "other" : "mistyped");
      }),
    );
  });

  it.each([
    "",
    "mayfly_",
    "mft_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    `mayfly_${"a".repeat(58)}`,
    `mayfly_${"a".repeat(60)}`,
    `mayfly_${"A".repeat(59)}`,
    `mayfly_${"a".repeat(58)}1`,
    `mayfly_${"a".repeat(59)}\n`,
    ` mayfly_${"a".repeat(59)}`,
    `mayfly_${"a".repeat(59)}.mayfly_${"a".repeat(59)}`,
  ])("%j has another", async (text) => {
    expect(await formOf(text)).toBe("other");
  });
});
