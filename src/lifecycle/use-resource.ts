import type { Policy } from "../auth/policy.ts";
import type { ProviderAction } from "../driver/capabilities.ts";
import { getIfThere, isNotFound, type DriverError } from "../driver/driver.ts";
import { isGuardedBy } from "../machine/attachment.ts";
import { checkRoute } from "../machine/network.ts";
import { isOurs, isSame } from "../machine/ownership.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { isSameResource, type ResourceRow } from "../machine/resource.ts";
import {
  breaksRule,
  done,
  IDENTITY_MISMATCH,
  onDriverError,
  refusalOf,
  refused,
  type Outcome,
  type Refusal,
  type Refused,
} from "./refusal.ts";
import type { Context, RequestContext } from "./context.ts";
import { followActions, type Progress } from "./follow-actions.ts";
import { checkChange, lastFirewall } from "./rights.ts";

/** The provider's ids, once both sides were read again and are what was recorded (I2); and the machines as they were read. */
type Ids = { readonly id: string; readonly machineIds: readonly string[]; readonly seen: readonly Machine[] };

/** Asks the provider for something, and answers what it has begun; or why that is not asked for, going by what was read. */
type Act = (ids: Ids) => Promise<readonly ProviderAction[] | Refused>;

/**
 * Applies a firewall to machines of the same owner. They are noted as its users first, which keeps it. Answers when the provider has
 * done it; where that takes longer it is `running`, and the machines stay noted until they end: the same call again tells.
 */
