import type { Machine } from "../machine/machine.ts";
import { matches, type Selector } from "../machine/selector.ts";
import { DriverError, type Driver } from "./driver.ts";

/**
 * The one way to a delete. Takes the machine as it was just read, never an id that an answer or a row told, and refuses one whose labels
 * are not what was meant (I2): `conflict`, and nobody is asked.
 */
export async function destroySeen(driver: Driver, seen: Machine, meant: Selector): Promise<void> {
  if (!seen.hasLabels || !matches(seen.labels, meant))
    throw new DriverError("conflict", "the machine that was read is not the one that was meant");
  await driver.destroy(seen.providerId);
}
