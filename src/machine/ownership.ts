import { LABEL, uidIn } from "./labels.ts";
import { labelUidOf, type Machine, type MachineRow } from "./machine.ts";
import type { Rules } from "./rules.ts";
import type { Selector } from "./selector.ts";

/** Selects at the provider what is ours, and of that what `more` selects. */
export const ourSelector = (installations: readonly string[], more: Selector = {}): Selector => ({
  [LABEL.managed]: "true",
  [LABEL.installation]: installations,
  ...more,
});

/** Selects a row's machine, or without a row all that is ours. */
export const selectorOf = (row: MachineRow | null, { installations }: Pick<Rules, "installations">): Selector =>
  ourSelector(installations, row ? { [LABEL.uid]: labelUidOf(row) } : {});

/** Whether labels are our managed one and an installation of ours: all that may ever be touched (I2, P56). */
export const isOurs = ({ labels }: Pick<Machine, "labels">, installations: readonly string[]): boolean =>
  labels[LABEL.managed] === "true" && installations.includes(labels[LABEL.installation] ?? "");

/**
 * Whether a live machine is still the one a row was recorded for: managed, and of its uid, installation and, where known,
 * creation time.
 */
export const isSame = (row: MachineRow, machine: Machine): boolean =>
  machine.labels[LABEL.managed] === "true" &&
  uidIn(machine.labels) === labelUidOf(row) &&
  machine.labels[LABEL.installation] === row.installation &&
  (row.createdAt === null || machine.createdAt === null || row.createdAt === machine.createdAt);
