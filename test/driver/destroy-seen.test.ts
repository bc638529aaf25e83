import { describe, expect, it } from "vitest";
import { destroySeen } from "../../src/driver/destroy-seen.ts";
import { createMemoryDriver } from "../../src/driver/memory.ts";
import { LABEL } from "../../src/machine/labels.ts";
import { failureOf, NOW, OTHER_UID, spec, UID } from "./contract/cloud.ts";

describe("a delete (I2)", () => {
  async function open() {
    const driver = createMemoryDriver({ now: () => NOW });
    const seen = await driver.create(spec());
    const left = async () => (await driver.list({})).length;
    return { driver, seen, left };
  }

  it("takes the machine that was read and was meant", async () => {
    const { driver, seen, left } = await open();
    await destroySeen(driver, seen, { [LABEL.managed]: "true", [LABEL.uid]: UID });
    expect(await left()).toBe(0);
  });

  it("is refused, before anybody is asked, where what was read is not what was meant", async () => {
    const { driver, seen, left } = await open();
    const failures = [
      await failureOf(destroySeen(driver, seen, { [LABEL.managed]: "true", [LABEL.uid]: OTHER_UID })),
      await failureOf(destroySeen(driver, { ...seen, labels: {} }, { [LABEL.managed]: "true" })),
      await failureOf(destroySeen(driver, { ...seen, hasLabels: false }, { [LABEL.managed]: "true" })),
    ];
    expect(failures.map(({ code }) => code)).toEqual(["conflict", "conflict", "conflict"]);
    expect(await left()).toBe(1);
  });
});
