import { creationStamp } from "../machine/age.ts";
import { uidIn } from "../machine/labels.ts";
import type { Machine } from "../machine/machine.ts";
import { UNKNOWN_PRICES, type Prices } from "../machine/money.ts";
import { matches } from "../machine/selector.ts";
import { checkSpec } from "../machine/spec.ts";
import { DriverError, invalidInput, type Driver } from "./driver.ts";
import type { Capabilities } from "./capabilities.ts";

export interface MemoryOptions {
  readonly now: () => number;
  /** Pass one in to share or to inspect it. */
  readonly cloud?: MemoryCloud;
}

/** The whole content of the cloud, by provider id. */
export interface MemoryCloud {
  readonly machines: Map<string, Machine>;
  /** Ids are never used twice. */
  lastNumber: number;
}

export const emptyCloud = (): MemoryCloud => ({ machines: new Map(), lastNumber: 0 });

const BOOT_MS = 1500;
/** Invented, but never free. */
const IPV4 = { ipv4EurPerHour: 0.001, ipv4EurPerMonth: 0.5 };
const PRICES: ReadonlyMap<string, Prices> = new Map([
  ["small", { priceEurPerHour: 0.008, priceEurPerMonth: 5, ...IPV4 }],
  ["large", { priceEurPerHour: 0.032, priceEurPerMonth: 20, ...IPV4 }],
]);

/**
 * A cloud that lives as long as its process: the second implementation that keeps the contract honest (S12, P80), and a
 * way to try mayfly out (`PROVIDER=memory`).
 */
export function createMemoryDriver({ now, cloud = emptyCloud() }: MemoryOptions): Driver {
  const { machines } = cloud;
  const observed = (machine: Machine): Machine =>
    machine.status === "creating" && machine.createdAt !== null && now() - machine.createdAt >= BOOT_MS
      ? { ...machine, status: "running" }
      : machine;

  return {
    async create(spec) {
      const checked = checkSpec(spec);
      if (!checked.ok) throw invalidInput(checked.problem);
      const existing = [...machines.values()].find((machine) => machine.name === spec.name);
      if (existing) {
        if (uidIn(spec.labels) !== "" && uidIn(existing.labels) === uidIn(spec.labels)) return observed(existing);
        throw new DriverError("name_taken", "another machine holds this name", { existing: observed(existing) });
      }
      const number = ++cloud.lastNumber;
      const machine: Machine = {
        providerId: `mem-${number}`,
        name: spec.name,
        status: "creating",
        labels: spec.labels,
        hasLabels: true,
        arch: "amd64",
        serverType: spec.serverType,
        region: spec.region,
        publicIpv4: spec.enableIpv4 ? `192.0.2.${number % 256}` : "",
        publicIpv6: spec.enableIpv6 ? `2001:db8:0:${number.toString(16)}::` : "",
        privateIpv4: "",
        createdAt: now(),
        ...(PRICES.get(spec.serverType) ?? UNKNOWN_PRICES),
        deleteProtected: false,
        attached: { firewallIds: [], pendingFirewallIds: [], networkIds: [] },
      };
      machines.set(machine.providerId, machine);
      return machine;
    },

    async destroy(providerId) {
      const machine = machines.get(checkId(providerId));
      if (machine?.deleteProtected) throw new DriverError("protected", "the machine is protected against deletion");
      machines.delete(providerId);
    },

    async get(providerId) {
      const machine = machines.get(checkId(providerId));
      if (machine === undefined) throw new DriverError("not_found", "there is no machine of this id");
      return observed(machine);
    },

    async list(selector, { olderThan } = {}) {
      const found = [...machines.values()].filter((machine) => matches(machine.labels, selector)).map(observed);
      if (olderThan === undefined) return found;
      return found.sort((a, b) => (creationStamp(a) ?? 0) - (creationStamp(b) ?? 0));
    },

    async priceEurPerHour(_region, serverType) {
      return PRICES.get(serverType)?.priceEurPerHour ?? null;
    },
  };
}

/** What the cloud of the memory driver can do besides. */
export function createMemoryCapabilities({
  cloud,
}: {
  readonly cloud: MemoryCloud;
}): Required<Pick<Capabilities, "relabel" | "serverTypes" | "findByName">> {
  return {
    async serverTypes() {
      return [...PRICES].map(([name, prices], index) => ({
        name,
        arch: "amd64",
        cores: 2 ** (index + 1),
        memoryGb: 4 ** (index + 1),
        regions: [{ region: "here", available: true, deprecated: false, unavailableAfter: null, ...prices }],
      }));
    },

    async findByName(name) {
      return [...cloud.machines.values()].find((machine) => machine.name === name) ?? null;
    },

    async relabel({ providerId }, labels) {
      const machine = cloud.machines.get(checkId(providerId));
      if (machine === undefined) throw new DriverError("not_found", "there is no machine of this id");
      cloud.machines.set(providerId, { ...machine, labels: { ...machine.labels, ...labels } });
    },
  };
}

function checkId(id: string): string {
  if (!/^mem-\d{1,15}$/.test(id))
    throw invalidInput({ field: "provider_id", rule: "must be an id of the memory provider: mem-<number>" });
  return id;
}
