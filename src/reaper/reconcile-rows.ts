import { getIfThere } from "../driver/driver.ts";
import { mayConclude } from "../lifecycle/credential.ts";
import { isSame } from "../machine/ownership.ts";
import { isSecondLook } from "../machine/rules.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { Progress, ReconcileMemory, Walk } from "../store/lock.ts";
import { listByUid } from "./list-by-uid.ts";
import { concernsAll, messageOf, type PhaseContext } from "./phase.ts";
import type { Item } from "./report.ts";

/** As many as one list call can answer for. */
const SLICE = 50;
const LEAST = 3;
const SHARE = 0.2;
/** To ask for one by its id, and what is still written afterwards. */
const LOOK = { fetches: 1, statements: 4 };

/** More than these are not lost one by one: something is wrong with the inventory. */
export const isTooMany = ({ absent, shown }: Walk): boolean => absent > Math.max(LEAST, SHARE * shown);

/** So often a slice is tried before the walk goes on without it. */
const TRIES = 3;

/** Counts a failure at one place of a walk; whether it is to be passed over, so that one bad page hides no other (I8). */
export function isHopeless(walk: Walk): boolean {
  walk.failures += 1;
  if (walk.failures < TRIES) return false;
  walk.failures = 0;
  return true;
}

/**
 * Fifty rows that the provider has shown once. One that it does not list by uid is noted, and is lost when a later walk does not
 * find it either and the provider has nothing of its id (P42).
 */
export async function reconcileRows(
  deps: PhaseContext,
  state: ReconcileMemory,
  walk: Walk,
  items: Item[],
): Promise<Progress> {
  const { store } = deps;
  const now = deps.now();
  const rows = await store.inventory.shownAfter(walk.after, SLICE, now);
  if (rows.length === 0) return "done";
  const { machines, failure } = await listByUid(deps, rows);
  const last = rows.at(-1)?.uid ?? walk.after;
  if (failure !== null) {
    items.push({ uid: null, providerId: null, outcome: "error", reason: failure });
    if (!isHopeless(walk)) return "stop";
    walk.after = last;
    return rows.length < SLICE ? "done" : "more";
  }
  walk.failures = 0;
  const listed = new Set(machines.map(({ providerId }) => providerId));
  const absent = rows.filter(({ providerId }) => providerId !== null && !listed.has(providerId));
  const newly: MachineRow[] = [];
  const lost: MachineRow[] = [];
  for (const row of absent) {
    const tell = (outcome: Item["outcome"], reason: string): void => {
      items.push({ uid: row.uid, providerId: row.providerId, outcome, reason });
    };
    if (!(await mayConclude(deps, row))) {
      walk.foreign += 1;
      tell("alert", "other_credential");
    } else if (row.missingSince === null) {
      newly.push(row);
      walk.absent += 1;
      tell("kept", "missing");
    } else if (!state.isTrusted || isTooMany(walk) || !isSecondLook(row.missingSince, now)) {
      tell("kept", "missing");
    } else if (!deps.budget.allows(LOOK) || !(await deps.mayGoOn())) {
      tell("remaining", "budget");
    } else {
      try {
        if (!(await isLost(deps, row))) continue;
        lost.push(row);
        tell("settled", "lost");
      } catch (error) {
        if (concernsAll(error)) throw error;
        tell("error", messageOf(error));
      }
    }
  }
  await store.inventory.markMissing(
    newly.map(({ uid }) => uid),
    now,
  );
  await store.endings.markDestroyed(
    lost.map(({ uid }) => ({ uid, reason: "lost" })),
    now,
  );
  walk.after = last;
  return rows.length < SLICE ? "done" : "more";
}

/** Whether the provider has nothing of its id. One that is there after all, or is another by now, is written down so. */
async function isLost({ driver, store, now }: PhaseContext, row: MachineRow): Promise<boolean> {
  if (row.providerId === null) return false;
  const machine = await getIfThere(driver, row.providerId);
  if (machine === null) return true;
  if (isSame(row, machine)) await store.machines.observe([{ uid: row.uid, machine }], now());
  else if (!machine.hasLabels) return false;
  else if (isSecondLook(row.mismatchedSince, now()))
    await store.endings.disown([{ uid: row.uid, reason: "identity_mismatch" }], now());
  else await store.inventory.markMismatched([row.uid], now());
  return false;
}
