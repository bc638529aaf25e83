import { destroySeen } from "../driver/destroy-seen.ts";
import { DriverError, getIfThere, isNotFound, type Driver } from "../driver/driver.ts";
import { decide, type Verdict } from "../machine/decide.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { isSame, selectorOf } from "../machine/ownership.ts";
import type { StoreError } from "../store/db.ts";
import { absent, present, UNKNOWN, type Sighting } from "../machine/sighting.ts";
import type { Context, RequestContext } from "./context.ts";
import { adoptCredential, doubtOf } from "./credential.ts";
import { done, IDENTITY_MISMATCH, refusalOf, refused, type Outcome, type Refusal } from "./refusal.ts";
import { whenFull } from "./when-full.ts";

/**
 * Destroys a machine on its owner's word. The word is written down first and holds from then on: a create that lands later
 * dies, and what this call cannot finish the sweep does. The row returned is `destroyed` when it is proven that nothing is left,
 * else `deleting`. A row that was closed only because nobody saw its machine stays closed, should it be seen again. A refusal means that somebody has to act at the provider; the word still stands.
 */
export function destroyMachine(context: RequestContext, row: MachineRow): Promise<Outcome<MachineRow>> {
  return whenFull(
    () => destroyOnRecord(context, row),
    (cause) => destroyOffRecord(context, row, cause),
  );
}

