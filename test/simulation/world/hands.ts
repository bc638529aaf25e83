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
  "use_network",
  "use_firewall",
  "select_firewall",
] as const;
/** What is done to one firewall or network, whatever machines there are. */
const BESIDE = ["keep_firewall", "keep_network", "use_network", "use_firewall", "select_firewall"] as const;
type Beside = (typeof BESIDE)[number];
const isBeside = (what: HandMade): what is Beside => BESIDE.some((one) => one === what);

export type HandMade = (typeof HAND_MADE)[number];

const selectors = z.object({ applied_to: z.array(z.object({ type: z.literal("label_selector") })).min(1) });
const privateNets = z.array(z.object({ network: z.number() }));

export function openHands(
  { simulator, byHand }: Pick<Provider, "simulator" | "byHand">,
  ours: string,
  strangers: Strangers | null,
) {
  const machines = (): ServerState[] =>
    simulator.state().servers.filter((server) => isOf(server, ours) && server.status !== "deleting");

  /** Servers of theirs that use something of ours by now. One each: ranges would overlap. */
  const using = new Set<number>();

  const onOne: Record<Exclude<HandMade, Beside>, (server: ServerState) => Promise<void>> = {
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

  async function onBeside(what: Beside, which: number): Promise<void> {
    const kind = what === "keep_network" || what === "use_network" ? "networks" : "firewalls";
    const state = simulator.state();
    const all = state[kind].filter((each) => isOf(each, ours));
    const one = all[which % Math.max(1, all.length)];
    const theirs = state.servers.find((server) => !isOf(server, ours) && !using.has(server.id));
    if (one === undefined || theirs === undefined) return;
    const { [LABEL.managed]: _taken, ...labels } = labelsOf(one);
    const apply = (target: object) =>
      byHand("POST", `/firewalls/${one.id}/actions/apply_to_resources`, { apply_to: [target] });
    switch (what) {
      case "keep_firewall":
      case "keep_network":
        // It is theirs from then on.
        await byHand("PUT", `/${kind}/${one.id}`, { labels });
        return strangers?.remember(kind, one.id);
      case "use_network":
        using.add(theirs.id);
        return byHand("POST", `/servers/${theirs.id}/actions/attach_to_network`, { network: one.id });
      case "use_firewall":
        using.add(theirs.id);
        return apply({ type: "server", server: { id: theirs.id } });
      case "select_firewall":
        if (selectors.safeParse(one).success) return;
        return apply({ type: "label_selector", label_selector: { selector: "team=payroll" } });
    }
  }

  return {
    /** Does so to so many, from the one of that number on; answers those that it was done to, as they were before. */
    async act(what: HandMade, which: number, count: number): Promise<ServerState[]> {
      if (isBeside(what)) {
        await onBeside(what, which);
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
