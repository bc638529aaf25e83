/** What holds of a name that stands for one call and its repeats, as that of an Idempotency-Key does. */
import type { MachineRow } from "../machine/machine.ts";
import { known, RELEASED, type Created } from "./record.ts";
import { refused, type Outcome, type Refusal } from "./refusal.ts";

/** Whether a machine has ended since then that was there, or may have been. `since` null = no matter. */
export const hasEndedSince = ({ phase, reason, destroyedAt }: MachineRow, since: number | null): boolean =>
  since !== null && (destroyedAt ?? 0) > since && (phase !== "failed" || reason === "never_seen");

/** What is told of a machine on its way out: whoever waited until it is gone would wait in vain, for no other is made then. */
export const whileEnding = (row: MachineRow): Outcome<Created> =>
  row.phase === "destroying" ? known(row) : refused(EXPIRED);

/** A create's outcome in words that fit a key: of it comes the one name, and no repeat makes another machine in place of one that went. */
export function toldOnce(outcome: Outcome<Created>): Outcome<Created> {
  if (outcome.ok) return outcome;
  const { refusal } = outcome;
  if (refusal === RELEASED) return refused(RELEASED_ONCE);
  return refusal.code === "name_taken" ? refused({ ...refusal, next: ANOTHER_NAME }) : outcome;
}

const ANOTHER_NAME = "Use another key: the name that comes of this one is taken at the provider.";
const ANOTHER = "Use another key for another machine: under this one none is made for a day.";
const EXPIRED: Refusal = {
  code: "expired",
  message: "The lease of the machine that was made with this Idempotency-Key has ended.",
  next: ANOTHER,
};
const RELEASED_ONCE: Refusal = { ...RELEASED, next: ANOTHER };
