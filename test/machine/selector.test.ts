import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLabelKey, isLabelValue } from "../../src/machine/labels.ts";
import { matches, parseImageSelector, parseLabelSelector } from "../../src/machine/selector.ts";
import { counterexample } from "./fixtures.ts";

describe("matches", () => {
  const labels = { team: "a", env: "ci", empty: "" };

  it.each([
    [{}, true],
    [{ team: "a" }, true],
    [{ team: "a", env: "ci" }, true],
    [{ team: "a", env: "prod" }, false],
    [{ team: "A" }, false],
    [{ absent: "" }, false],
    [{ empty: "" }, true],
    [{ team: ["b", "a"] }, true],
    [{ team: ["b"] }, false],
    [{ team: [] }, false],
    [{ constructor: "a" }, false],
  ])("every key must match, a list means one of these: %j is %s", (selector, expected) => {
    expect(matches(labels, selector)).toBe(expected);
  });
});

describe("parseLabelSelector", () => {
  it.each([
    ["", []],
    ["  ", []],
    ["team", [{ test: "exists", key: "team" }]],
    ["!team", [{ test: "absent", key: "team" }]],
    ["team=a", [{ test: "in", key: "team", values: ["a"] }]],
    ["team==a", [{ test: "in", key: "team", values: ["a"] }]],
    ["team = a", [{ test: "in", key: "team", values: ["a"] }]],
    ["team=", [{ test: "in", key: "team", values: [""] }]],
    ["team!=a", [{ test: "notin", key: "team", values: ["a"] }]],
    ["team in (a,b)", [{ test: "in", key: "team", values: ["a", "b"] }]],
    ["team in( a , b )", [{ test: "in", key: "team", values: ["a", "b"] }]],
    ["team notin (a,)", [{ test: "notin", key: "team", values: ["a", ""] }]],
    ["in in (in)", [{ test: "in", key: "in", values: ["in"] }]],
    [
      "example.com/team in (a,b), env!=ci ,!old",
      [
        { test: "in", key: "example.com/team", values: ["a", "b"] },
        { test: "notin", key: "env", values: ["ci"] },
        { test: "absent", key: "old" },
      ],
    ],
  ])("reads %j", (text, terms) => {
    expect(parseLabelSelector(text)).toEqual({ ok: true, value: terms });
  });

  it.each([
    ",",
    "team=a,",
    "team=a b",
    "team=a:b",
    "team=-a",
    "-team",
    "team inn (a)",
    "team in",
    "team in (a",
    "team in (a b)",
    "team in a,b)",
    "!team=a",
    "team=a;env=b",
    "team=a&per_page=1",
    "My Team, prod",
    "mayfly-owner=tok.other",
    "!mayfly-managed",
    "created",
  ])("refuses %j", (text) => {
    expect(parseLabelSelector(text)).toMatchObject({ ok: false, problem: { field: "label_selector" } });
  });

  it("takes ten terms, and not eleven", () => {
    const terms = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`).join(",");
    expect(parseLabelSelector(terms(10)).ok).toBe(true);
    expect(parseLabelSelector(terms(11)).ok).toBe(false);
  });

  it("takes 4096 characters, and not one more", () => {
    const list = (length: number) => `team in (${"a,".repeat(5000)}`.slice(0, length - 1) + ")";
    expect(parseLabelSelector(list(4096)).ok).toBe(true);
    expect(parseLabelSelector(list(4097)).ok).toBe(false);
    expect(parseLabelSelector(",".repeat(100_000)).ok).toBe(false);
  });

  it("never throws, and lets nothing through that a label could not be", () => {
    const pieces = fc.constantFrom(
      "a",
      "b",
      "-",
      "/",
      ".",
      "=",
      "!=",
      "!",
      "(",
      ")",
      ",",
      " ",
      " in ",
      " notin ",
      "\n",
    );
    const likely = fc.array(pieces, { maxLength: 20 }).map((some) => some.join(""));
    expect(
      counterexample(fc.oneof(fc.string({ unit: "binary" }), likely), (text) => {
        const parsed = parseLabelSelector(text);
        const terms = parsed.ok ? parsed.value : [];
        return terms.every((term) => isLabelKey(term.key) && (!("values" in term) || term.values.every(isLabelValue)));
      }),
    ).toBeNull();
  });
});

describe("parseImageSelector", () => {
  it.each(["role", "role=base", "role=", "role in (a,b)", "!gone,role", "a!=b,role=base"])("takes %j", (text) => {
    expect(parseImageSelector(text)).toEqual(parseLabelSelector(text));
  });

  it.each(["", " ", "!role", "role!=base", "role notin (a,b)", "!a,b!=c,d notin (e)"])(
    "refuses %j, which asks for no label to be there and so may mean anybody's snapshot",
    (text) => {
      expect(parseImageSelector(text)).toMatchObject({ ok: false, problem: { field: "image.label_selector" } });
    },
  );

  it("refuses what is no selector", () => {
    expect(parseImageSelector("a b", "image")).toMatchObject({ ok: false, problem: { field: "image" } });
  });
});
