import { DriverError } from "../driver/driver.ts";
import { ourSelector } from "../machine/ownership.ts";
import { LABEL } from "../machine/labels.ts";
import { labelUidOf, type Machine, type MachineRow } from "../machine/machine.ts";
import type { PhaseContext } from "./phase.ts";

/** Twice as many as there are rows to ask for: more is an answer to another question. */
const MOST = 100;

/**
 * The machines of up to fifty rows, in one list. A failure is no proof of anything, and is told beside what was read before
 * it; nor is absence from a whole list. A machine without readable labels may be any of them, so a list with one is not whole.
 */
export async function listByUid(
  { driver, rules }: Pick<PhaseContext, "driver" | "rules">,
  rows: readonly MachineRow[],
): Promise<{ machines: readonly Machine[]; failure: string | null }> {
  const selector = ourSelector(rules.installations, { [LABEL.uid]: rows.map(labelUidOf) });
  try {
    const machines = await driver.list(selector, { enough: MOST });
    const isReadable = machines.every(({ hasLabels }) => hasLabels);
    return { machines, failure: isReadable ? null : "the provider shows labels that cannot be read" };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { machines: error.partial ?? [], failure: error.message };
  }
}
