import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillIn, parseTemplate, timeOf } from "../../src/hooks/path.ts";
import { derivedName } from "../../src/machine/derived-name.ts";
import { checkName } from "../../src/machine/name.ts";

describe("a name that is made of any text", () => {
  it.each([
    ["pr-7", "pr-7"],
    ["feature/Login", /^feature-login-[a-z2-7]{10}$/],
    ["UPPER", /^upper-[a-z2-7]{10}$/],
    ["a".repeat(80), /^a{52}-[a-z2-7]{10}$/],
    ["-a-", /^a-[a-z2-7]{10}$/],
    ["世界", /^m-[a-z2-7]{10}$/],
    ["", /^m-[a-z2-7]{10}$/],
  ])("%j", async (text, name) => {
    expect(await derivedName(text)).toMatch(typeof name === "string" ? new RegExp(`^${name}$`) : name);
  });

  it("is a name whatever the text is, the same for the same text, and another for another", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 120 }), fc.string({ maxLength: 120 }), async (a, b) => {
        const name = await derivedName(a);
        expect(checkName(name).ok).toBe(true);
        expect(await derivedName(a)).toBe(name);
        // Text that UTF-8 cannot hold reads alike by its bytes.
        expect((await derivedName(b)) === name).toBe(a.toWellFormed() === b);
      }),
    );
  });
});

describe("what is put together from a payload", () => {
  const payload = { n: 7, a: { b: ["x", "y"], no: null, yes: true }, big: 2 ** 60, __proto__: { c: "1" } };

  it.each<[string, string | null]>([
    ["pr-{n}", "pr-7"],
    ["{n}{a.yes}", "7true"],
    ["{a.b.1}", "y"],
    ["{a.b}", "x"],
    ["{a.no}", null],
    ["{a}", null],
    ["{big}", null],
    ["{c}", null],
    ["{constructor.name}", null],
    ["{n.toString}", null],
    ["pr-{n}-{missing}", null],
  ])("%s", (template, text) => {
    const parsed = parseTemplate(template);
    expect(parsed).not.toBeNull();
    expect(fillIn(parsed ?? [], payload)).toBe(text);
  });

  it.each<[unknown, string | null]>([
    ["2026-11-30T12:00:00Z", "2026-11-30T12:00:00.000Z"],
    ["2026-11-30T13:00:00.5+01:00", "2026-11-30T12:00:00.500Z"],
    ["2026-11-30T13:00:00+0100", "2026-11-30T12:00:00.000Z"],
    ["2026-11-30 12:00:00 UTC", "2026-11-30T12:00:00.000Z"],
    [1_796_040_000, "2026-11-30T12:00:00.000Z"],
    ["2026-13-30T12:00:00Z", null],
    ["yesterday", null],
    ["2026-11-30", null],
    [1.5, null],
    [-1, null],
    [null, null],
  ])("a time: %j", (value, iso) => {
    const time = timeOf(value);
    expect(time === null ? null : new Date(time).toISOString()).toBe(iso);
  });
});