export const applyFirewall = async (
  context: RequestContext,
  policy: Policy,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<Progress>> =>
  checkChange(policy, "machines") ??
  using(
    context,
    row,
    machines,
    async ({ id, machineIds }) => (await context.capabilities.firewalls?.apply(id, machineIds)) ?? [],
  );

/** Puts machines of the same owner into a network, in the same way. */
export const attachToNetwork = async (
  context: RequestContext,
  policy: Policy,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<Progress>> =>
  checkChange(policy, "network") ??
  using(context, row, machines, async ({ id, machineIds }) => {
    const begun: ProviderAction[] = [];
    for (const machineId of machineIds)
      begun.push(...((await context.capabilities.networks?.attach(id, machineId)) ?? []));
    return begun;
  });

async function using(
  context: RequestContext,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: Act,
): Promise<Outcome<Progress>> {
  const { resources } = context.store;
  // Here already, so that one that is refused has noted nothing.
  const paced = await context.withinRate();
  if (!paced.ok) return paced;
  const before = (await resources.users([row.uid])).get(row.uid) ?? [];
  const added = machines.filter(({ uid }) => !before.includes(uid));
  const release = (those: readonly MachineRow[]) =>
    resources.release(
      row.uid,
      those.map(({ uid }) => uid),
    );
  for (const { uid } of machines)
    if ((await resources.use(uid, [row.uid])) === 0) {
      await release(added);
      return refused(NOT_NOW);
    }
  const result = await acting(context, row, machines, act);
  // What surely did not come about must not keep it either.
  if (!result.ok && !result.refusal.isUncertain) await release(await unseen(context, row, added, result.refusal));
  return result;
}

/** Those on which a firewall, or in which network, is not seen. Of several some may have got it before another failed. */
async function unseen(
  context: Context,
  { spec, providerId }: ResourceRow,
  machines: readonly MachineRow[],
  { about }: Refusal,
): Promise<readonly MachineRow[]> {
  // A call that was refused has done nothing.
  if (about !== "action" || providerId === null) return machines;
  const seen = await onDriverError(
    async () => (await kindOf(context, spec)?.get(providerId)) ?? null,
    () => null,
  );
  const shown = seen?.machineIds ?? null;
  return shown === null ? [] : machines.filter((one) => one.providerId === null || !shown.includes(one.providerId));
}

/**
 * Takes a firewall off machines of the same owner. While that is `running` they stay noted as its users; a machine that has not been
 * seen with it yet is no longer expected to be, from when the provider has agreed. Under a policy that needs a firewall no machine's
 * last one is taken off: neither by what is noted, which two calls at once cannot both get past, nor by what the provider shows.
 */
export async function removeFirewall(
  context: RequestContext,
  policy: Policy,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<Progress>> {
  const fixed = checkChange(policy, "machines");
  if (fixed !== null) return fixed;
  const { resources, work } = context.store;
  // Here already, as in using it: one that is refused has released nothing.
  const paced = await context.withinRate();
  if (!paced.ok) return paced;
  const uids = machines.map(({ uid }) => uid);
  const last = (isLast: (machine: MachineRow) => boolean): Refused | null => {
    const index = policy.needsFirewall ? machines.findIndex(isLast) : -1;
    return index < 0 ? null : lastFirewall(policy, `machines.${index}`);
  };
  const noted = policy.needsFirewall ? await resources.releaseUnlessLast(row.uid, uids) : { bare: [], released: [] };
  const refusal = last(({ uid }) => noted.bare.includes(uid));
  if (refusal !== null) return refusal;
  const result = await acting(context, row, machines, async ({ id, machineIds, seen }) => {
    const shown = last(({ providerId }) => !seen.some((one) => one.providerId === providerId && hasOther(one, id)));
    if (shown !== null) return shown;
    const begun = (await context.capabilities.firewalls?.remove(id, machineIds)) ?? [];
    // It is not waited for any more, or a machine would be destroyed for lacking what its owner took off.
    await work.forgetFirewall(uids, id);
    return begun;
  });
  if (result.ok && result.value === "done") await resources.release(row.uid, uids);
  // What is on them still, as far as is known, is to be kept.
  if (!result.ok) await resources.restoreUses(row.uid, noted.released);
  return result;
}

const hasOther = ({ attached }: Machine, firewallId: string): boolean =>
  attached !== null && attached.firewallIds.some((id) => id !== firewallId && isGuardedBy(attached, id));

/** Leads a network's traffic to a destination over a machine in it. The same again is success, another gateway is refused (S140). */
export async function addRoute(
  context: RequestContext,
  row: ResourceRow,
  { destination, gateway }: { destination: string; gateway: string },
): Promise<Outcome<Progress>> {
  // The provider's own range is judged when it is read again; what that of the row forbids it is not asked for.
  const checked = row.spec.kind === "network" ? checkRoute(row.spec.ipRange, destination, gateway) : null;
  if (checked?.ok === false) return breaksRule(checked.problem);
  return acting(
    context,
    row,
    [],
    async ({ id }) => (await context.capabilities.networks?.addRoute(id, destination, gateway)) ?? [],
  );
}

async function acting(
  context: RequestContext,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: Act,
): Promise<Outcome<Progress>> {
  const { driver, capabilities, rules } = context;
  const { providerId: id } = row;
  if (row.phase !== "active" || id === null) return refused(NOT_NOW);
  const machineIds = machines.flatMap(({ providerId }) => (providerId === null ? [] : [providerId]));
  if (machineIds.length < machines.length) return refused(NOT_YET);
  const paced = await context.withinRate();
  if (!paced.ok) return paced;
  return onDriverError(async () => {
    const seen = await kindOf({ capabilities }, row.spec)?.get(id);
    if (seen === undefined || !isSameResource(row, seen, rules)) return refused(IDENTITY_MISMATCH);
    const live: Machine[] = [];
    for (const machine of machines) {
      const one = machine.providerId === null ? null : await getIfThere(driver, machine.providerId);
      if (one === null) return refused(NOT_THERE);
      if (!isSame(machine, one) || !isOurs(one, rules.installations)) return refused(IDENTITY_MISMATCH);
      live.push(one);
    }
    const begun = await act({ id, machineIds, seen: live });
    return "ok" in begun ? begun : progressOf(await followActions(context, begun));
  }, refusedBy);
}

const kindOf = ({ capabilities }: Pick<Context, "capabilities">, { kind }: ResourceRow["spec"]) =>
  kind === "firewall" ? capabilities.firewalls : capabilities.networks;

/** That a provider has agreed is no success: one of its actions that failed is told in its words. */
function progressOf(actions: readonly ProviderAction[]): Outcome<Progress> {
  const failed = actions.find(({ state }) => state === "failed");
  if (failed === undefined) return done(actions.some(({ state }) => state === "running") ? "running" : "done");
  return refused({
    code: "provider_unavailable",
    message: `The provider agreed, and then it failed: ${failed.error ?? "it does not say why"}.`,
    next: "Repeat the same call; it cannot double anything.",
    about: "action",
    retryAfterSeconds: 5,
  });
}

function refusedBy(error: DriverError): Refused {
  if (isNotFound(error)) return refused(NOT_THERE);
  if (error.code === "conflict" && !error.retryable) return refused(anotherRoute(error.message));
  const isUncertain = error.ambiguous || error.retryable;
  return refused({ ...refusalOf(error), ...(isUncertain ? { isUncertain } : {}) });
}

/** Nothing stands there that anybody could compare. */
const NOT_THERE: Refusal = {
  code: "identity_mismatch",
  message: "The provider does not show what this is about: the machine, or what it was to use, is not there.",
  next: "End the machine, the firewall or the network that is gone there, and create it anew.",
};
const NOT_NOW: Refusal = {
  code: "releasing",
  message: "It is being deleted, or is not there yet.",
  next: "Look at its status; repeat the call when it is active.",
  retryAfterSeconds: 5,
};
/** What is said of a machine whose id at the provider nobody knows yet. */
export const NOT_YET: Refusal = {
  code: "provider_unavailable",
  message: "The provider has not shown that machine yet.",
  next: "Repeat the same call.",
  retryAfterSeconds: 3,
};
const anotherRoute = (message: string): Refusal => ({
  code: "spec_mismatch",
  message: `${message}.`,
  next: "Use that gateway, or make a network of your own.",
});
