import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkCallerLabels,
  checkProviderLabels,
  isLabelKey,
  isLabelValue,
  isReservedKey,
  LABEL,
} from "../../src/machine/labels.ts";
import { counterexample } from "./fixtures.ts";

const fieldOf = (checked: ReturnType<typeof checkProviderLabels>): string | null =>
  checked.ok ? null : checked.problem.field;

/** A DNS name of that many characters, in labels of at most 63. */
const dnsName = (length: number): string => "a".repeat(length).replace(/(.{62})./g, "$1.");

describe("a label key", () => {
  it.each([
    "a",
    "A9",
    "team",
    "a-b_c.d",
    "9lives",
    "k".repeat(63),
    "example.com/my",
    "a/b",
    `${dnsName(253)}/${"k".repeat(63)}`,
  ])("S29: %j is a DNS prefix or none, and a name of at most 63", (key) => {
    expect(isLabelKey(key)).toBe(true);
    expect(checkProviderLabels({ [key]: "v" }).ok).toBe(true);
  });

  it.each([
    "",
    "-a",
    "a-",
    ".a",
    "a b",
    "a:b",
    "a=b",
    "ä",
    "k".repeat(64),
    "/a",
    "a/",
    "a/b/c",
    "Example.com/my",
    "example..com/my",
    "-example.com/my",
    `${"a".repeat(64)}.com/my`,
    `${dnsName(254)}/my`,
    "a\n",
    "__proto__",
  ])("S29: %j is no key", (key) => {
    expect(isLabelKey(key)).toBe(false);
    expect(checkProviderLabels({ [key]: "v" }).ok).toBe(false);
  });
});

describe("a label value", () => {
  it.each(["", "a", "A.b_c-9", "v".repeat(63), "1752573600"])(
    "S30: %j is empty, or at most 63 between two letters or digits",
    (value) => {
      expect(isLabelValue(value)).toBe(true);
      expect(checkProviderLabels({ team: value }).ok).toBe(true);
    },
  );

  it.each(["v".repeat(64), "a-", "-a", "_a", "a b", "a:b", "https://a", "ä", "a\n", " "])(
    "S30: %j is no value, and the refusal names its key",
    (value) => {
      expect(isLabelValue(value)).toBe(false);
      expect(fieldOf(checkProviderLabels({ fine: "v", team: value }))).toBe("labels.team");
    },
  );
});

it.each([
  "hetzner.cloud/x",
  "hetzner.cloud/",
  "karpenter.hetzner.cloud/x",
  "hetzner.cloud.example.com/x",
  "hetzner.cloud",
])("S31: %j has in it what the provider keeps for itself", (key) => {
  expect(checkProviderLabels({ [key]: "v" })).toMatchObject({ ok: false, problem: { field: `labels.${key}` } });
  expect(checkCallerLabels({ [key]: "v" }).ok).toBe(false);
});

it("S31: what only resembles it is free", () => {
  expect(checkProviderLabels({ "hetzner-cloud/x": "v", "cloud.hetzner/x": "v" }).ok).toBe(true);
});

describe("a caller's labels", () => {
  it.each(Object.values(LABEL))("cannot set %s", (key) => {
    expect(isReservedKey(key)).toBe(true);
    expect(fieldOf(checkCallerLabels({ [key]: "v" }))).toBe(`labels.${key}`);
    expect(checkProviderLabels({ [key]: "v" }).ok).toBe(true);
  });

  it("cannot set what mayfly may come to set later", () => {
    expect(checkCallerLabels({ "mayfly-anything": "v" }).ok).toBe(false);
    expect(checkCallerLabels({ "mayfly.example.com/x": "v", createdby: "v" }).ok).toBe(true);
  });

  it("are at most 32", () => {
    const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));
    expect(checkCallerLabels(labels(32)).ok).toBe(true);
    expect(fieldOf(checkCallerLabels(labels(33)))).toBe("labels");
  });

  it("are refused without repeating a key of any length", () => {
    const checked = checkCallerLabels({ [`mayfly-${"x".repeat(5000)}`]: "v" });
    expect(fieldOf(checked)?.length).toBeLessThan(100);
    expect(fieldOf(checkCallerLabels({ ["x".repeat(5000)]: "v" }))?.length).toBeLessThan(100);
  });

  it("are judged without throwing, whatever they hold", () => {
    const isFine = ([key, value]: [string, string]) => isLabelKey(key) && isLabelValue(value) && !isOurs(key);
    const likely = fc.string({ unit: fc.constantFrom("a", "-", "/", "."), maxLength: 4 });
    expect(
      counterexample(
        fc.oneof(fc.dictionary(likely, likely), fc.dictionary(fc.string(), fc.string())),
        (labels) => checkCallerLabels(labels).ok === Object.entries(labels).every(isFine),
      ),
    ).toBeNull();
  });
});

const isOurs = (key: string): boolean => isReservedKey(key) || key.startsWith("hetzner.cloud/");
