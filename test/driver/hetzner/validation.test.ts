import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLabelKey, isLabelValue, LABEL } from "../../../src/machine/labels.ts";
import { isUid } from "../../../src/machine/name.ts";
import type { MachineSpec } from "../../../src/machine/spec.ts";
import { failureOf, spec } from "../contract/cloud.ts";
import { openCanned, openSimulated, refusal } from "./bench.ts";

/** The field that a spec is refused for, before anything is sent; null when the simulated Hetzner made the machine. */
async function refusedField(over: Partial<MachineSpec>): Promise<string | null> {
  const { driver, sent, sim } = openSimulated();
  const outcome: unknown = await driver.create(spec(over)).catch((error: unknown) => error);
  if (!(outcome instanceof Error)) return sim.state().servers.length === 1 ? null : "made nothing";
  const error = await failureOf(Promise.reject(outcome));
  expect([error.code, sent.length]).toEqual(["invalid_input", 0]);
  return error.problem?.field ?? "";
}

describe("what never reaches Hetzner", () => {
  it("S21: a machine that nothing could reach", async () => {
    expect(await refusedField({ enableIpv4: false, enableIpv6: false })).toBe("enable_ipv6");
  });

  it.each([
    ["a", null],
    ["a".repeat(63), null],
    ["0-digit-leads", null],
    ["a".repeat(64), "name"],
  ])("S23, P16: the name %s is refused for: %s", async (name, field) => {
    expect(await refusedField({ name })).toBe(field);
  });

  it.each(["", "Upper", "ci_job", "-a", "a-", "a.b", "a b", "ä", "a\n", "A.b-1", "a".repeat(64)])(
    "S24, case 33: %j is no name",
    async (name) => {
      expect(await refusedField({ name })).toBe("name");
    },
  );

  it("S24: whatever text is given, either it is a plain name or it stays here", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.stringMatching(/^[a-zA-Z0-9._-]{0,70}$/)), async (name) => {
        const isPlain = /^[a-z0-9-]{1,63}$/.test(name) && !name.startsWith("-") && !name.endsWith("-");
        expect(await refusedField({ name })).toBe(isPlain ? null : "name");
      }),
      { numRuns: 60 },
    );
  });

  it("S25: what the local check lets pass and Hetzner refuses comes back with Hetzner's field and rule", async () => {
    const fields = [{ name: "name", messages: ["Name must be a valid hostname.", "Or another."] }];
    const { driver, sent } = openCanned(() => refusal(422, "invalid_input", { fields }));
    expect(await failureOf(driver.create(spec({ name: "bad_name" })))).toMatchObject({ problem: { field: "name" } });
    expect(sent).toEqual([]);
    expect(await failureOf(driver.create(spec()))).toMatchObject({
      code: "invalid_input",
      status: 422,
      retryable: false,
      ambiguous: false,
      problem: { field: "name", rule: "Name must be a valid hostname.; Or another." },
    });
    expect(sent).toHaveLength(1);
  });

  it.each([null, { fields: null }, { fields: [] }, "odd"])("S25: the details may also be %j", async (details) => {
    const { driver } = openCanned(() => refusal(422, "invalid_input", details));
    expect(await failureOf(driver.create(spec()))).toMatchObject({
      code: "invalid_input",
      problem: { field: "body", rule: "says invalid_input" },
    });
  });

  it.each([
    ["32768 letters", "x".repeat(32_768), null],
    ["32769 letters", "x".repeat(32_769), "cloud_init"],
    ["16384 two-byte characters", "é".repeat(16_384), null],
    ["32767 two-byte characters", "é".repeat(32_767), "cloud_init"],
    ["8192 butterflies", "🦋".repeat(8192), null],
    ["8192 butterflies and a letter", `${"🦋".repeat(8192)}x`, "cloud_init"],
    ["11000 three-byte characters", "€".repeat(11_000), "cloud_init"],
    ["half a character", "\ud83e", "cloud_init"],
  ])("S26, case 27: cloud-init of %s", async (_, cloudInit, field) => {
    expect(await refusedField({ cloudInit })).toBe(field);
  });
});

describe("labels", () => {
  const key = (text: string): string => (text.length > 40 ? "a long one" : text);

  it.each(
    ["a", "A", "0", "a.b_c-d", "x".repeat(63), "example.com/my", `${"a.".repeat(126)}b/n`].map((k) => [key(k), k]),
  )("S29, case 25: accepts the key %s", async (_, name) => {
    expect(await refusedField({ labels: { [name]: "1" } })).toBeNull();
  });

  it.each(
    ["", "-a", "a-", ".a", "a b", "a:b", "a=b", "ä", "x".repeat(64), "/a", "a/", "a/b/c", "Example.com/my", "a,b"]
      .concat(`${"a.".repeat(127)}b/n`)
      .map((k) => [key(k), k]),
  )("S29, case 25: refuses the key %j", async (_, name) => {
    expect(await refusedField({ labels: { [name]: "1" } })).toMatch(/^labels\./);
  });

  it.each(["", "1", "A.b_c-d", "x".repeat(63), "1796040000"])("S30, case 25: accepts the value %j", async (value) => {
    expect(await refusedField({ labels: { a: value } })).toBeNull();
  });

  it.each(["a:b", "-a", "a-", "a b", "x".repeat(64), "https://x.y", "ä", "a\n", "2026-11-30T12:00:00Z+1"])(
    "S30, case 25: refuses the value %j",
    async (value) => {
      expect(await refusedField({ labels: { a: value } })).toBe("labels.a");
    },
  );

  it.each([
    "hetzner.cloud/x",
    "karpenter.hetzner.cloud/x",
    "a.hetzner.cloud.b/x",
    "hetzner.cloudy/x",
    "x-hetzner.cloud/x",
  ])("S31, case 25: refuses the key %s: Hetzner keeps every key with its own name in it", async (name) => {
    expect(await refusedField({ labels: { [name]: "1" } })).toBe(`labels.${name}`);
  });

  it("S31: takes a key that only resembles it", async () => {
    for (const name of ["hetzner-cloud/x", "hetzner.clou.d/x", "hetzner.com/cloud", "cloud.hetzner/x"])
      expect(await refusedField({ labels: { [name]: "1" } })).toBeNull();
  });

  it("S29, S30: what passes the local check, the simulated Hetzner takes as well", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[A-Za-z0-9._/-]{1,12}$/),
        fc.string({ maxLength: 8 }),
        async (name, value) => {
          const isFine = isLabelKey(name) && isLabelValue(value);
          expect((await refusedField({ labels: { [name]: value } })) === null).toBe(isFine);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("P16, P17: a uid fits a label unchanged, and what is no canonical UUID is no uid", async () => {
    fc.assert(
      fc.property(fc.uuid(), (uid) => {
        expect([isUid(uid), isLabelValue(uid)]).toEqual([true, true]);
        expect(isUid(`${uid}0`)).toBe(false);
      }),
    );
    expect(["", "ABCDEF01-0000-4000-8000-000000000000", "not-a-uuid"].map(isUid)).toEqual([false, false, false]);
    const uid = "00000000-0000-4000-8000-000000000001";
    expect((await openSimulated().driver.create(spec({ labels: { [LABEL.uid]: uid } }))).labels[LABEL.uid]).toBe(uid);
  });
});
