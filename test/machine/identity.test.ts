import { expect, it } from "vitest";
import { isSame } from "../../src/machine/ownership.ts";
import { LABEL, uidIn } from "../../src/machine/labels.ts";
import { machineOf, rowOf } from "./fixtures.ts";

it("P59: a uid is compared in lower case on both sides, whatever the provider made of it; P4: none is none", () => {
  const row = rowOf({ uid: "abcdef00-0000-4000-8000-00000000000f" });
  const labels = { ...machineOf().labels, [LABEL.uid]: row.uid.toUpperCase() };
  expect(uidIn(labels)).toBe(row.uid);
  expect(isSame(row, machineOf({ labels }))).toBe(true);
  expect(uidIn({})).toBe("");
});
