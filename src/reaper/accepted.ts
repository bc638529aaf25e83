import type { Reason } from "../machine/reason.ts";
import { isDoomed, type Case } from "./case.ts";
import type { PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { isProvenGone } from "./look.ts";

/** A machine that the provider agreed to delete, and the item that tells it. */
export interface Accepted {
  readonly uid: string;
  readonly providerId: string;
  readonly reason: Reason;
  readonly item: number;
}

/** Those of the cases that were told last. */
export function acceptedIn({ items }: PhaseContext, cases: readonly Case[]): Accepted[] {
  const first = items.length - cases.length;
  return cases.flatMap((one, index) =>
    isDoomed(one)
      ? [{ uid: one.row.uid, providerId: one.machine.providerId, reason: one.why, item: first + index }]
      : [],
  );
}

/**
 * Looks once more when all deletes are done, as far as the budget goes: what is not there any more can close; the rest settle proves
 * later (P51).
 */
export async function proveGone(context: PhaseContext, accepted: readonly Accepted[]): Promise<void> {
  const { pace, items, store, now } = context;
  const gone: Accepted[] = [];
  await inPace(pace, accepted, {
    costOf: () => ({ fetches: 1, statements: 0 }),
    rest: () => ({ fetches: 0, statements: 2 }),
    act: ({ providerId }) => isProvenGone(context, providerId),
    stopped: () => false,
    tell: (one, isGone) => void (isGone && gone.push(one)),
  });
  for (const { item } of gone) {
    const told = items[item];
    if (told) items[item] = { ...told, outcome: "destroyed" };
  }
  await store.endings.close(
    gone.map(({ uid, reason }) => ({ uid, reason, phase: "destroyed" as const })),
    now(),
  );
}
