import type * as z from "zod";
import { ANYWHERE, checkFirewall, type FirewallRule } from "../../machine/firewall.ts";
import { DriverError, invalidInput } from "../driver.ts";
import type { Firewalls, ProviderAction } from "../capabilities.ts";
import { checkId } from "./account.ts";
import type { Client } from "./client.ts";
import { answerOf, createResources, toResource, type Kind } from "./resources.ts";
import { actionsAnswer, firewall } from "./schema.ts";

const FIREWALL: Kind<z.infer<typeof firewall>> = {
  plural: "firewalls",
  singular: "firewall",
  shape: firewall,
  machines: ({ applied_to }) => applied_to?.flatMap(({ server }) => (server ? [server.id] : [])) ?? null,
};

/** Firewalls of a Hetzner Cloud project (S108-S131). */
export function createFirewalls(call: Client): Firewalls {
  /** One action over some machines; what is so already is success, all else surfaces (S123, S126). */
  async function act(
    id: string,
    action: "apply_to_resources" | "remove_from_resources",
    key: "apply_to" | "remove_from",
    machineIds: readonly string[],
  ): Promise<readonly ProviderAction[]> {
    const path = `/firewalls/${checkId(id, "id")}/actions/${action}`;
    const body = { [key]: machineIds.map(toTarget) };
    if (machineIds.length === 0) return [];
    try {
      return (await call({ method: "POST", path, body, answer: actionsAnswer })).actions;
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== "already_done") throw error;
      return [];
    }
  }

  return {
    ...createResources(call, FIREWALL),

    async create({ name, rules, denyAll, labels, machineIds }) {
      const checked = checkFirewall(name, rules, denyAll);
      if (!checked.ok) throw invalidInput(checked.problem);
      const body = {
        name,
        labels,
        rules: rules.map(toRule),
        ...(machineIds.length === 0 ? {} : { apply_to: machineIds.map(toTarget) }),
      };
      return toResource(FIREWALL, await call({ method: "POST", path: "/firewalls", body, answer: answerOf(FIREWALL) }));
    },

    apply: (id, machineIds) => act(id, "apply_to_resources", "apply_to", machineIds),
    // The source's trap: this action's list has a name of its own (S125).
    remove: (id, machineIds) => act(id, "remove_from_resources", "remove_from", machineIds),
  };
}

const toTarget = (machineId: string) => ({ type: "server", server: { id: Number(checkId(machineId)) } });

/** A rule as the API wants it: the addresses of its own side alone, anywhere by default, no port for icmp (S109-S113). */
function toRule({ direction, protocol, port, ranges }: FirewallRule) {
  const addresses = ranges.length === 0 ? ANYWHERE : ranges;
  return {
    direction,
    protocol,
    ...(port === null ? {} : { port }),
    ...(direction === "in" ? { source_ips: addresses } : { destination_ips: addresses }),
  };
}
