import type { Machine, MachineRow } from "./machine.ts";
import { ratesOf } from "./money.ts";
import type { Doubt } from "./reason.ts";

/** What a look at the provider showed of a machine. */
export type Sighting = Present | Absent | { readonly seen: "unknown" };

/** A fresh read of it. */
export interface Present {
  readonly seen: "present";
  readonly machine: Machine;
  /** Whether an inventory pass met it, which alone may adopt. */
  readonly isInventory: boolean;
}

/** The provider does not have it, as far as the look can tell. */
export interface Absent {
  readonly seen: "absent";
  /**
   * `id`: asked for its id, the provider has nothing. `list`: a whole list by its uid did not show it. `name`: nor is there a
   * machine of its provider name.
   */
  readonly by: "id" | "list" | "name";
  /** What forbids to conclude from it; null = nothing. */
  readonly doubt: Doubt | null;
}

export const present = (machine: Machine, isInventory = false): Present => ({ seen: "present", machine, isInventory });
export const absent = (by: Absent["by"], doubt: Doubt | null): Absent => ({ seen: "absent", by, doubt });
/** The look failed, or showed only a part. */
export const UNKNOWN: Sighting = { seen: "unknown" };

/** The machine that a look showed; null where it showed none. */
export const machineIn = (sighting: Sighting): Machine | null =>
  sighting.seen === "present" ? sighting.machine : null;

/** Whether a machine that is seen has anything to be written down in its row, but that it was seen. */
export function hasNews(row: MachineRow, machine: Machine): boolean {
  const seen = { ...ratesOf(machine), createdAt: machine.createdAt };
  const learns = (what: keyof typeof seen): boolean => row[what] === null && seen[what] !== null;
  return (
    // What troubled it before is over.
    [row.missingSince, row.mismatchedSince, row.nextTryAt, row.lastError].some((trouble) => trouble !== null) ||
    row.attempts > 0 ||
    row.status !== machine.status ||
    row.arch !== machine.arch ||
    row.publicIpv4 !== machine.publicIpv4 ||
    row.publicIpv6 !== machine.publicIpv6 ||
    row.privateIpv4 !== machine.privateIpv4 ||
    LEARNT.some(learns)
  );
}

/** What a row learns where it does not know it, and keeps then. */
const LEARNT = ["createdAt", "priceMicroEur", "priceMonthMicroEur", "ipv4MicroEur", "ipv4MonthMicroEur"] as const;
