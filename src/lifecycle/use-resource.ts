import { getIfThere, isNotFound, type DriverError } from "../driver/driver.ts";
import { isSame } from "../machine/ownership.ts";
import type { MachineRow } from "../machine/machine.ts";
import { isSameResource, type ResourceRow } from "../machine/resource.ts";
import {
  done,
  IDENTITY_MISMATCH,
  onDriverError,
  refusalOf,
  refused,
  type Outcome,
  type Refusal,
  type Refused,
} from "./refusal.ts";
import type { Context } from "./context.ts";

/** The provider's ids, once both sides were read again and are what was recorded (I2). */
type Ids = { readonly id: string; readonly machineIds: readonly string[] };

/** Applies a firewall to machines of the same owner. They are noted as its users first, which keeps it. */
export const applyFirewall = (
  context: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<void>> =>
  using(context, row, machines, async ({ id, machineIds }) => {
    await context.capabilities.firewalls?.apply(id, machineIds);
  });

/** Puts machines of the same owner into a network. They are noted as its users first, which keeps it. */
export const attachToNetwork = (
  context: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<void>> =>
  using(context, row, machines, async ({ id, machineIds }) => {
    for (const machineId of machineIds) await context.capabilities.networks?.attach(id, machineId);
  });

async function using(
  context: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: (ids: Ids) => Promise<void>,
): Promise<Outcome<void>> {
  const { resources } = context.store;
  const before = (await resources.users([row.uid])).get(row.uid) ?? [];
  for (const { uid } of machines) if ((await resources.use(uid, [row.uid])) === 0) return refused(NOT_NOW);
  const result = await acting(context, row, machines, act);
  // What surely did not come about must not keep it either.
  if (!result.ok && !result.refusal.isUncertain) {
    const users = machines.map(({ uid }) => uid).filter((uid) => !before.includes(uid));
    await resources.release(row.uid, users);
  }
  return result;
}

/** Takes a firewall off machines of the same owner. */
export async function removeFirewall(
  context: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
): Promise<Outcome<void>> {
  const result = await acting(context, row, machines, async ({ id, machineIds }) => {
    await context.capabilities.firewalls?.remove(id, machineIds);
  });
  if (!result.ok || row.providerId === null) return result;
  const uids = machines.map(({ uid }) => uid);
  // It is not waited for any more, or a machine would be destroyed for lacking what its owner took off.
  await context.store.work.forgetFirewall(uids, row.providerId);
  await context.store.resources.release(row.uid, uids);
  return result;
}

/** Leads a network's traffic to a destination over a machine in it. The same again is success, another gateway is refused (S140). */
export async function addRoute(
  context: Context,
  row: ResourceRow,
  { destination, gateway }: { destination: string; gateway: string },
): Promise<Outcome<void>> {
  return acting(context, row, [], async ({ id }) => {
    await context.capabilities.networks?.addRoute(id, destination, gateway);
  });
}

async function acting(
  context: Context,
  row: ResourceRow,
  machines: readonly MachineRow[],
  act: (ids: Ids) => Promise<void>,
): Promise<Outcome<void>> {
  const { driver, capabilities, rules } = context;
  const { providerId: id } = row;
  if (row.phase !== "active" || id === null) return refused(NOT_NOW);
  const machineIds = machines.flatMap(({ providerId }) => (providerId === null ? [] : [providerId]));
  if (machineIds.length < machines.length) return refused(NOT_YET);
  return onDriverError(async () => {
    const kind = row.spec.kind === "firewall" ? capabilities.firewalls : capabilities.networks;
    const seen = await kind?.get(id);
    if (seen === undefined || !isSameResource(row, seen, rules)) return refused(IDENTITY_MISMATCH);
    for (const machine of machines) {
      const live = machine.providerId === null ? null : await getIfThere(driver, machine.providerId);
      if (live === null || !isSame(machine, live)) return refused(IDENTITY_MISMATCH);
    }
    await act({ id, machineIds });
    return done(undefined);
  }, refusedBy);
}

function refusedBy(error: DriverError): Refused {
  if (isNotFound(error)) return refused(IDENTITY_MISMATCH);
  if (error.code === "conflict" && !error.retryable) return refused(anotherRoute(error.message));
  const isUncertain = error.ambiguous || error.retryable;
  return refused({ ...refusalOf(error), ...(isUncertain ? { isUncertain } : {}) });
}

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
