import type { MachineRow } from "../machine/machine.ts";
import { StoreError } from "../store/db.ts";
import type { Work } from "../store/outlook.ts";
import type { Store } from "../store/store.ts";
import type { Meter } from "./budget.ts";

/**
 * What there was to do when the sweep began, read in one trip, so that phases with nothing to do ask nothing. It holds until anything else is
 * asked of the database: whatever an earlier phase reads or changes, and a lock that had to be renewed, makes the later ones ask for themselves.
 */
export interface KnownWork {
  /** The first rows whose end has come; null where that is to be asked for. */
  due(): readonly MachineRow[] | null;
  /** Whether there is nothing of that; false where it is to be asked for. */
  lacks(what: Work): boolean;
}

/** Of a sweep that has looked at nothing yet. */
export const NOTHING_KNOWN: KnownWork = { due: () => null, lacks: () => false };

/** Reads that, of what is due at most so many. A database that does not answer here says nothing: each phase asks for itself, and fails for itself. */
export async function lookAhead({ outlook }: Store, meter: Meter, now: number, most: number): Promise<KnownWork> {
  try {
    const { due, has } = await outlook.read(now, most);
    const asked = meter.statements;
    const holds = () => meter.statements === asked;
    return { due: () => (holds() ? due : null), lacks: (what) => holds() && !has[what] };
  } catch (error) {
    if (error instanceof StoreError) return NOTHING_KNOWN;
    throw error;
  }
}
