import type * as z from "zod";
import { ANYWHERE, checkFirewall, type FirewallRule } from "../../machine/firewall.ts";
import { DriverError, invalidInput, isNotFound } from "../driver.ts";
import type { Firewalls, ProviderAction } from "../capabilities.ts";
import { checkId } from "./account.ts";
import { toAction } from "./actions.ts";
import type { Client } from "./client.ts";
import { createResources, make, type Kind } from "./resources.ts";
import { actionsAnswer, firewall } from "./schema.ts";

const FIREWALL: Kind<z.infer<typeof firewall>> = {
  plural: "firewalls",
  singular: "firewall",
  shape: firewall,
  machines: ({ applied_to }) => applied_to?.flatMap(({ server }) => (server ? [server.id] : [])) ?? null,
  selectors: ({ applied_to }) => applied_to?.flatMap(({ label_selector: by }) => (by ? [by.selector] : [])) ?? [],
};

/** Firewalls of a Hetzner Cloud project (S108-S131). */
export function createFirewalls(call: Client): Firewalls {
  /** One order over some targets; every refusal surfaces, that it is so already among them (S126). */
  async function act(
    id: string,
    action: "apply_to_resources" | "remove_from_resources",
    key: "apply_to" | "remove_from",
    targets: readonly unknown[],
  ): Promise<readonly ProviderAction[]> {
    const path = `/firewalls/${checkId(id, "id")}/actions/${action}`;
    if (targets.length === 0) return [];
    const order = { method: "POST", path, body: { [key]: targets }, answer: actionsAnswer } as const;
    // Only of what is taken off may it be said that the machine is gone.
    const { actions } = await call(key === "remove_from" ? { ...order, absence: "not_found" } : order);
    return actions.map((one) => toAction(call, one));
  }

  async function apply(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]> {
    try {
      return await act(id, "apply_to_resources", "apply_to", machineIds.map(toTarget));
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== "already_done") throw error;
      // What is so already is success (S123); and of several nothing was done to the others.
      return machineIds.length === 1 ? [] : each(machineIds, (machineId) => apply(id, [machineId]));
    }
  }

  // The source's trap: this action's list has a name of its own (S125).
  const removeFrom = (id: string, targets: readonly unknown[]) =>
    act(id, "remove_from_resources", "remove_from", targets);

  async function remove(id: string, machineIds: readonly string[]): Promise<readonly ProviderAction[]> {
    try {
      return await removeFrom(id, machineIds.map(toTarget));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // It is not on a machine that is gone; and of several nothing was done to the others.
      return machineIds.length === 1 ? [] : each(machineIds, (machineId) => remove(id, [machineId]));
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
        rules: checked.value.map(toRule),
        ...(machineIds.length === 0 ? {} : { apply_to: machineIds.map(toTarget) }),
      };
      return make(call, FIREWALL, body);
    },

    apply,
    remove,
    removeSelectors: (id, selectors) => removeFrom(id, selectors.map(toSelector)),
  };
}

/** What comes of doing it to one after the other. */
async function each(
  machineIds: readonly string[],
  act: (machineId: string) => Promise<readonly ProviderAction[]>,
): Promise<readonly ProviderAction[]> {
  const begun: ProviderAction[] = [];
  for (const machineId of machineIds) begun.push(...(await act(machineId)));
  return begun;
}

const toTarget = (machineId: string) => ({ type: "server", server: { id: Number(checkId(machineId)) } });

const toSelector = (selector: string) => ({ type: "label_selector", label_selector: { selector } });

/** A rule as the API wants it: the addresses of its own side alone, anywhere by default, no port where there is none (S109-S113). */
function toRule({ direction, protocol, port, ranges, description }: FirewallRule) {
  const addresses = ranges.length === 0 ? ANYWHERE : ranges;
  return {
    direction,
    protocol,
    ...(port === null ? {} : { port }),
    ...(direction === "in" ? { source_ips: addresses } : { destination_ips: addresses }),
    ...(description === undefined ? {} : { description }),
  };
}
