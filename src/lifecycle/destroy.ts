import { DriverError, getIfThere, isNotFound, type Driver } from "../driver/driver.ts";
import { decide, type Verdict } from "../machine/decide.ts";
import { isSame, ourSelector } from "../machine/ownership.ts";
import { LABEL } from "../machine/labels.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { done, IDENTITY_MISMATCH, refusalOf, refused, type Outcome, type Refusal } from "./refusal.ts";
import { mayConclude, adoptCredential } from "./credential.ts";
import type { Context } from "./context.ts";

/**
 * Destroys a machine on its owner's word. The word is written down first and holds from then on: a create that lands later
 * dies, and what this call cannot finish the sweep does. The row returned is `destroyed` when it is proven that nothing is left,
 * else `deleting`. A refusal means that somebody has to act at the provider; the word still stands.
 */
export async function destroyMachine(deps: Context, row: MachineRow, requestId: string): Promise<Outcome<MachineRow>> {
  const { store } = deps;
  const marked = await store.endings.requestDestroy(row.uid, deps.now(), requestId);
  if (marked === null) return done((await store.machines.byUid(row.uid)) ?? row);
  const giveBack = (error: string) => store.work.giveBack(marked.uid, error, deps.now());
  try {
    const machines = await find(deps, marked);
    if (machines === null && (await mayConclude(deps, marked)))
      await store.endings.markDestroyed([{ uid: marked.uid, reason: "gone" }], deps.now());
    else if (machines === null) await giveBack("not there under this credential");
    // None yet, or none any more, and nobody can tell which: the sweep decides once a create can no longer land.
    else if (machines.length === 0) await giveBack("not seen at the provider yet");
    const refusals: Refusal[] = [];
    for (const machine of machines ?? []) {
      const refusal = refusalOfVerdict(await destroyIfDue(deps, marked, machine, deps.now()));
      if (refusal !== null) refusals.push(refusal);
    }
    const [refusal] = refusals;
    if (refusal) {
      await giveBack(refusal.message);
      return refused(refusal);
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    await giveBack(error.message);
    if (error.code === "protected") return refused(refusalOf(error));
  }
  return done((await store.machines.byUid(row.uid)) ?? marked);
}

/**
 * The last step of every path that destroys: decides over a machine that was just read, and destroys it when the decision
 * says so. Its row closes when a further look proves the machine gone (S48, P51), else settle follows it. Provider failures
 * surface.
 */
export async function destroyIfDue(
  deps: Pick<Context, "store" | "driver" | "rules" | "credential">,
  row: MachineRow | null,
  machine: Machine,
  now: number,
): Promise<Verdict> {
  const { store, driver, rules } = deps;
  const verdict = decide(row, machine, now, rules);
  if (verdict.act !== "destroy") return verdict;
  const isItsOwn = row !== null && isLive(row) && (row.providerId ?? machine.providerId) === machine.providerId;
  if (!isItsOwn) {
    await driver.destroy(machine.providerId);
    return verdict;
  }
  const { uid, expiresAt } = row;
  await adoptCredential(deps, [row]);
  const won = await store.endings.claimDestroy([{ uid, expiresAt, reason: verdict.reason }], now);
  if (!won.has(uid)) return { act: "keep", reason: "live", alert: false };
  await driver.destroy(machine.providerId);
  if (await isGone(driver, machine.providerId))
    await store.endings.markDestroyed([{ uid, reason: verdict.reason }], now);
  else await store.endings.markAccepted([{ uid, providerId: machine.providerId }], now);
  return verdict;
}

/** Whether the provider says that it has no machine of this id. Any other answer proves nothing. */
export async function isGone(driver: Driver, providerId: string): Promise<boolean> {
  try {
    await driver.get(providerId);
    return false;
  } catch (error) {
    if (error instanceof DriverError) return isNotFound(error);
    throw error;
  }
}

/** A row's machines at the provider: by id where it is known, else by uid. Null = proven gone. */
async function find({ driver, rules }: Context, row: MachineRow): Promise<readonly Machine[] | null> {
  if (row.providerId === null) {
    const machines = await driver.list(ourSelector(rules.installations, { [LABEL.uid]: row.uid }));
    return machines.filter((machine) => isSame(row, machine));
  }
  const machine = await getIfThere(driver, row.providerId);
  return machine && [machine];
}

/** What the caller is told when a machine is left alone: nothing where it dies anyway, or somebody else got to it. */
function refusalOfVerdict({ act, reason }: Verdict): Refusal | null {
  if (act === "destroy" || reason === "dying" || reason === "live" || reason === "unreadable") return null;
  if (reason === "provider_protected")
    return refusalOf(new DriverError("protected", "the machine is protected against deletion at the provider"));
  return IDENTITY_MISMATCH;
}
