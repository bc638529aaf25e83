import { doubtOf } from "../lifecycle/credential.ts";
import { decide } from "../machine/decide.ts";
import type { MachineRow } from "../machine/machine.ts";
import { isSecondLook } from "../machine/rules.ts";
import { absent, machineIn, type Sighting } from "../machine/sighting.ts";
import type { InventoryPass } from "../store/lock.ts";
import { concernsAll, failureOf, type PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { BATCH, listByUid, lookById } from "./look.ts";
import { itemOf, namesOf, type Item } from "./report.ts";

const LEAST = 3;
const SHARE = 0.2;
/** To ask for one by its id. */
const LOOK = { fetches: 1, statements: 0 };
/** What is still written afterwards. */
const RECORDS = { fetches: 0, statements: 5 };

/** More than these are not lost one by one: something is wrong with the inventory. */
export const isTooMany = ({ absent: count, shown }: InventoryPass): boolean => count > Math.max(LEAST, SHARE * shown);

/** So often a slice is tried before the pass goes on without it. */
const TRIES = 3;

/** Counts a failure where a pass stands. After some that place is passed over, so that one bad page hides no other (I8). */
export function countFailure(pass: InventoryPass): "retry" | "pass_over" {
  pass.failures += 1;
  if (pass.failures < TRIES) return "retry";
  pass.failures = 0;
  pass.isFlawed = true;
  return "pass_over";
}

/** What a slice has found. */
interface Found {
  readonly row: MachineRow;
  readonly sighting: Sighting;
}

/**
 * Looks for the rows that a page should have shown and did not, fifty at a time. One that a list by uid does not show either is marked, and
 * is lost when a later pass does not find it and the provider has nothing of its id (P42). `seen` are the uids of rows that the page has shown; where
 * that is not known any more, all of its rows are looked for. False where the pass is to go on here with the next tick.
 */
export async function lookForMissing(
  context: PhaseContext,
  pass: InventoryPass,
  seen: readonly string[],
): Promise<boolean> {
  const { rest: from, below } = pass;
  if (from === null) return true;
  const rows = await context.store.inventory.shownIn({ from, below }, seen, BATCH, context.now());
  if (rows.length > 0) {
    if (await context.pace.leaves({ fetches: 1, statements: RECORDS.statements, entries: rows.length })) return false;
    if (!(await lookForRows(context, pass, rows))) return false;
  }
  const last = rows.length < BATCH ? undefined : rows.at(-1);
  pass.below = last?.providerId ? { providerId: last.providerId, uid: last.uid } : { providerId: from, uid: "" };
  pass.rest = last === undefined ? null : from;
  return true;
}

/** False where they could not be asked for and are to be asked for again. */
async function lookForRows(context: PhaseContext, pass: InventoryPass, rows: readonly MachineRow[]): Promise<boolean> {
  const listed = await listByUid(context, rows);
  if (listed.failure !== null) {
    context.items.push({ ...namesOf(null), providerId: null, outcome: "error", ...listed.failure });
    return countFailure(pass) === "pass_over";
  }
  pass.failures = 0;
  const shown = new Set(listed.machines.map(({ providerId }) => providerId));
  // What a slice counts is the pass's once it is written down: one that fails is tried again.
  const counted = { ...pass };
  const absences: Found[] = [];
  for (const row of rows)
    if (row.providerId !== null && !shown.has(row.providerId))
      absences.push({ row, sighting: await firstLook(context, counted, row) });
  await write(context, await lookAgain(context, absences));
  Object.assign(pass, counted);
  return true;
}

/** What it means that a list does not show a row, and counts it. */
async function firstLook(context: PhaseContext, pass: InventoryPass, row: MachineRow): Promise<Sighting> {
  const doubt = await doubtOf(context, row, context.memory.reconcile.doubts.inventory_untrusted || isTooMany(pass));
  if (doubt === "other_credential") pass.foreign += 1;
  else if (row.missingSince === null) pass.absent += 1;
  return absent("list", doubt);
}

/** The second look at rows that a list does not show, by their ids; without those of which nothing more can be said now. */
async function lookAgain(context: PhaseContext, absences: readonly Found[]): Promise<readonly Found[]> {
  const { pace, items } = context;
  const found: Found[] = [];
  await inPace(pace, absences, {
    costOf: (one) => (isToLookFor(one, context.now()) ? LOOK : null),
    rest: () => RECORDS,
    act: (one): Promise<Found | Item> => lookFor(context, one),
    stopped: ({ row }, stop) => itemOf(row, "remaining", stop),
    tell: (_one, came) => void ("sighting" in came ? found.push(came) : items.push(came)),
  });
  return found;
}

const isToLookFor = ({ row, sighting }: Found, now: number): boolean =>
  sighting.seen === "absent" && sighting.doubt === null && isSecondLook(row.missingSince, now);

/** What is at a row's id; a failure is told of it alone, save one that would meet all. */
async function lookFor(context: PhaseContext, one: Found): Promise<Found | Item> {
  const { row } = one;
  if (row.providerId === null || !isToLookFor(one, context.now())) return one;
  try {
    return { row, sighting: await lookById(context, row, row.providerId) };
  } catch (error) {
    if (concernsAll(error)) throw error;
    const { reason, detail } = failureOf(error);
    return itemOf(row, "error", reason, detail);
  }
}

/** Decides over each, writes it down and tells it. What is there after all, and due, is left to the phases of rows. */
async function write({ store, now, rules, items }: PhaseContext, found: readonly Found[]): Promise<void> {
  const at = now();
  const decided = found.map((one) => ({ ...one, ...decide(one.row, one.sighting, at, rules) }));
  const those = (test: (one: (typeof decided)[number]) => boolean) => decided.filter(test);
  for (const { row, sighting, act, reason, alert } of decided) {
    if (sighting.seen !== "absent" && !alert) continue;
    const outcome = act === "close" ? "settled" : alert ? "alert" : "kept";
    items.push(itemOf(row, outcome, reason));
  }
  const uidsOf = (all: readonly Found[]) => all.map(({ row }) => row.uid);
  const isFirst = ({ row, sighting }: Found) =>
    sighting.seen === "absent" && sighting.doubt !== "other_credential" && row.missingSince === null;
  await store.inventory.markMissing(uidsOf(those(isFirst)), at);
  await store.inventory.markMismatched(
    uidsOf(those(({ reason, act }) => reason === "identity_mismatch" && act === "keep")),
    at,
  );
  await store.endings.close(
    those(({ act }) => act === "close" || act === "disown").map(({ row, act, reason }) => ({
      uid: row.uid,
      reason,
      phase: act === "disown" ? ("disowned" as const) : ("destroyed" as const),
    })),
    at,
  );
  const back = those(({ reason }) => reason === "live").flatMap(({ row, sighting }) => {
    const machine = machineIn(sighting);
    return machine ? [{ uid: row.uid, machine }] : [];
  });
  await store.machines.observe(back, at);
}
