import { describe, expect, it } from "vitest";
import { parseLabelSelector } from "./label-selector.ts";
import type { Labels } from "./labels.ts";

const NONE: Labels = {};
const CI: Labels = { env: "ci", "example.com/team": "a", empty: "" };

describe("a label selector", () => {
  it.each([
    ["env=ci", true],
    ["env==ci", true],
    ["env = ci", true],
    ["env=CI", false],
    ["env!=ci", false],
    ["env!=prod", true],
    ["env", true],
    ["absent", false],
    ["!absent", true],
    ["! env", false],
    ["env in (prod,ci)", true],
    ["env in(prod, ci)", true],
    ["env in (prod)", false],
    ["env notin (prod)", true],
    ["env notin (prod,ci)", false],
    ["env=ci,example.com/team=a", true],
    ["env=ci , example.com/team=b", false],
    ["env,!absent,empty=", true],
    ["empty in (a,)", true],
    ["constructor", false],
    ["example.com/team", true],
    ["!example.com/team", false],
    ["example.com/team in (a,b)", true],
    ["example.com/team!=a", false],
    ["team=a", false],
    ["hetzner.cloud/any", false],
    ["empty", true],
    ["empty==", true],
    ["empty!=", false],
    ["env!=", true],
    ["empty notin ()", false],
    ["in=a", false],
    ["env=ci,env=prod", false],
  ])("%s on labelled things: %s", (selector, expected) => {
    expect(parseLabelSelector(selector)(CI)).toBe(expected);
  });

  it.each([
    ["env!=ci", true],
    ["env notin (ci)", true],
    ["env=", false],
    ["env in (ci)", false],
    ["env in ()", false],
    ["!env", true],
    ["env", false],
    ["env!=ci,env", false],
  ])("%s on things without labels: %s", (selector, expected) => {
    expect(parseLabelSelector(selector)(NONE)).toBe(expected);
  });

  it.each([
    ["env=a b", "expected comma at pos 6"],
    ["a;b", "expected comma at pos 1"],
    ["!env=ci", "expected comma at pos 4"],
    ["env=ci env=prod", "expected comma at pos 7"],
    ["a/b/c", "invalid label key 'a/b/c' at pos 5"],
    ["env=a:b", "expected comma at pos 5"],
    ["env=a,", "expected label key at pos 6"],
    [",", "expected label key at pos 0"],
    ["!", "expected label key at pos 1"],
    ["env in", "expected opening parenthesis at pos 6"],
    ["env in (a", "expected closing parenthesis at pos 9"],
    ["env in (a b)", "expected closing parenthesis at pos 10"],
    ["env inn (a)", "expected comma at pos 4"],
    ["-env", "invalid label key '-env' at pos 4"],
    ["env=-a", "invalid label value '-a' at pos 6"],
  ])("%s is refused: %s", (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(message);
  });
});
