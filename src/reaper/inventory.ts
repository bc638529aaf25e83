/**
 * The inventory pass: every quarter of an hour all that the provider has of ours against the rows, and the rows against it, page by
 * page, as many as the budget allows; a pass that is not done goes on with the next tick.
 *
 *   machines   one without a row is adopted, one with a tombstone destroyed
 *   rows       those whose ids lie in the page's range: one that it does not show is asked for by uid, and lost after two looks, the
 *              second by id
 */
import { onDriverError } from "../lifecycle/refusal.ts";
import type { InventoryPass, SweepMemory } from "../store/lock.ts";
import type { PhaseContext } from "./context.ts";
import { readInventoryPage } from "./inventory-page.ts";
import { isTooMany, lookForMissing } from "./missing-rows.ts";
import { namesOf } from "./report.ts";

/** How often a pass begins. */
export const PASS_EVERY_MS = 15 * 60_000;
/** Ten thousand machines take an hour and three quarters on a free plan. */
const LONGEST_MS = 6 * 3_600_000;
/** So many pages a tick at most. */
const MOST_SLICES = { free: 2, paid: 60 };
/** What a slice costs at least: to list, to look up, and to write down what follows. */
export const SLICE = { fetches: 3, statements: 6, entries: 50 };

/** Whether a pass is under way, or one is to begin. */
export const isPassDue = ({ reconcile: state }: SweepMemory, now: number): boolean =>
  state.pass !== null || now - state.lastAt >= PASS_EVERY_MS || state.lastAt > now;

const newPass = (now: number): InventoryPass => ({
  startedAt: now,
  page: null,
  edges: "",
  below: null,
  rest: null,
  shown: 0,
  absent: 0,
  foreign: 0,
  failures: 0,
  isFlawed: false,
});

export async function reconcile(context: PhaseContext): Promise<string | null> {
  const { memory, pace, capabilities } = context;
  const state = memory.reconcile;
  const now = context.now();
  if (!isPassDue(memory, now)) return null;
  // One that cannot end begins anew.
  if (state.pass !== null && now - state.pass.startedAt > LONGEST_MS) state.pass = null;
  // A pass can wait; what is left of the provider's rate limit then is for deletes.
  if (capabilities.hasHeadroom?.() === false) {
    pace.leave("rate_limit");
    return null;
  }
  const pass = (state.pass ??= newPass(now));
  return onDriverError(
    async () => {
      for (let slice = 0; slice < MOST_SLICES[context.plan]; slice++) {
        if ((await pace.leaves(SLICE)) || !(await goOn(context, pass))) return null;
        if (!pass.isFlawed && !state.isFlawed) memory.inventoriedAt = now;
        if (!isDone(pass)) continue;
        await conclude(context, pass);
        return null;
      }
      // As many pages as a plan's sweep reads: the next one goes on.
      pace.leave("budget");
      return null;
    },
    ({ message }) => message,
  );
}

/** One slice of a pass; false where it is to go on at the same place, with the next tick. */
async function goOn(context: PhaseContext, pass: InventoryPass): Promise<boolean> {
  if (pass.rest !== null) return lookForMissing(context, pass, []);
  if (pass.page === null) pass.shown = await context.store.inventory.countShown(context.now());
  const seen = await readInventoryPage(context, pass);
  return seen !== null && lookForMissing(context, pass, seen);
}

const isDone = ({ page, rest }: InventoryPass): boolean => page !== null && page < 1 && rest === null;

/**
 * What a pass found absent is believed by the next one, unless it was so much that the inventory itself must be doubted. The two doubts
 * are told apart and released apart: a word on the one says nothing about the other.
 */
async function conclude({ store, memory, items, now }: PhaseContext, pass: InventoryPass): Promise<void> {
  // Many rows may be there by now that were not when it began: what a lost database adopts.
  const shown = async () => store.inventory.countShown(now());
  const isReleased = async () => (await store.settings.inventoryReleasedUntil(now())) > pass.startedAt;
  const isUntrusted = isTooMany(pass) && isTooMany({ ...pass, shown: await shown() }) && !(await isReleased());
  if (isUntrusted) {
    await store.inventory.forgetMissing(pass.startedAt);
    items.push({ ...namesOf(null), providerId: null, outcome: "alert", reason: "inventory_untrusted", detail: null });
  }
  const doubts = { inventory_untrusted: isUntrusted, other_credential: pass.foreign > 0 };
  const { startedAt: lastAt, isFlawed } = pass;
  if (!isFlawed) memory.inventoriedAt = now();
  memory.reconcile = { pass: null, lastAt, isFlawed, doubts };
}
