import type { Machine } from "./machine.ts";
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
