import type { Verdict } from "../machine/decide.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import type { Reason } from "../machine/reason.ts";
import type { StopReason } from "./pace.ts";
import type { Item, SweepReason } from "./report.ts";

/** What a batch still writes after its reads, however large it is. */
export const RECORDS = 9;

/** Which rows a phase works on, and what it does with them besides. */
export interface Queue {
  readonly name: "expire" | "settle";
  /** Calls that one row may take beside its delete. */
  readonly looks: number;
}

/** What is to become of a row, and then what became of it. */
export interface Case {
  readonly row: MachineRow;
  /** Null where none was seen. */
  readonly machine: Machine | null;
  /** A whole list does not show it, and nobody knows its id. */
  readonly isMissing: boolean;
  /** Its end is decided and written down. */
  readonly isClaimed: boolean;
  /** The provider had agreed to delete it, and did not. */
  readonly isUndeleted: boolean;
  /** `wait`: nothing can be done now. `label`: its label is behind and is to be written. */
  readonly act: Verdict["act"] | "wait" | "label";
  /** Why that was decided. */
  readonly why: Reason;
  readonly outcome: Item["outcome"];
  /** What is told of it: why it was decided, or what came in between. */
  readonly reason: SweepReason;
  readonly detail: string | null;
}

/** One whose machine is to be destroyed, or was. */
export const isDoomed = (one: Case): one is Case & { machine: Machine } =>
  one.act === "destroy" && one.machine !== null;

/** A row that is not worked on this time, and why. */
export const remaining = (row: MachineRow, reason: StopReason): Case => ({
  row,
  machine: null,
  isMissing: false,
  isClaimed: false,
  isUndeleted: false,
  act: "wait",
  why: "not_seen",
  outcome: "remaining",
  reason,
  detail: null,
});
