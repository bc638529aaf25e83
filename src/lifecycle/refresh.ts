import { isOurs, ourSelector } from "../machine/ownership.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import type { MachineRow, ShownMachine } from "../machine/machine.ts";
import type { Shown } from "../store/machine-reads.ts";
import type { RequestContext } from "./context.ts";
import { FRESH_WHILE_CREATING_MS, lookAgain } from "./look-again.ts";
import { done, onDriverError, type Outcome } from "./refusal.ts";
import { claimLeftMs } from "./trying.ts";
import { whenFull } from "./when-full.ts";

/** Fifty machines are a page; whoever waits may look ten times. */
const MOST_PAGES = 2;
/** To claim it, to ask, by its id too where a list does not show it, and to write down what was seen. */
const LOOK = { fetches: 2, statements: 5 };

/**
 * Looks again at those rows whose machine is still being created, with one call for all of them and for none more often
 * than every 3 s, whoever asks. Answers all rows, the looked-at ones as they are now. Where the provider does not answer, or may
 * not be asked, they stay as they were last seen, which `observed_at` tells.
 */
export async function refreshCreating<Row extends ShownMachine>(
  context: RequestContext,
  rows: readonly Row[],
): Promise<readonly (Row | MachineRow)[]> {
  const creating = rows.filter(
    ({ phase, status }) => (phase === "requested" || phase === "active") && status === "creating",
  );
  return look(context, rows, creating);
}

/** The same for one machine that is shown, whether it is being created or joins a network and has no address in it yet. */
export async function refreshShown(context: RequestContext, { row, isJoining }: Shown): Promise<MachineRow> {
  const [created = row] = await refreshCreating(context, [row]);
  const [fresh = created] = isJoining && created.privateIpv4 === "" ? await look(context, [created], [created]) : [];
  return fresh;
}

async function look<Row extends ShownMachine>(
  context: RequestContext,
  rows: readonly Row[],
  stale: readonly Row[],
): Promise<readonly (Row | MachineRow)[]> {
  const { store, driver, capabilities, rules } = context;
  const now = context.now();
  // A look can wait; what is left of the provider's rate limit then is for deletes.
  if (stale.length === 0 || capabilities.hasHeadroom?.() === false) return rows;
  const uids = stale.map(({ uid }) => uid);
  // A look that cannot be written down is nobody's, and what is known is told all the same.
  const won = await whenFull<MachineRow[]>(
    () => store.work.claimLook(uids, now, now - FRESH_WHILE_CREATING_MS),
    () => [],
  );
  if (won.length === 0) return rows;
  // After the claim, so that only looks count: over the rate the next may look three seconds later, as after any look.
  if (!(await context.mayLook())) return rows;
  const looking = async () => {
    const selector = ourSelector(rules.installations, { [LABEL.uid]: won.map(({ uid }) => uid) });
    const machines = await driver.list(selector, { maxPages: MOST_PAGES });
    const sightings = machines
      .filter((machine) => isOurs(machine, rules.installations))
      .map((machine) => ({ uid: uidIn(machine.labels), machine }));
    const seen = await store.machines.observe(sightings, now);
    const fresh = new Map<string, MachineRow>([...won, ...seen].map((row) => [row.uid, row]));
    return rows.map((row) => fresh.get(row.uid) ?? row);
  };
  return onDriverError(looking, () => rows);
}

/**
 * Whether nobody is making what a row asks for, though the provider has not shown it: the call that began it was cut off, and only
 * its caller's repeat goes on.
 */
export const isUnsent = (row: ShownMachine, now: number): boolean =>
  row.phase === "requested" && row.providerId === null && row.expiresAt > now && claimLeftMs(row, now) === 0;

/**
 * Waits until a machine is no longer being created, for `waitMs` at most and as long as the invocation can pay for looks, and answers
 * its row as it is then. Everybody who waits for one machine shares one look in three seconds. Whoever may make it hands in `takeOver`,
 * which is called in the moment in which nobody else can still be making it; what that refuses is the answer.
 */
export async function waitWhileCreating(
  context: RequestContext,
  row: MachineRow,
  waitMs: number,
  takeOver: (row: MachineRow) => Promise<Outcome<MachineRow>> = async (unsent) => done(unsent),
): Promise<Outcome<MachineRow>> {
  const { now, sleep, store } = context;
  const until = now() + waitMs;
  let current = row;
  while (current.status === "creating" && now() < until && context.affords(LOOK)) {
    const claimMs = current.phase === "requested" ? claimLeftMs(current, now()) : 0;
    await sleep(Math.min(FRESH_WHILE_CREATING_MS, until - now(), claimMs || FRESH_WHILE_CREATING_MS));
    const [looked] = await refreshCreating(context, [current]);
    // Somebody else looked, or nobody may: what is known by now is in the row.
    current = looked === undefined || looked === current ? ((await store.machines.byUid(row.uid)) ?? current) : looked;
    current = (await lookAgain(context, current)).row;
    if (!isUnsent(current, now())) continue;
    const taken = await takeOver(current);
    if (!taken.ok) return taken;
    current = taken.value;
  }
  return done(current);
}
