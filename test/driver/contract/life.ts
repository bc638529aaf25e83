import { describe, expect, it } from "vitest";
import { DriverError, isNotFound } from "../../../src/driver/driver.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import { LIVE_STATUSES, STATUSES } from "../../../src/machine/machine.ts";
import { reapOlderThan } from "../../../src/reaper/reap-older-than.ts";
import { failureOf, HOUR, spec, UID, type OpenCloud } from "./cloud.ts";

export function describeLife(open: OpenCloud): void {
  describe("one machine", () => {
    it("S13: create, get, list, destroy, get, destroy again", async () => {
      const { driver, offer, advance, names } = open();
      const { providerId } = await driver.create(spec(offer));
      advance(5000);
      const machine = await driver.get(providerId);
      expect(machine.status).toBe("running");
      expect(await driver.list({ [LABEL.uid]: UID })).toEqual([machine]);
      await driver.destroy(providerId);
      expect((await failureOf(driver.get(providerId))).code).toBe("not_found");
      await expect(driver.destroy(providerId)).resolves.toBeUndefined();
      expect(names()).toEqual([]);
    });

    it("S11, P13: offers five operations and nothing else", () => {
      expect(Object.keys(open().driver).toSorted()).toEqual(["create", "destroy", "get", "list", "priceEurPerHour"]);
    });

    it("S12: is all that the reaper needs", async () => {
      const { driver, put, now, names } = open();
      const labels = { [LABEL.managed]: "true" };
      const old = put({ name: "old", labels, createdAt: now() - 3 * HOUR });
      put({ name: "young", labels, createdAt: now() - HOUR });
      put({ name: "foreign", createdAt: now() - 3 * HOUR });
      const reaped = await reapOlderThan(driver, {
        selector: labels,
        createdLabel: LABEL.created,
        maxAgeMs: 2 * HOUR,
        now: now(),
      });
      expect(reaped.destroyed).toEqual([old]);
      expect(names()).toEqual(["foreign", "young"]);
    });

    it("S1, S2, P1: shows a status of ours, whatever the provider calls it", async () => {
      const { driver, offer, put } = open();
      await driver.create(spec(offer));
      for (const status of ["running", "stopped", "deleting"] as const) put({ name: status, status });
      const machines = await driver.list({});
      expect(machines.map(({ name, status }) => [name, status])).toEqual([
        ["ci-1", "creating"],
        ["running", "running"],
        ["stopped", "stopped"],
        ["deleting", "deleting"],
      ]);
      expect(LIVE_STATUSES).toEqual(["creating", "running", "stopped", "deleting", "unknown"]);
      expect(STATUSES).toEqual([...LIVE_STATUSES, "destroyed"]);
    });

    it("S8, P40: absence is an ordinary, final answer that is told by its code", async () => {
      const { driver, absentId } = open();
      const error = await failureOf(driver.get(absentId));
      expect(error).toMatchObject({ code: "not_found", retryable: false, ambiguous: false });
      expect(isNotFound(error)).toBe(true);
      expect(isNotFound(new DriverError("unavailable", error.message))).toBe(false);
      expect(isNotFound(new Error("not_found"))).toBe(false);
    });

    it("S45: destroy ends the one machine that it names", async () => {
      const { driver, put, names } = open();
      const doomed = put({ name: "doomed" });
      put({ name: "spared" });
      await driver.destroy(doomed);
      expect(names()).toEqual(["spared"]);
    });

    it("S9, S46, P49: destroying what is not there succeeds", async () => {
      const { driver, absentId } = open();
      await expect(driver.destroy(absentId)).resolves.toBeUndefined();
    });

    it("S47, P50: destroying again, or many times at once, succeeds", async () => {
      const { driver, put, names } = open();
      const doomed = put({ name: "doomed" });
      put({ name: "spared" });
      await Promise.all([driver.destroy(doomed), driver.destroy(doomed), driver.destroy(doomed)]);
      await driver.destroy(doomed);
      expect(names()).toEqual(["spared"]);
    });

    it("S49: a machine that its provider protects stays, and the refusal says so", async () => {
      const { driver, put, names } = open();
      const kept = put({ name: "kept", deleteProtected: true });
      expect(await driver.get(kept)).toMatchObject({ deleteProtected: true });
      expect(await failureOf(driver.destroy(kept))).toMatchObject({ code: "protected", retryable: false });
      expect(names()).toEqual(["kept"]);
    });

    it("P4: a machine without a uid can be read", async () => {
      const { driver, put } = open();
      const machine = await driver.get(put({ name: "anonymous", labels: { team: "a" } }));
      expect(machine.labels).toEqual({ team: "a" });
    });

    it("P5: a machine without an address yet is no error", async () => {
      const { driver, put } = open();
      expect(await driver.get(put({ name: "bare", publicIpv4: "" }))).toMatchObject({ name: "bare", publicIpv4: "" });
    });

    it("P6: the address is read anew each time and is no part of what a machine is", async () => {
      const { driver, put, readdress } = open();
      const providerId = put({ name: "mover", publicIpv4: "192.0.2.7" });
      const before = await driver.get(providerId);
      await readdress(providerId, "192.0.2.99");
      expect(await driver.get(providerId)).toEqual({ ...before, publicIpv4: "192.0.2.99" });
    });

    it("P7: an id is one opaque text everywhere", async () => {
      const { driver, offer } = open();
      const { providerId } = await driver.create(spec(offer));
      const [listed] = await driver.list({});
      expect([listed?.providerId, (await driver.get(providerId)).providerId]).toEqual([providerId, providerId]);
    });

    it("P8: an id of another provider, or of none, is refused as such and never as absent", async () => {
      const { driver, put, names, foreignIds } = open();
      put({ name: "bystander" });
      for (const id of foreignIds)
        for (const refused of [failureOf(driver.get(id)), failureOf(driver.destroy(id))])
          expect([id, await refused]).toMatchObject([
            id,
            { code: "invalid_input", retryable: false, ambiguous: false },
          ]);
      expect(names()).toEqual(["bystander"]);
    });

    it("S81: what can be ordered has a price, and the machine shows the same one", async () => {
      const { driver, offer } = open();
      const price = await driver.priceEurPerHour(offer.region, offer.serverType);
      expect(price).toBeGreaterThan(0);
      expect((await driver.create(spec(offer))).priceEurPerHour).toBe(price);
    });

    it("S82, X12: a price that nobody knows is null: no error, and not free", async () => {
      const { driver, offer } = open();
      expect(await driver.priceEurPerHour(offer.region, "no-such-type")).toBeNull();
      expect(await driver.priceEurPerHour(offer.region, "constructor")).toBeNull();
    });
  });
}
