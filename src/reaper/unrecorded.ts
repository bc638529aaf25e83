import { accountIn, LABEL, uidIn } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { ratesOf } from "../machine/money.ts";
import { isUid } from "../machine/name.ts";
import type { RowReason } from "../machine/reason.ts";
import type { Unrecorded } from "../store/event-store.ts";
import type { PhaseContext } from "./context.ts";

/** A machine that a sweep has destroyed. */
export interface Gone {
  readonly machine: Machine;
  readonly row: MachineRow | null;
  readonly reason: RowReason;
}

/**
 * Leaves an event of each machine that is proven to be gone and had no row, or whose row had ended before: nothing else would tell of its end. What it was
 * is told by its labels. Where its row had ended before, it is charged until now. Two statements at most, and none where there is
 * nothing to tell.
 */
export async function tellUnrecorded({ store, now }: PhaseContext, gone: readonly Gone[]): Promise<void> {
  const unrecorded = gone.filter(({ row }) => row === null || !isLive(row));
  await store.events.tellDestroyed(unrecorded.map(toEvent), now());
  const ended = unrecorded.flatMap(({ row, machine }) => (row === null ? [] : [{ uid: row.uid, machine }]));
  await store.endings.endLater(ended, now());
}

/**
 * Of machines that the provider has agreed to delete, those whose rows had ended before: they are charged until now at the least, and their rows
 * are open again, so that they are followed to the proof, and their ends told, as of any other. Two statements at most.
 */
export async function followUnproven({ store, now }: PhaseContext, deleted: readonly Gone[]): Promise<void> {
  const late = deleted.flatMap(({ row, machine, reason }) =>
    row === null || isLive(row) ? [] : [{ uid: row.uid, machine, reason }],
  );
  await store.endings.endLater(late, now());
  await store.endings.reopen(late, now());
}

function toEvent({ machine, reason }: Gone): Unrecorded {
  const { labels, providerId, createdAt } = machine;
  const uid = uidIn(labels);
  const owner = labels[LABEL.owner] ?? null;
  return {
    uid: isUid(uid) ? uid : null,
    owner,
    account: owner === null ? null : (accountIn(labels) ?? owner),
    name: labels[LABEL.name] ?? null,
    createdAt,
    ...ratesOf(machine),
    hasIpv4: machine.publicIpv4 !== "",
    providerId,
    reason,
  };
}
