import { describe, expect, it } from "vitest";
import { isComplete, isGuardedBy, isWithout } from "../../src/machine/attachment.ts";
import type { Attached } from "../../src/machine/machine.ts";

const row = { attachments: { firewallIds: ["5"], networkIds: ["6"] } };
const machine = (attached: Partial<Attached> | null) => ({
  attached: attached && { firewallIds: ["5"], pendingFirewallIds: [], networkIds: ["6"], ...attached },
});

describe("a machine that was made with a firewall and a network", () => {
  it.each<[string, Partial<Attached> | null, boolean, boolean]>([
    ["has both", {}, true, false],
    ["has more", { firewallIds: ["4", "5"], pendingFirewallIds: ["4"], networkIds: ["6", "7"] }, true, false],
    ["lacks the firewall", { firewallIds: [] }, false, true],
    ["lacks the network", { networkIds: [] }, false, false],
    ["does not have the firewall yet, nor lack it", { pendingFirewallIds: ["5"] }, false, false],
    ["cannot be read", null, false, false],
  ])("%s", (_, attached, complete, isWithoutFirewall) => {
    expect(isComplete(row, machine(attached))).toBe(complete);
    expect(isWithout(row, machine(attached), "firewallIds")).toBe(isWithoutFirewall);
  });
});

it("a machine is guarded by a firewall that is on it, and not pending", () => {
  const attached = { firewallIds: ["4", "5"], pendingFirewallIds: ["5"], networkIds: [] };
  expect(["4", "5", "6"].map((id) => isGuardedBy(attached, id))).toEqual([true, false, false]);
});
