import { DriverError, type Driver, type ListOptions } from "../driver/driver.ts";
import { creationStamp } from "../machine/age.ts";
import type { Machine } from "../machine/machine.ts";
import type { Selector } from "../machine/selector.ts";

/** Mostly nothing is as old as what is asked for, and so many of the oldest tell. */
const FEW = 10;

/** A few of the oldest, and whether they are all that may be as old as what is asked for. */
interface Few {
  readonly machines: readonly Machine[];
  readonly areAll: boolean;
}

/** Reads a page of the oldest that costs little. A doubt in it is for the whole list to tell of; other failures surface. */
export async function fewOldest(driver: Driver, selector: Selector, options: ListOptions): Promise<Few> {
  try {
    const machines = await driver.list(selector, { ...options, enough: FEW });
    const stamps = machines.map((machine) => creationStamp(machine) ?? -Infinity);
    const isInOrder = stamps.every((stamp, index) => stamp >= (stamps[index - 1] ?? 0));
    const isPast = isInOrder && (stamps.at(-1) ?? 0) > (options.olderThan ?? Infinity);
    return { machines, areAll: machines.length < FEW || isPast };
  } catch (error) {
    if (!(error instanceof DriverError) || error.code !== "unexpected") throw error;
    return { machines: error.partial ?? [], areAll: false };
  }
}

/** A list behind one that has shown a few already: where it fails and shows fewer, those count. */
export async function listBehind(
  few: readonly Machine[],
  list: () => Promise<readonly Machine[]>,
): Promise<readonly Machine[]> {
  try {
    return await list();
  } catch (error) {
    if (!(error instanceof DriverError) || (error.partial ?? []).length >= few.length) throw error;
    throw error.with({ partial: few });
  }
}
