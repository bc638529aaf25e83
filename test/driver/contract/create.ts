import { describe, expect, it } from "vitest";
import { LABEL } from "../../../src/machine/labels.ts";
import type { MachineSpec } from "../../../src/machine/spec.ts";
import { failureOf, NOW, OTHER_UID, spec, UID, type OpenCloud } from "./cloud.ts";

export function describeCreate(open: OpenCloud): void {
  describe("create", () => {
    it("S37, P21: answers as soon as the machine is ordered, and does not wait for it to run", async () => {
      const { driver, offer, names } = open();
      const machine = await driver.create(spec(offer));
      expect(machine.status).toBe("creating");
      expect(machine.providerId).not.toBe("");
      expect(names()).toEqual(["ci-1"]);
    });

    it("S14, P9: the core fields alone make a machine, and come back as they were asked for", async () => {
      const { driver, offer } = open();
      const asked = spec({ ...offer, name: "core-only", labels: { team: "a" } });
      const machine = await driver.create(asked);
      expect(machine).toMatchObject({ name: "core-only", ...offer, labels: { team: "a" } });
      // The names are frozen: a rename breaks every driver out there, and this line.
      const core: Pick<MachineSpec, "name" | "region" | "serverType" | "cloudInit" | "labels"> = asked;
      expect(core.cloudInit).toBe("");
    });

    it("P2, P22: a machine has all its labels from its first moment", async () => {
      const { driver, offer } = open();
      const labels = {
        [LABEL.managed]: "true",
        [LABEL.uid]: UID,
        [LABEL.installation]: "here-1",
        [LABEL.expires]: "1796040000",
        team: "a",
        empty: "",
      };
      const { providerId } = await driver.create(spec({ ...offer, labels }));
      expect((await driver.get(providerId)).labels).toEqual(labels);
      expect(LABEL).toMatchObject({ managed: "mayfly-managed", uid: "mayfly-uid" });
    });

    it("P3: tells id, address, status, uid and time of creation", async () => {
      const { driver, offer, advance } = open();
      const created = await driver.create(spec(offer));
      advance(5000);
      expect(await driver.get(created.providerId)).toMatchObject({
        providerId: created.providerId,
        publicIpv4: created.publicIpv4,
        status: "running",
        labels: { [LABEL.uid]: UID },
        createdAt: NOW,
      });
      expect(created.publicIpv4).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    });

    it("P20: a repeat under the same name and uid is the same machine, even after it came up", async () => {
      const { driver, offer, names, advance } = open();
      const first = await driver.create(spec(offer));
      const second = await driver.create(spec(offer));
      advance(5000);
      const third = await driver.create(spec(offer));
      expect([second.providerId, third.providerId]).toEqual([first.providerId, first.providerId]);
      expect(third.status).toBe("running");
      expect(names()).toEqual(["ci-1"]);
    });

    it("P20: two creates of one name at the same time make one machine", async () => {
      const { driver, offer, names } = open();
      const made = await Promise.all([driver.create(spec(offer)), driver.create(spec(offer))]);
      expect(new Set(made.map(({ providerId }) => providerId)).size).toBe(1);
      expect(names()).toEqual(["ci-1"]);
    });

    it.each([
      ["another uid", { [LABEL.managed]: "true", [LABEL.uid]: OTHER_UID }],
      ["no uid", { [LABEL.managed]: "true" }],
      ["no labels", {}],
      ["our uid under another key", { uid: UID }],
    ])("P24: a machine of that name with %s is a stranger: named, not adopted, not touched", async (_, labels) => {
      const { driver, offer, put, names } = open();
      const providerId = put({ name: "ci-1", labels });
      const error = await failureOf(driver.create(spec(offer)));
      expect(error).toMatchObject({ code: "name_taken", retryable: false, ambiguous: false });
      expect(error.existing).toMatchObject({ providerId, name: "ci-1", labels });
      expect((await driver.get(providerId)).labels).toEqual(labels);
      expect(names()).toEqual(["ci-1"]);
    });

    it("P24: a spec without a uid adopts nothing, not even a machine without one", async () => {
      const { driver, offer, put } = open();
      put({ name: "ci-1", labels: { team: "a" } });
      const error = await failureOf(driver.create(spec({ ...offer, labels: { team: "a" } })));
      expect(error.code).toBe("name_taken");
    });

    it.each([
      ["region", { region: "" }],
      ["server_type", { serverType: "" }],
      ["image", { image: "" }],
      ["name", { name: "" }],
    ])("S36, P10: without a %s nothing is ordered, and the field is named", async (field, missing) => {
      const { driver, offer, names } = open();
      const error = await failureOf(driver.create(spec({ ...offer, ...missing })));
      expect(error).toMatchObject({ code: "invalid_input", retryable: false, ambiguous: false, problem: { field } });
      expect(names()).toEqual([]);
    });
  });
}
