import { DriverError, type Driver } from "../driver/driver.ts";
import type { Capabilities, Firewalls, Networks, Provider, Resources, SshKeys } from "../driver/capabilities.ts";
import type { Machine } from "../machine/machine.ts";
import type { Meter } from "./budget.ts";

/**
 * A cloud that is read for real and only remembers what it was told to destroy. The calls it leaves out are counted all the
 * same, so that a dry run meets the same budget as the run that it foretells.
 */
export function dryRunProvider({ driver, capabilities }: Provider, meter: Meter): Provider {
  const gone = new Set<string>();
  /** The one place where a call counts that is not made. */
  const leaveOut = () => {
    meter.fetches += 1;
  };
  const left = (machines: readonly Machine[]) => {
    const shown = machines.filter(({ providerId }) => !gone.has(providerId));
    // What would be gone would not have been read.
    meter.entries -= machines.length - shown.length;
    return shown;
  };
  const pretended: Driver = {
    ...driver,
    async destroy(providerId) {
      leaveOut();
      gone.add(providerId);
    },
    async get(providerId) {
      if (!gone.has(providerId)) return driver.get(providerId);
      leaveOut();
      throw new DriverError("not_found", "it would be gone by now");
    },
    async list(selector, options) {
      try {
        return left(await driver.list(selector, options));
      } catch (error) {
        throw error instanceof DriverError && error.partial ? error.with({ partial: left(error.partial) }) : error;
      }
    },
  };
  const relabel = async () => leaveOut();
  const { firewalls, networks, sshKeys } = capabilities;
  return {
    driver: pretended,
    capabilities: {
      ...capabilities,
      ...(capabilities.relabel && { relabel }),
      ...(capabilities.findByName && { findByName: unlessGone(capabilities.findByName, gone) }),
      ...(capabilities.inventoryPage && { inventoryPage: leaving(capabilities.inventoryPage, left) }),
      ...(firewalls && { firewalls: keepingFirewalls(firewalls, leaveOut) }),
      ...(networks && { networks: keepingNetworks(networks, leaveOut) }),
      ...(sshKeys && { sshKeys: keepingKeys(sshKeys, leaveOut) }),
    },
  };
}

/** A look by name that does not find what would be gone. */
const unlessGone =
  (find: NonNullable<Capabilities["findByName"]>, gone: ReadonlySet<string>): NonNullable<Capabilities["findByName"]> =>
  async (name) => {
    const found = await find(name);
    return found !== null && gone.has(found.providerId) ? null : found;
  };

/** Pages of the inventory without what would be gone. */
const leaving =
  (
    page: NonNullable<Capabilities["inventoryPage"]>,
    left: (machines: readonly Machine[]) => readonly Machine[],
  ): NonNullable<Capabilities["inventoryPage"]> =>
  async (selector, number, options) => {
    const shown = await page(selector, number, options);
    return { ...shown, machines: left(shown.machines) };
  };

/** Resources that are read for real and none of which is deleted. Each call is spelt out, so that no new one is real by oversight. */
const keeping = (real: Resources, leaveOut: () => void): Resources => ({
  list: (selector, options) => real.list(selector, options),
  get: (id) => real.get(id),
  delete: async () => leaveOut(),
});

const keepingFirewalls = (real: Firewalls, leaveOut: () => void): Firewalls => ({
  ...keeping(real, leaveOut),
  create: makeNothing,
  apply: makeNothing,
  remove: makeNothing,
  async removeSelectors(_id, selectors) {
    if (selectors.length > 0) leaveOut();
    return [];
  },
});

const keepingNetworks = (real: Networks, leaveOut: () => void): Networks => ({
  ...keeping(real, leaveOut),
  create: makeNothing,
  attach: makeNothing,
  addRoute: makeNothing,
});

const keepingKeys = (real: SshKeys, leaveOut: () => void): SshKeys => ({
  ...keeping(real, leaveOut),
  ensure: makeNothing,
});

/** No sweep asks for this; whichever begins to has to say what a dry run makes of it. */
async function makeNothing(): Promise<never> {
  throw new Error("a dry run makes nothing");
}
