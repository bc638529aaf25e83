import { DriverError, getIfThere, isNotFound } from "../driver/driver.ts";
import { isSame } from "../machine/ownership.ts";
import type { MachineRow } from "../machine/machine.ts";
import { isSameResource, type ResourceRow } from "../machine/resource.ts";
import { IDENTITY_MISMATCH, refusalOf, type Refusal } from "./refusal.ts";
import type { Context } from "./context.ts";

/** `isDefinite`: it is certain that nothing came of it. */
type UseResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly refusal: Refusal; readonly isDefinite: boolean };
/** The provider's ids, once both sides were read again and are what was recorded (I2). */
type Ids = { readonly id: string; readonly machineIds: readonly string[] };

/** Applies a firewall to machines of the same owner. They are noted as its users first, which keeps it. */
export const applyFirewall = (deps: Context, row: ResourceRow, machines: readonly MachineRow[]): Promise<UseResult> =>
  using(deps, row, machines, async ({ id, machineIds }) => deps.capabilities.firewalls?.apply(id, machineIds));

/** Puts machines of the same owner into a network. They are noted as its users first, which keeps it. */
export const attachToNetwork = (deps: Context, row: ResourceRow, machines: readonly MachineRow[]): Promise<UseResult> =>
  using(deps, row, machines, async ({ id, machineIds }) => {
    for (const machineId of machineIds) await deps.capabilities.networks?.attach(id, machineId);
  });

async function using(
  deps: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: (ids: Ids) => Promise<void>,
): Promise<UseResult> {
  const { resources } = deps.store;
  const before = (await resources.users([row.uid])).get(row.uid) ?? [];
  for (const { uid } of machines) if ((await resources.use(uid, [row.uid])) === 0) return refused(NOT_NOW);
  const result = await acting(deps, row, machines, act);
  // What surely did not come about must not keep it either.
  if (!result.ok && result.isDefinite) {
    const users = machines.map(({ uid }) => uid).filter((uid) => !before.includes(uid));
    await resources.release(row.uid, users);
  }
  return result;
}

/** Takes a firewall off machines of the same owner. */
export async function removeFirewall(
  deps: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<UseResult> {
  const result = await acting(deps, row, machines, async ({ id, machineIds }) =>
    deps.capabilities.firewalls?.remove(id, machineIds),
  );
  if (!result.ok || row.providerId === null) return result;
  const uids = machines.map(({ uid }) => uid);
  // It is not waited for any more, or a machine would be destroyed for lacking what its owner took off.
  await deps.store.work.forgetFirewall(uids, row.providerId);
  await deps.store.resources.release(row.uid, uids);
  return result;
}

/** Leads a network's traffic to a destination over a machine in it. The same again is success, another gateway is refused (S140). */
export async function addRoute(
  deps: Context,
  row: ResourceRow,
  { destination, gateway }: { destination: string; gateway: string },
): Promise<UseResult> {
  return acting(deps, row, [], async ({ id }) => {
    await deps.capabilities.networks?.addRoute(id, destination, gateway);
  });
}

async function acting(
  deps: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: (ids: Ids) => Promise<void>,
): Promise<UseResult> {
  const { driver, capabilities, rules } = deps;
  if (row.phase !== "active" || row.providerId === null) return refused(NOT_NOW);
  const ids = machines.flatMap(({ providerId }) => (providerId === null ? [] : [providerId]));
  if (ids.length < machines.length) return refused(NOT_YET);
  try {
    const kind = row.spec.kind === "firewall" ? capabilities.firewalls : capabilities.networks;
    const seen = await kind?.get(row.providerId);
    if (seen === undefined || !isSameResource(row, seen, rules)) return refused(IDENTITY_MISMATCH);
    for (const machine of machines) {
      const live = machine.providerId === null ? null : await getIfThere(driver, machine.providerId);
      if (live === null || !isSame(machine, live)) return refused(IDENTITY_MISMATCH);
    }
    await act({ id: row.providerId, machineIds: ids });
    return { ok: true };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    if (isNotFound(error)) return refused(IDENTITY_MISMATCH);
    if (error.code === "conflict" && !error.retryable) return refused(anotherRoute(error.message));
    return refused(refusalOf(error), !error.ambiguous && !error.retryable);
  }
}

const refused = (refusal: Refusal, isDefinite = true): UseResult => ({ ok: false, refusal, isDefinite });

const NOT_NOW: Refusal = {
  code: "releasing",
  message: "It is being deleted, or is not there yet.",
  next: "Look at its status; repeat the call when it is active.",
  retryAfterSeconds: 5,
};
const NOT_YET: Refusal = {
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
