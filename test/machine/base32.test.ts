import { describe, expect, it } from "vitest";
import { base32 } from "../../src/machine/base32.ts";

describe("base32", () => {
  // The test vectors of RFC 4648, section 10, in lower case and without padding.
  it.each([
    ["", ""],
    ["f", "my"],
    ["fo", "mzxq"],
    ["foo", "mzxw6"],
    ["foob", "mzxw6yq"],
    ["fooba", "mzxw6ytb"],
    ["foobar", "mzxw6ytboi"],
  ])("writes %j as %j", (text, written) => {
    expect(base32(new TextEncoder().encode(text))).toBe(written);
  });
});
