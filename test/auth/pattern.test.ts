import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fits, fitsOne } from "../../src/auth/pattern.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "+", "(", "\n") });
const pattern = fc.array(fc.oneof(letters, fc.constantFrom("*", "**"))).map((parts) => parts.join(""));

describe("a pattern", () => {
  it.each([
    ["main", "main", true],
    ["main", "mainline", false],
    ["main", "domain", false],
    ["main", "Main", false],
    ["", "", true],
    ["", "a", false],
    ["*", "", true],
    ["*", "main", true],
    ["*", "release/1", false],
    ["**", "release/1/2", true],
    ["release/*", "release/1", true],
    ["release/*", "release/1/2", false],
    ["release/**", "release/1/2", true],
    ["*/b", "a/b", true],
    ["**/b", "a/a/b", true],
    ["a*c", "abbc", true],
    ["a*c", "ab/c", false],
    ["a.c", "abc", false],
    ["a+", "aa", false],
    ["v*.*", "v1.2", true],
    ["v*.*", "v12", false],
    ["*-*", "a-b-c", true],
    ["refs/heads/**-x", "refs/heads/a/b-x", true],
    ["**", "a\nb", true],
  ])("%j takes %j: %j", (one, text, expected) => {
    expect(fits(one, text)).toBe(expected);
  });

  it("takes what the same expression of letters and wildcards takes, whatever stands in it", () => {
    const expression = (one: string): RegExp => {
      const parts = one.split(/(\*+)/).map((part) => {
        if (!part.startsWith("*")) return part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
        return part === "*" ? "[^/]*" : "[^]*";
      });
      return new RegExp(`^${parts.join("")}$`);
    };
    fc.assert(
      fc.property(pattern, letters, (one, text) => {
        expect(fits(one, text)).toBe(expression(one).test(text));
      }),
    );
  });

  it("takes what it was made from: every text whose wildcards were filled in", () => {
    const filled = fc.array(fc.tuple(letters, fc.constantFrom("*", "**"), letters)).map((parts) => ({
      one: parts.map(([before, wildcard]) => before + wildcard).join(""),
      text: parts
        .map(([before, wildcard, inside]) => before + (wildcard === "*" ? inside.replaceAll("/", "") : inside))
        .join(""),
    }));
    fc.assert(
      fc.property(filled, ({ one, text }) => {
        expect(fits(one, text)).toBe(true);
      }),
    );
  });

  it("is read to its end, and told no, on a text that was made to make that long", () => {
    expect(fits(`${"*a".repeat(40)}b`, "a".repeat(8000))).toBe(false);
  });
});

describe("a list of patterns", () => {
  it("takes what one of them takes; none at all takes anything, and an empty one nothing", () => {
    expect(fitsOne(["a", "b*"], "bc")).toBe(true);
    expect(fitsOne(["a", "b*"], "c")).toBe(false);
    expect(fitsOne(null, "c")).toBe(true);
    expect(fitsOne([], "c")).toBe(false);
  });
});
