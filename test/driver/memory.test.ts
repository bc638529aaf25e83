import { createMemoryDriver, emptyCloud } from "../../src/driver/memory.ts";
import { UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { HOUR, NOW, type Cloud } from "./contract/cloud.ts";
import { describeDriver } from "./contract.ts";

function open(): Cloud {
  let now = NOW;
  const cloud = emptyCloud();
  const driver = createMemoryDriver({ now: () => now, cloud });
  return {
    driver,
    now: () => now,
    advance: (milliseconds) => {
      now += milliseconds;
    },
    put({ name, labels = {}, createdAt = now - HOUR, status = "running", publicIpv4 = "192.0.2.1", deleteProtected }) {
      const providerId = `mem-${++cloud.lastNumber}`;
      cloud.machines.set(providerId, {
        providerId,
        name,
        status,
        labels,
        hasLabels: true,
        arch: "amd64",
        serverType: "small",
        region: "here",
        publicIpv4,
        publicIpv6: "",
        privateIpv4: "",
        createdAt,
        ...UNKNOWN_PRICES,
        priceEurPerHour: 0.008,
        deleteProtected: deleteProtected ?? false,
        attached: { firewallIds: [], pendingFirewallIds: [], networkIds: [] },
      });
      return providerId;
    },
    async readdress(providerId, publicIpv4) {
      const machine = await driver.get(providerId);
      cloud.machines.set(providerId, { ...machine, publicIpv4 });
    },
    names: () => [...cloud.machines.values()].map(({ name }) => name).toSorted(),
    offer: { region: "here", serverType: "small" },
    absentId: "mem-999",
    foreignIds: ["", "42", "mem-", "mem-x", "mem-1/..", "MEM-1", "i-0abc", "__proto__"],
  };
}

describeDriver("memory", open);
