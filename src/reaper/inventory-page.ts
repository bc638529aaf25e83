import type { InventoryPage } from "../driver/capabilities.ts";
import { DriverError } from "../driver/driver.ts";
import { orphanOf } from "../lifecycle/adopt.ts";
import { adoptCredential } from "../lifecycle/credential.ts";
import { destroyIfDue } from "../lifecycle/destroy.ts";
import { learnEnds } from "../lifecycle/renew.ts";
import { decide, type Verdict } from "../machine/decide.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { isSame, ourSelector } from "../machine/ownership.ts";
import { hasNews, present } from "../machine/sighting.ts";
import type { InventoryPass } from "../store/lock.ts";
import type { RowPlace } from "../store/machine-inventory.ts";
import type { OrphanMachine } from "../store/machine-orphans.ts";
import { concernsAll, failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { isProvenGone } from "./look.ts";
import { countFailure } from "./missing-rows.ts";
import { followUnproven, tellUnrecorded } from "./unrecorded.ts";
import { itemOf, namesOf, type Item, type SweepReason } from "./report.ts";

/** That one has not changed is written down so seldom: rows written are what a free plan has least of. */
const STILL_SEEN_MS = 6 * 3_600_000;
/** To destroy one that landed late: it is read again, and its row is looked up again. */
const LATE = { fetches: 4, statements: 8 };

/**
 * One page of the inventory, from the last to the first: the provider is listed first and then the rows are read, so that whatever
 * is created meanwhile has its row by then. Answers the uids of rows whose machines it shows; null where the pass is to stay there.
 */
export async function readInventoryPage(context: PhaseContext, pass: InventoryPass): Promise<readonly string[] | null> {
  let page: InventoryPage;
  try {
    page = await readPage(context, pass.page);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (concernsAll(error) || pass.page === null || countFailure(pass) === "retry") throw error;
    context.items.push({ ...namesOf(null), providerId: null, outcome: "error", ...failureOf(error) });
    pass.page -= 1;
    // What it would have shown is looked for with the next page's rows.
    if (pass.page < 1) pass.rest = "";
    return [];
  }
  pass.failures = 0;
  const edges = [page.machines[0], page.machines.at(-1)]
    .map((one) => one?.providerId ?? "")
    .join(" ")
    .trim();
  const isRepeated = edges !== "" && edges === pass.edges;
  if (!page.isWhole || isRepeated) {
    pass.isFlawed = true;
    const detail = isRepeated ? `page ${page.number} shows the machines of the page behind it` : null;
    context.items.push({ ...namesOf(null), providerId: null, outcome: "alert", reason: "unreadable", detail });
  }
  const ours = page.machines.filter(({ hasLabels }) => hasLabels);
  const rows = await context.store.machines.ofMachines(ours);
  const held = ours.flatMap((machine) => {
    const row = rows.get(machine.providerId);
    return row && isItsOwn(row, machine) ? [{ row, machine }] : [];
  });
  await refreshHeld(context, held);
  const others = ours
    .filter((machine) => !held.some((one) => one.machine === machine))
    .map((machine) => ({ machine, row: rows.get(machine.providerId) ?? null }));
  if (!(await settleOthers(context, others))) return null;
  pass.page = page.number - 1;
  pass.edges = edges;
  pass.rest = page.number <= 1 ? "" : lowestOf(page.machines, pass.below);
  return held.map(({ row }) => row.uid);
}

/** The lowest id of a page, and of what was read before it. Null where there is none. */
function lowestOf(machines: readonly Machine[], below: RowPlace | null): string | null {
  const ids = machines.map(({ providerId }) => providerId);
  if (below !== null) ids.push(below.providerId);
  return ids.reduce<string | null>((lowest, id) => (lowest === null || isBefore(id, lowest) ? id : lowest), null);
}

/** In the order of an inventory's pages. */
const isBefore = (one: string, other: string): boolean =>
  one.length === other.length ? one < other : one.length < other.length;

async function readPage(
  { driver, capabilities, rules, pace }: PhaseContext,
  number: number | null,
): Promise<InventoryPage> {
  const selector = ourSelector(rules.installations);
  const { pages: maxPages } = pace;
  if (capabilities.inventoryPage) return capabilities.inventoryPage(selector, number, { maxPages });
  return { machines: await driver.list(selector, { maxPages }), number: 1, isWhole: true };
}

interface Held {
  readonly row: MachineRow;
  readonly machine: Machine;
}

/** Whether a row is a machine's: live, and either at its id or still without one. What stands at its id must be it. */
const isItsOwn = (row: MachineRow, machine: Machine): boolean =>
  isLive(row) && (row.providerId ?? machine.providerId) === machine.providerId && isSame(row, machine);

/** Machines with a row of their own: what has changed is written down, and a later end on a label is learnt. */
async function refreshHeld(context: PhaseContext, held: readonly Held[]): Promise<void> {
  const { store } = context;
  const now = context.now();
  await adoptCredential(
    context,
    held.map(({ row }) => row),
  );
  const active = held.filter(({ row }) => row.phase === "active");
  const changed = active.filter(({ row, machine }) => hasNews(row, machine));
  await store.machines.observe(
    changed.map(({ row, machine }) => ({ uid: row.uid, machine })),
    now,
  );
  const unchanged = active.filter((one) => !changed.includes(one));
  await store.machines.noteSeen(
    unchanged.filter(({ row }) => now - (row.observedAt ?? 0) >= STILL_SEEN_MS).map(({ row }) => row.uid),
    now,
  );
  await learnEnds(store, active);
}

interface Other {
  readonly machine: Machine;
  /** The row that its id or its uid label finds; null where there is none. */
  readonly row: MachineRow | null;
}

/** One that was decided on. */
type Decided = Other & Verdict;

/** Adopts what has no row and destroys what has a tombstone. False where the budget ended before it was done. */
async function settleOthers(context: PhaseContext, others: readonly Other[]): Promise<boolean> {
  const now = context.now();
  const credential = await context.credential();
  const decided = others.map((one) => ({ ...one, ...decide(one.row, present(one.machine, true), now, context.rules) }));
  let isDone = true;
  await inPace(context.pace, decided, {
    costOf: (one) => (isLate(one) ? LATE : null),
    rest: () => ({ fetches: 0, statements: 0 }),
    act: async (one) => (isLate(one) ? destroyLate(context, one) : notesOf(one)),
    stopped(one, stop) {
      isDone = false;
      return [toItem(one, "remaining", stop)];
    },
    tell: (_one, items) => void context.items.push(...items),
  });
  const orphans = decided.filter(({ act }) => act === "adopt");
  await adopt(
    context,
    orphans.map(({ machine, row }) => orphanOf(machine, row, { ...context, credential, now })),
  );
  return isDone;
}

/** What has a tombstone. What has no row and is past every promise is reap's. */
const isLate = ({ act, row }: Decided): boolean =>
  act === "destroy" && row !== null && !isLive(row) && row.phase !== "disowned";

function notesOf(one: Decided): Item[] {
  if (one.alert) return [toItem(one, "alert", one.reason)];
  return one.reason === "unknown_age" ? [toItem(one, "unknown_age", one.reason)] : [];
}

const toItem = (
  { machine, row }: Other,
  outcome: Item["outcome"],
  reason: SweepReason,
  detail: string | null = null,
): Item => ({ ...namesOf(row, machine.labels), providerId: machine.providerId, outcome, reason, detail });

async function adopt({ store, memory, now, items }: PhaseContext, orphans: readonly OrphanMachine[]): Promise<void> {
  if (orphans.length === 0) return;
  const hadRows = (await store.inventory.countLive()) > 0;
  const revived = await store.inventory.reviveRows(
    orphans.filter(({ labelUid }) => labelUid !== null),
    now(),
  );
  const others = orphans.filter(({ labelUid }) => labelUid === null || !revived.has(labelUid));
  const adopted = await store.inventory.adoptOrphans(others, now());
  for (const { uid: own, labelUid, machine, owner, name } of orphans) {
    const uid = labelUid !== null && revived.has(labelUid) ? labelUid : own;
    if (uid === own && !adopted.has(own)) continue;
    const row = { uid, owner, name, providerId: machine.providerId };
    items.push(itemOf(row, "settled", "adopted"));
    if (uid !== own) continue;
    // With rows in this database, what was created since its first sweep should have had one: who else creates here?
    if (hadRows && (machine.createdAt ?? 0) > memory.firstSweepAt)
      items.push(itemOf(row, "alert", "installation_shared"));
  }
}

async function destroyLate(context: PhaseContext, one: Decided): Promise<Item[]> {
  const { machine, row, reason } = one;
  const told: Item[] = [];
  try {
    if (!(await context.allowance.take({ reason }, row, machine))) return [toItem(one, "alert", "held")];
    const live = await context.driver.get(machine.providerId);
    const current = (await context.store.machines.ofMachines([live])).get(live.providerId) ?? null;
    const verdict = await destroyIfDue(context, current, present(live), context.now());
    const isProven = verdict.isProven || (verdict.act === "destroy" && (await isProvenGone(context, live.providerId)));
    told.push(toItem(one, outcomeOf({ ...verdict, isProven }), verdict.reason));
    if (verdict.act !== "destroy") return told;
    const deleted = { machine: live, row: current, reason: verdict.reason };
    await (isProven ? tellUnrecorded(context, [deleted]) : followUnproven(context, [deleted]));
  } catch (error) {
    if (concernsAll(error)) throw error;
    const failure = failureOf(error);
    told.push(toItem(one, needsSomebody(error) ? "alert" : "error", failure.reason, failure.detail));
  }
  return told;
}

function outcomeOf({ act, alert, isProven }: Verdict & { readonly isProven: boolean }): Item["outcome"] {
  if (act === "destroy") return isProven ? "destroyed" : "accepted";
  return alert ? "alert" : "kept";
}
