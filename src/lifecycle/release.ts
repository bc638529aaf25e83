import type { Principal } from "../auth/principal.ts";
import { parseDuration } from "../machine/duration.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { mayBeProviderId, type Ref } from "../machine/name.ts";
import type { RequestContext } from "./context.ts";
import { destroyMachine } from "./destroy.ts";
import { findMachine } from "./find.ts";
import { breaksRule, done, type Outcome, type Refusal } from "./refusal.ts";
import { keepOnFailure } from "./renew.ts";
import { whenFull } from "./when-full.ts";

const LONGEST_TOMBSTONE_MS = 86_400_000;

/**
 * Forbids a name for as long as `tombstone` says (`10m`), whether or not a machine has it. To be called before the look at the
 * machine: a create that comes in between is then forbidden, or is seen by that look.
 *
 * By itself that ends nothing, so it counts for the account's rate. Over it `limit_rate`, and nothing is written, save where the same
 * call, which says whether the job has failed, ends a machine of that name: how often that happens, creates bound.
 */
export async function forbidName(
  context: RequestContext,
  principal: Principal,
  ref: Ref,
  { tombstone, hasFailed }: { readonly tombstone: string; readonly hasFailed: boolean },
): Promise<Outcome<void>> {
  const length = parseDuration(tombstone) ?? 0;
  if (length <= 0 || length > LONGEST_TOMBSTONE_MS)
    return breaksRule({ field: "tombstone", rule: "must be longer than 0s and at most 1d" });
  if (ref.by !== "name")
    return breaksRule({ field: "tombstone", rule: "goes with a name; an id is never created again" });
  // A machine that is meant by its id goes on living whatever is forbidden under that name.
  const meant = mayBeProviderId(ref.name) ? await findMachine(context, principal, ref) : null;
  if (meant !== null && meant.name !== ref.name)
    return breaksRule({
      field: "tombstone",
      rule: `goes with a name, and this is the provider's id of ${meant.name}`,
    });
  const paced = await context.withinRate();
  if (!paced.ok && !(await isAboutToEnd(context, principal, ref.name, hasFailed))) return paced;
  const now = context.now();
  await whenFull(
    () => context.store.tombstones.set(principal.owner, ref.name, now + length, now),
    // Nothing can be created under that name then either, and what has it is to go.
    () => {},
  );
  return done(undefined);
}

/** Whether a machine has a name that its owner's word is about to end, for the first time. */
async function isAboutToEnd(
  context: RequestContext,
  { owner }: Principal,
  name: string,
  hasFailed: boolean,
): Promise<boolean> {
  const row = await context.store.machines.byName(owner, name);
  if (row === null || !isLive(row) || row.destroyRequestedAt !== null) return false;
  return !hasFailed || row.keepOnFailureMs === null;
}

/** What a machine has come to whose owner is done with it. */
export interface Released {
  readonly row: MachineRow;
  /** It lives on to the end of its lease, as it was asked for in case its job fails. */
  readonly isKept: boolean;
  /** Why it was not kept, though that was asked for; null where it was, or nobody asked. */
  readonly notKept: Refusal | null;
}

/**
 * Ends a machine on its owner's word: one whose job failed is kept, where that was asked for and costs no more than may be spent; any
 * other is destroyed.
 */
export async function releaseMachine(
  context: RequestContext,
  principal: Principal,
  row: MachineRow,
  hasFailed: boolean,
): Promise<Outcome<Released>> {
  const kept = hasFailed ? await keepOnFailure(context, principal, row) : null;
  if (kept?.ok) return done({ row: kept.value, isKept: true, notKept: null });
  const destroyed = await destroyMachine(context, row);
  return destroyed.ok ? done({ row: destroyed.value, isKept: false, notKept: kept?.refusal ?? null }) : destroyed;
}
