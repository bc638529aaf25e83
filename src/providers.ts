import type { SweepConfig } from "./config.ts";
import type { Provider } from "./driver/capabilities.ts";
import type { Account } from "./driver/hetzner/account.ts";
import { createHetznerCapabilities } from "./driver/hetzner/capabilities.ts";
import { createHetznerDriver } from "./driver/hetzner/hetzner.ts";
import { createMemoryDriver, createMemoryCapabilities, emptyCloud } from "./driver/memory.ts";
import { Misconfigured } from "./machine/misconfigured.ts";

/** What a cloud is opened with. */
export interface ProviderWorld {
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
  /** For a sweep, or for a request: of the provider's rate limit a request leaves a reserve to sweeps and deletes. */
  readonly isSweep: boolean;
}

/**
 * The clouds by the name that `PROVIDER` gives them. What they may remember from one request to the next (an
 * account's currency, a cloud that exists only here) lives as long as this registry.
 */
export function createProviders(): (config: SweepConfig, world: ProviderWorld) => Provider {
  const cloud = emptyCloud();
  const accounts = new Map<string, Account>();
  const accountOf = (key: string): Account => {
    const known = accounts.get(key) ?? {};
    accounts.set(key, known);
    return known;
  };
  const providers: Readonly<Record<string, (config: SweepConfig, world: ProviderWorld) => Provider>> = {
    hetzner: ({ hcloudToken: token, hcloudEndpoint: endpoint, currency }, world) => {
      const options = { ...world, token, endpoint, currency, account: accountOf(`${endpoint} ${token}`) };
      return { driver: createHetznerDriver(options), capabilities: createHetznerCapabilities(options) };
    },
    memory: (_config, { now }) => ({
      driver: createMemoryDriver({ now, cloud }),
      capabilities: createMemoryCapabilities({ cloud }),
    }),
  };
  return (config, world) => {
    const open = Object.hasOwn(providers, config.provider) ? providers[config.provider] : undefined;
    if (open === undefined) throw new Misconfigured("PROVIDER", `must be one of ${Object.keys(providers).join(", ")}`);
    return open(config, world);
  };
}
