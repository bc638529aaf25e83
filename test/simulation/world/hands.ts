/** What a person does by hand to machines of ours, and to what lies beside them. */
import * as z from "zod";
import type { ServerState } from "../../simulator/simulator.ts";
import { LABEL } from "../../../src/machine/labels.ts";
import type { Provider } from "./provider.ts";
import type { Strangers } from "./strangers.ts";
import { isOf, isProtected, labelsOf } from "./truth.ts";

export const HAND_MADE = [
  "delete",
  "rename",
  "power_off",
  "relabel",
  "take_off_firewalls",
  "take_out_of_networks",
  "keep_firewall",
  "keep_network",
] as const;
export type HandMade = (typeof HAND_MADE)[number];

const privateNets = z.array(z.object({ network: z.number() }));

export function openHands({ simulator, byHand }: Provider, ours: string, strangers: Strangers | null) {
  const machines = (): ServerState[] =>
    simulator.state().servers.filter((server) => isOf(server, ours) && server.status !== "deleting");

  const onOne: Record<Exclude<HandMade, "keep_firewall" | "keep_network">, (server: ServerState) => Promise<void>> = {
    delete: ({ id }) => byHand("DELETE", `/servers/${id}`, {}),
    rename: ({ id }) => byHand("PUT", `/servers/${id}`, { name: `renamed-${id}` }),
    power_off: ({ id }) => byHand("POST", `/servers/${id}/actions/poweroff`, {}),
    relabel: (server) => byHand("PUT", `/servers/${server.id}`, { labels: { ...labelsOf(server), team: "payroll" } }),
    async take_off_firewalls({ id, public_net }) {
      for (const { id: firewall } of public_net.firewalls)
        await byHand("POST", `/firewalls/${firewall}/actions/remove_from_resources`, {
          remove_from: [{ type: "server", server: { id } }],
        });
    },
    async take_out_of_networks({ id, private_net }) {
      for (const { network } of privateNets.parse(private_net))
        await byHand("POST", `/servers/${id}/actions/detach_from_network`, { network });
    },
  };

  /** Takes our labels off one: it is theirs from then on. */
  async function keep(kind: "firewalls" | "networks", which: number): Promise<void> {
    const all = simulator.state()[kind].filter((each) => isOf(each, ours));
    const one = all[which % Math.max(1, all.length)];
    if (one === undefined) return;
    const { [LABEL.managed]: _taken, ...labels } = labelsOf(one);
    await byHand("PUT", `/${kind}/${one.id}`, { labels });
    strangers?.remember(kind, one.id);
  }

  return {
    /** Does so to so many, from the one of that number on; answers those that it was done to, as they were before. */
    async act(what: HandMade, which: number, count: number): Promise<ServerState[]> {
      if (what === "keep_firewall" || what === "keep_network") {
        await keep(what === "keep_firewall" ? "firewalls" : "networks", which);
        return [];
      }
      const all = machines();
      const from = which % Math.max(1, all.length);
      const those = all.slice(from, from + count).filter((server) => !isProtected(server));
      for (const server of those) await onOne[what](server);
      return those;
    },
  };
}
