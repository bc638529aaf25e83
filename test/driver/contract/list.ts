import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Machine } from "../../../src/machine/machine.ts";
import { HOUR, MINUTE, type OpenCloud } from "./cloud.ts";

const MANAGED = { [LABEL.managed]: "true" };
const namesOf = (machines: readonly Machine[]): string[] => machines.map(({ name }) => name).toSorted();

export function describeList(open: OpenCloud): void {
  describe("list", () => {
    it("S71: a machine must match every key", async () => {
      const { driver, put } = open();
      put({ name: "both", labels: { a: "1", b: "2" } });
      put({ name: "only-a", labels: { a: "1" } });
      put({ name: "other-b", labels: { a: "1", b: "3" } });
      put({ name: "none" });
      expect(namesOf(await driver.list({ a: "1", b: "2" }))).toEqual(["both"]);
      expect(namesOf(await driver.list({ a: "1" }))).toEqual(["both", "only-a", "other-b"]);
    });

    it("S71: a list of values means one of them, and an empty list means none", async () => {
      const { driver, put } = open();
      for (const b of ["1", "2", "3", ""]) put({ name: `b${b}`, labels: { a: "x", b } });
      expect(namesOf(await driver.list({ b: ["1", "3", "9"] }))).toEqual(["b1", "b3"]);
      expect(namesOf(await driver.list({ a: "x", b: ["2"] }))).toEqual(["b2"]);
      expect(await driver.list({ a: "x", b: [] })).toEqual([]);
    });

    it("S71: an empty value is a value", async () => {
      const { driver, put } = open();
      put({ name: "empty", labels: { a: "" } });
      put({ name: "absent" });
      put({ name: "full", labels: { a: "1" } });
      expect(namesOf(await driver.list({ a: "" }))).toEqual(["empty"]);
    });

    it("S74: an empty selector is everything, strangers included", async () => {
      const { driver, put } = open();
      put({ name: "ours", labels: MANAGED });
      put({ name: "foreign" });
      expect(namesOf(await driver.list({}))).toEqual(["foreign", "ours"]);
    });

    it("S78: no match is an empty list", async () => {
      const { driver, put } = open();
      expect(await driver.list({})).toEqual([]);
      put({ name: "other", labels: { a: "1" } });
      expect(await driver.list({ a: "2" })).toEqual([]);
      // Every object has one of these, and no machine here has this label.
      expect(await driver.list({ constructor: "x" })).toEqual([]);
    });

    it("P54: everything ever marked as ours is listed, whatever its state, and each once", async () => {
      const { driver, put } = open();
      const states = ["running", "stopped", "deleting"] as const;
      const ours = Array.from({ length: 120 }, (_, index) =>
        put({ name: `m${index}`, labels: MANAGED, status: states[index % states.length] ?? "running" }),
      );
      put({ name: "foreign" });
      const listed = await driver.list(MANAGED);
      expect(listed.map(({ providerId }) => providerId).toSorted()).toEqual(ours.toSorted());
    });

    it("P55: one without a uid is listed like any other", async () => {
      const { driver, put } = open();
      put({ name: "anonymous", labels: MANAGED });
      const [listed] = await driver.list(MANAGED);
      expect(listed?.labels).toEqual(MANAGED);
    });

    it("P56: another value of the mark is no mark", async () => {
      const { driver, put } = open();
      for (const value of ["false", "True", "TRUE", "1", ""])
        put({ name: `m-${value}`, labels: { [LABEL.managed]: value } });
      expect(await driver.list(MANAGED)).toEqual([]);
    });

    it("with `olderThan` nothing that is older is missing, and what has no age hides nothing", async () => {
      const { driver, put, now } = open();
      const olderThan = now() - 2 * HOUR;
      // Made youngest first, so that neither ids nor insertion are in the order of age.
      const old = Array.from({ length: 130 }, (_, index) =>
        put({ name: `m${index}`, labels: MANAGED, createdAt: now() - (index + 1) * MINUTE * 2 }),
      ).slice(60);
      put({ name: "ageless", labels: MANAGED, createdAt: null });
      const listed = await driver.list(MANAGED, { olderThan });
      expect(listed.map(({ providerId }) => providerId)).toEqual(expect.arrayContaining(old));
      const ages = listed.flatMap(({ createdAt }) => createdAt ?? []);
      expect(ages).toEqual(ages.toSorted((a, b) => a - b));
    });
  });
}