async function destroyOnRecord(context: RequestContext, row: MachineRow): Promise<Outcome<MachineRow>> {
  const { store, now } = context;
  const current = async (known: MachineRow) => done((await store.machines.byUid(row.uid)) ?? known);
  // Its word stands, and the sweep goes by it: over the rate there is nothing to write down once more.
  const isAsked = isLive(row) && row.destroyRequestedAt !== null;
  if (isAsked && !(await context.withinRate()).ok) return done(row);
  const marked = await store.endings.requestDestroy(row.uid, now());
  if (marked === null) {
    await store.endings.forbidReturn(row.uid, now());
    return current(row);
  }
  // Over the rate its word is enough: the lease has ended with it, and the sweep takes it up.
  if (!(await context.withinRate()).ok) return done(marked);
  try {
    const verdicts: Verdict[] = [];
    for (const sighting of await lookAt(context, marked))
      verdicts.push(await destroyIfDue(context, marked, sighting, now()));
    const refusal = verdicts.map(refusalOfVerdict).find((one) => one !== null) ?? null;
    const waits = verdicts.map(({ reason }) => WAITS[reason]).find((one) => one !== undefined);
    // What nobody can tell yet the sweep decides, once a create can no longer land.
    if (refusal !== null || waits !== undefined)
      await store.work.giveBack(marked.uid, refusal?.message ?? waits ?? "", now());
    return refusal === null ? await current(marked) : refused(refusal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    await store.work.giveBack(marked.uid, error.message, now());
    return error.code === "protected" ? refused(refusalOf(error)) : current(marked);
  }
}

/**
 * The same while the database is full: neither the word nor the end can be written down, and a machine must not live on for that. It is judged by its
 * row and a fresh look, as ever. What fails is refused, because no sweep knows of the word; of the end the provider tells it.
 */
async function destroyOffRecord(
  context: RequestContext,
  row: MachineRow,
  cause: StoreError,
): Promise<Outcome<MachineRow>> {
  const { driver, rules, now } = context;
  if (!isLive(row)) return done(row);
  const paced = await context.withinRate();
  if (!paced.ok) return paced;
  const asked: MachineRow = { ...row, status: "deleting", destroyRequestedAt: row.destroyRequestedAt ?? now() };
  try {
    for (const sighting of await lookAt(context, asked)) {
      const verdict = decide(asked, sighting, now(), rules);
      const refusal = refusalOfVerdict(verdict);
      if (refusal !== null) return refused(refusal);
      // What nobody can tell yet would be the sweep's, which goes by what is written down.
      if (WAITS[verdict.reason] !== undefined) throw cause;
      if (verdict.act === "destroy" && sighting.seen === "present")
        await destroySeen(driver, sighting.machine, selectorOf(asked, rules));
    }
    return done(asked);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return refused(refusalOf(error));
  }
}

/** Verdicts that leave the work to the sweep, and what its row says of them. */
const WAITS: Partial<Record<Verdict["reason"], string>> = {
  not_seen: "not seen at the provider yet",
  other_credential: "not there under this credential",
};

/**
 * The last step of every path that destroys one machine: decides over a look that was just made, and carries it out where the decision
 * says to destroy or to close. A row closes when a further look proves the machine gone (S48, P51), else settle follows it. Provider
 * failures surface. Answers what was decided, and whether it is proven; a renewal that came first makes it `live`.
 */
export async function destroyIfDue(
  context: Pick<Context, "store" | "driver" | "rules" | "credential">,
  row: MachineRow | null,
  sighting: Sighting,
  now: number,
): Promise<Verdict & { readonly isProven: boolean }> {
  const { store, driver, rules } = context;
  const verdict = decide(row, sighting, now, rules);
  const { act, reason } = verdict;
  if (act === "close" && row !== null) await store.endings.close([{ uid: row.uid, reason, phase: "destroyed" }], now);
  if (act !== "destroy" || sighting.seen !== "present") return { ...verdict, isProven: act === "close" };
  const { machine } = sighting;
  const { providerId, createdAt } = machine;
  const meant = selectorOf(row, rules);
  const isItsOwn = row !== null && isLive(row) && (row.providerId ?? providerId) === providerId;
  if (!isItsOwn) {
    await destroySeen(driver, machine, meant);
    return { ...verdict, isProven: false };
  }
  const { uid, expiresAt } = row;
  await adoptCredential(context, [row]);
  const won = await store.endings.claimDestroy([{ uid, expiresAt, reason, providerId, createdAt }], now);
  if (!won.has(uid)) return { act: "keep", reason: "live", alert: false, isProven: false };
  await destroySeen(driver, machine, meant);
  const isProven = await isGone(driver, providerId);
  if (isProven) await store.endings.close([{ uid, reason, phase: "destroyed" }], now);
  else await store.endings.markAccepted([{ uid, providerId }], now);
  return { ...verdict, isProven };
}

/** Whether the provider says that it has no machine of this id. Any other answer proves nothing; a failure is told to `onFailure`. */
export async function isGone(
  driver: Driver,
  providerId: string,
  onFailure: (error: DriverError) => void = () => {},
): Promise<boolean> {
  try {
    await driver.get(providerId);
    return false;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (!isNotFound(error)) onFailure(error);
    return isNotFound(error);
  }
}

/** A row's machines at the provider: by id where it is known, else by uid. Provider failures surface. */
async function lookAt(context: Context, row: MachineRow): Promise<readonly Sighting[]> {
  const { driver, rules } = context;
  if (row.providerId !== null) {
    const machine = await getIfThere(driver, row.providerId);
    return [machine ? present(machine) : absent("id", await doubtOf(context, row))];
  }
  const machines = await driver.list(selectorOf(row, rules), { maxPages: 1 });
  const its = machines.filter((machine: Machine) => isSame(row, machine));
  return its.length === 0 ? [UNKNOWN] : its.map((machine) => present(machine));
}

/** What the caller is told when a machine is left alone: nothing where it dies anyway, or somebody else got to it. */
function refusalOfVerdict({ act, reason }: Verdict): Refusal | null {
  if (act === "destroy" || act === "close" || NO_REFUSAL.has(reason)) return null;
  if (reason === "provider_protected")
    return refusalOf(new DriverError("protected", "the machine is protected against deletion at the provider"));
  return IDENTITY_MISMATCH;
}

const NO_REFUSAL: ReadonlySet<Verdict["reason"]> = new Set([
  "dying",
  "live",
  "unreadable",
  "not_seen",
  "other_credential",
]);
