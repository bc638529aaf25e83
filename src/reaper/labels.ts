import { tellLabel } from "../lifecycle/renew.ts";
import type { MachineRow } from "../machine/machine.ts";
import { PLANS } from "./budget.ts";
import type { PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { BATCH } from "./look.ts";
import { itemOf } from "./report.ts";

/** To read a machine and to write its label. */
export const LABEL_CALLS = 2;
/** Of what a sweep may call for. */
const SHARE = 0.1;
const EVERY_MS = 5 * 60_000;

/**
 * Settle while little is left of the provider's rate limit. That is for deletes; but a label that is behind its lease ends a machine too
 * early if D1 is lost, so some are written all the same: one machine's once in five minutes, for a tenth of a sweep's calls. All other
 * work but deletions waits, and is told.
 */
export async function settleLabels(context: PhaseContext): Promise<void> {
  const { store, plan, pace, items } = context;
  const now = context.now();
  const most = Math.floor((PLANS[plan].fetches * SHARE) / LABEL_CALLS);
  const rows = pace.affords({ fetches: 0, statements: 2 + 2 * most })
    ? await store.leases.claimLabels(now, now - EVERY_MS, most)
    : [];
  await inPace(pace, rows, {
    costOf: () => ({ fetches: LABEL_CALLS, statements: 1 }),
    rest: () => ({ fetches: 0, statements: 1 }),
    act: async (row) =>
      (await tellLabel(context, row)).outcome === "told"
        ? itemOf(row, "settled", "label")
        : itemOf(row, "error", "label_behind"),
    stopped: (row, stop) => itemOf(row, "remaining", stop),
    tell: (_row, item) => void items.push(item),
  });
  const tried = new Set(rows.map(({ uid }) => uid));
  const isWaiting = ({ uid, deleteAcceptedAt }: MachineRow) => !tried.has(uid) && deleteAcceptedAt === null;
  const waiting = (await store.work.unsettled(now, BATCH)).filter(isWaiting);
  items.push(...waiting.map((row) => itemOf(row, "remaining", "rate_limit")));
}
