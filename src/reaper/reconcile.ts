/**
 * Reconcile: every quarter of an hour the whole inventory against the rows, and the rows against the inventory, in slices that the
 * budget allows; a walk that is not done goes on with the next tick.
 *
 *   machines   page by page: one without a row is adopted, one with a tombstone destroyed
 *   rows       fifty by fifty: one whose machine is not there is lost after two looks, the second by id
 */
import { DriverError } from "../driver/driver.ts";
import type { Progress, ReconcileMemory, SweepMemory, Walk } from "../store/lock.ts";
import type { PhaseContext } from "./phase.ts";
import { reconcileMachines } from "./reconcile-machines.ts";
import { isTooMany, reconcileRows } from "./reconcile-rows.ts";
import type { Item, PhaseReport } from "./report.ts";

const EVERY_MS = 15 * 60_000;
/** Ten thousand machines take three hours and a half on a free plan. */
const LONGEST_MS = 6 * 3_600_000;
/** So many slices a tick; each parses fifty machines, and a free plan allows 10 ms of CPU. */
const MOST_SLICES = { free: 2, paid: 60 };
/** What a slice costs at least: to list, to look up, and to write down what follows. */
const COST = { fetches: 3, statements: 6 };

/** Whether a walk is under way, or one is to begin. */
export const isReconcileDue = ({ reconcile: state }: SweepMemory, now: number): boolean =>
  state.walk !== null || now - state.lastAt >= EVERY_MS || state.lastAt > now;

export async function reconcile(deps: PhaseContext): Promise<Omit<PhaseReport, "phase">> {
  const state = deps.memory.reconcile;
  const now = deps.now();
  const items: Item[] = [];
  if (!isReconcileDue(deps.memory, now)) return { items, failure: null };
  // One that cannot end begins anew.
  if (state.walk !== null && now - state.walk.startedAt > LONGEST_MS) state.walk = null;
  // A walk can wait; what is left of the provider's rate limit then is for deletes.
  if (deps.capabilities.hasHeadroom?.() === false) return { items, failure: null };
  state.walk ??= {
    startedAt: now,
    side: "machines",
    page: null,
    after: "",
    shown: 0,
    absent: 0,
    foreign: 0,
    failures: 0,
  };
  const { walk } = state;
  try {
    for (let slice = 0; slice < MOST_SLICES[deps.plan]; slice++) {
      if (!deps.budget.allows(COST) || !(await deps.mayGoOn())) break;
      const progress = await step(deps, state, walk, items);
      if (progress === "done") await conclude(deps, state, walk, items);
      if (progress !== "more") break;
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { items, failure: error.message };
  }
  return { items, failure: null };
}

/** One slice of a walk, on the side that it has come to. */
async function step(deps: PhaseContext, state: ReconcileMemory, walk: Walk, items: Item[]): Promise<Progress> {
  if (walk.side === "rows") return reconcileRows(deps, state, walk, items);
  const progress = await reconcileMachines(deps, walk, items);
  if (progress !== "done") return progress;
  walk.side = "rows";
  walk.shown = await deps.store.inventory.countShown(deps.now());
  // The rows' side reads what was just written, which a dry run has not.
  return "stop";
}

/** What a walk found absent is believed by the next one, unless it was so much that the inventory itself must be doubted. */
async function conclude({ store }: PhaseContext, state: ReconcileMemory, walk: Walk, items: Item[]): Promise<void> {
  const isReleased = async () => (await store.settings.inventoryReleasedUntil()) > walk.startedAt;
  state.isTrusted = !isTooMany(walk) || (await isReleased());
  state.isForeign = walk.foreign > 0;
  if (!state.isTrusted) {
    await store.inventory.forgetMissing(walk.startedAt);
    items.push({ uid: null, providerId: null, outcome: "alert", reason: "inventory_untrusted" });
  }
  state.lastAt = walk.startedAt;
  state.walk = null;
}
