import { DriverError } from "../driver/driver.ts";
import type { InventoryPage } from "../driver/capabilities.ts";
import { foundRow } from "../lifecycle/adopt.ts";
import { destroyIfDue } from "../lifecycle/destroy.ts";
import { adoptCredential } from "../lifecycle/credential.ts";
import { learnEnds } from "../lifecycle/renew.ts";
import { decideRowless } from "../machine/decide.ts";
import { isSame, ourSelector } from "../machine/ownership.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import type { OrphanMachine } from "../store/machine-orphans.ts";
import type { Progress, Walk } from "../store/lock.ts";
import { concernsAll, messageOf, needsSomebody, type PhaseContext } from "./phase.ts";
import { isHopeless } from "./reconcile-rows.ts";
import type { Item } from "./report.ts";

/** What has not changed is written down all the same, so often that rows say when it was last seen, and no oftener. */
const OBSERVE_MS = 3_600_000;
/** To destroy one that landed late: it is read again, and its row is looked up again. */
const LATE = { fetches: 3, statements: 8 };

/**
 * One page of the inventory, from the last to the first: the provider is listed first and then the rows are read, so that whatever
 * is created meanwhile has its row by then.
 */
export async function reconcileMachines(deps: PhaseContext, walk: Walk, items: Item[]): Promise<Progress> {
  let page: InventoryPage;
  try {
    page = await readPage(deps, walk.page);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const reason = error.message;
    if (concernsAll(error) || walk.page === null || !isHopeless(walk)) throw error;
    items.push({ uid: null, providerId: null, outcome: "error", reason });
    walk.page -= 1;
    return walk.page < 1 ? "done" : "more";
  }
  walk.failures = 0;
  if (!page.isWhole) items.push({ uid: null, providerId: null, outcome: "alert", reason: "unreadable" });
  const { store } = deps;
  const ours = page.machines.filter(({ hasLabels }) => hasLabels);
  const rows = await store.machines.ofMachines(ours);
  const held = ours.flatMap((machine) => {
    const row = rows.get(machine.providerId);
    return row && isItsOwn(row, machine) ? [{ row, machine }] : [];
  });
  await adoptCredential(
    deps,
    held.map(({ row }) => row),
  );
  const changed = held.filter(
    ({ row, machine }) =>
      row.phase === "active" && (hasChanged(row, machine) || deps.now() - (row.observedAt ?? 0) >= OBSERVE_MS),
  );
  await store.machines.observe(
    changed.map(({ row, machine }) => ({ uid: row.uid, machine })),
    deps.now(),
  );
  await learnEnds(
    store,
    held.filter(({ row }) => row.phase === "active"),
  );
  const others = ours.filter((machine) => !held.some((one) => one.machine === machine));
  if (!(await settleRowless(deps, others, rows, items))) return "stop";
  walk.page = page.number - 1;
  return page.number <= 1 ? "done" : "more";
}

async function readPage({ driver, capabilities, rules }: PhaseContext, number: number | null): Promise<InventoryPage> {
  const selector = ourSelector(rules.installations);
  if (capabilities.inventoryPage) return capabilities.inventoryPage(selector, number);
  return { machines: await driver.list(selector), number: 1, isWhole: true };
}

/** Adopts what has no row and destroys what has a tombstone. False where the budget ended before it was done. */
async function settleRowless(
  deps: PhaseContext,
  machines: readonly Machine[],
  rows: ReadonlyMap<string, MachineRow>,
  items: Item[],
): Promise<boolean> {
  const { store, rules } = deps;
  const now = deps.now();
  const adoption = { ...deps, credential: await deps.credential(), now };
  const found: OrphanMachine[] = [];
  let isDone = true;
  for (const machine of machines) {
    const row = rows.get(machine.providerId) ?? null;
    const tell = (outcome: Item["outcome"], reason: string): void => {
      items.push({ uid: row?.uid ?? null, providerId: machine.providerId, outcome, reason });
    };
    const verdict = decideRowless(row, machine, now, rules);
    if (verdict.act === "adopt") {
      found.push(foundRow(machine, row, adoption));
      if (verdict.alert) tell("alert", verdict.reason);
      else if (verdict.reason === "unknown_age") tell("unknown_age", verdict.reason);
    } else if (verdict.act === "destroy" && verdict.reason === "late_landing") {
      if (deps.budget.allows(LATE) && (await deps.mayGoOn())) await destroyLate(deps, row, machine, tell);
      else {
        isDone = false;
        tell("remaining", "budget");
      }
    } else if (verdict.alert) tell("alert", verdict.reason);
    else if (verdict.reason === "unknown_age") tell("unknown_age", "unattributed");
    // Only what carries no uid is neither adopted nor young.
    else if (verdict.reason === "no_row") tell("alert", "unattributed");
  }
  if (found.length === 0) return isDone;
  const hadRows = (await store.inventory.countLive()) > 0;
  const adopted = await store.inventory.adoptOrphans(found, now);
  for (const { uid, machine } of found) {
    if (!adopted.has(uid)) continue;
    items.push({ uid, providerId: machine.providerId, outcome: "settled", reason: "adopted" });
    // With rows in this database, what was created since its first sweep should have had one: who else creates here?
    if (hadRows && (machine.createdAt ?? 0) > deps.memory.firstSweepAt)
      items.push({ uid, providerId: machine.providerId, outcome: "alert", reason: "installation_shared" });
  }
  return isDone;
}

async function destroyLate(
  deps: PhaseContext,
  row: MachineRow | null,
  machine: Machine,
  tell: (outcome: Item["outcome"], reason: string) => void,
): Promise<void> {
  try {
    if (!(await deps.cap.allows({ reason: "late_landing" }, row, machine))) return tell("alert", "held");
    const live = await deps.driver.get(machine.providerId);
    const current = (await deps.store.machines.ofMachines([live])).get(live.providerId) ?? null;
    const verdict = await destroyIfDue(deps, current, live, deps.now());
    const kept = verdict.alert ? "alert" : "kept";
    if (verdict.act !== "destroy") deps.cap.undone();
    tell(verdict.act === "destroy" ? "destroyed" : kept, verdict.reason);
  } catch (error) {
    deps.cap.undone();
    if (concernsAll(error)) throw error;
    tell(needsSomebody(error) ? "alert" : "error", messageOf(error));
  }
}

/** Whether a row is a machine's: live, and either at its id or still without one. What stands at its id must be it. */
const isItsOwn = (row: MachineRow, machine: Machine): boolean =>
  isLive(row) && (row.providerId ?? machine.providerId) === machine.providerId && isSame(row, machine);

const hasChanged = (row: MachineRow, machine: Machine): boolean =>
  row.missingSince !== null ||
  row.status !== machine.status ||
  row.publicIpv4 !== machine.publicIpv4 ||
  row.publicIpv6 !== machine.publicIpv6 ||
  row.privateIpv4 !== machine.privateIpv4;
