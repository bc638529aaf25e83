import { isRunning, type Subject } from "./action-record.ts";
import type { Call } from "./call.ts";
import { isChanging } from "./errors.ts";
import type { Labels } from "./labels.ts";
import type { Network, NetworkRoute, PrivateNet, Subnet } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** All of a network that takes an action to change. */
export interface NetworkState {
  ip_range: string;
  subnets: Subnet[];
  routes: NetworkRoute[];
  protection: { delete: boolean };
}

/** A server in a network: its address is taken at once, and there when the action has ended. */
export interface Attachment {
  server_id: number;
  ip: string;
  alias_ips: string[];
  mac_address: string;
  attached_ms: number;
  until_ms: number;
}

export interface NetworkRecord extends Subject {
  type: "network";
  view: { id: number; name: string; labels: Labels; created: string; expose_routes_to_vswitch: boolean };
  /** Oldest first; what holds is the last one whose time has come. */
  states: [first: { at_ms: number; state: NetworkState }, ...later: { at_ms: number; state: NetworkState }[]];
  attachments: Attachment[];
}

/** What the network is like at that time. */
export function networkAt({ states }: NetworkRecord, now_ms: number): NetworkState {
  return (states.findLast(({ at_ms }) => at_ms <= now_ms) ?? states[0]).state;
}

/** The attachments whose addresses are taken at that time. */
export function taking({ attachments }: NetworkRecord, now_ms: number): Attachment[] {
  return attachments.filter(({ until_ms }) => now_ms < until_ms);
}

function attached(record: NetworkRecord, now_ms: number): Attachment[] {
  return taking(record, now_ms).filter(({ attached_ms }) => attached_ms <= now_ms);
}

/** The network as the API shows it at that time. Source: Hetzner API, Networks. */
export function renderNetwork(record: NetworkRecord, now_ms: number): Network {
  const servers = attached(record, now_ms).map(({ server_id }) => server_id);
  return { ...record.view, ...networkAt(record, now_ms), servers, load_balancers: [] };
}

/** A server's private interfaces at that time. Source: Hetzner API, Servers. */
export function privateNetOf(world: World, { view }: ServerRecord, now_ms: number): PrivateNet[] {
  return [...world.networks.values()].flatMap((record) =>
    attached(record, now_ms)
      .filter(({ server_id }) => server_id === view.id)
      .map(({ ip, alias_ips, mac_address }) => ({ network: record.view.id, ip, alias_ips, mac_address })),
  );
}

/** Throws 409 while anything is being done to the network. Source: Hetzner API, Networks. */
export function refuseWhileChanging({ now_ms }: Call, record: NetworkRecord): void {
  if (record.actions.some((action) => isRunning(action, now_ms))) throw isChanging("network");
}

/** Takes a server that is going to be gone by then out of all networks. */
export function leaveNetworks(world: World, server_id: number, gone_ms: number): void {
  for (const { attachments } of world.networks.values())
    for (const attachment of attachments)
      if (attachment.server_id === server_id) attachment.until_ms = Math.min(attachment.until_ms, gone_ms);
}
