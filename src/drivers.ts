import { Misconfigured, type SweepConfig } from "./config.ts";
import type { Driver } from "./driver/driver.ts";
import { createHetznerDriver, type Account } from "./driver/hetzner/hetzner.ts";
import { createMemoryDriver, emptyCloud } from "./driver/memory.ts";

/** What a driver is opened with. */
export interface DriverWorld {
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
}

/**
 * The concrete drivers by the name that `PROVIDER` gives them. What they may remember from one request to the next (an
 * account's currency, a cloud that exists only here) lives as long as this registry.
 */
export function createDriverRegistry(): (config: SweepConfig, world: DriverWorld) => Driver {
  const cloud = emptyCloud();
  const accounts = new Map<string, Account>();
  const accountOf = (key: string): Account => {
    const known = accounts.get(key) ?? {};
    accounts.set(key, known);
    return known;
  };
  const drivers: Readonly<Record<string, (config: SweepConfig, world: DriverWorld) => Driver>> = {
    hetzner: ({ hcloudToken: token, hcloudEndpoint: endpoint }, world) =>
      createHetznerDriver({ ...world, token, endpoint, account: accountOf(`${endpoint} ${token}`) }),
    memory: (_config, { now }) => createMemoryDriver({ now, cloud }),
  };
  return (config, world) => {
    const open = Object.hasOwn(drivers, config.provider) ? drivers[config.provider] : undefined;
    if (open === undefined) throw new Misconfigured("PROVIDER", `must be one of ${Object.keys(drivers).join(", ")}`);
    return open(config, world);
  };
}
