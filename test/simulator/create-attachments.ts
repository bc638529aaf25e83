// The firewalls and networks that a server is made with.
import { failureOf, startAction, type ActionFailure, type ActionRecord } from "./action-record.ts";
import type { Call } from "./call.ts";
import type { CreateRequest } from "./create-request.ts";
import { ApiError, notFound } from "./errors.ts";
import { lasting } from "./firewall-actions.ts";
import type { FirewallRecord } from "./firewall-record.ts";
import { FIREWALLS_PER_SERVER, REFUSALS_OF_ACTION, tooManyFirewalls } from "./firewall-targets.ts";
import type { NetworkRecord } from "./network-record.ts";
import { chooseAddresses, refuseOverlapOf } from "./private-addresses.ts";
import { findNetwork, startAttaching } from "./server-networks.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** What is to be attached to a new server. */
export interface Attachments {
  firewalls: FirewallRecord[];
  networks: { network: NetworkRecord; addresses: { ip: string; alias_ips: string[] } }[];
}

/** Finds all that a create wants attached, or refuses it. */
export function chooseAttachments({ world, now_ms }: Call, request: CreateRequest, zone: string): Attachments {
  const networks = request.networks.map((id) => findNetwork(world, id));
  for (const [index, network] of networks.entries())
    for (const other of networks.slice(0, index)) refuseOverlapOf(network, other, now_ms);
  return {
    firewalls: chooseFirewalls(world, request),
    networks: networks.map((network) => ({ network, addresses: freeAddress(network, zone, now_ms) })),
  };
}

function chooseFirewalls(world: World, request: CreateRequest): FirewallRecord[] {
  const firewalls = request.firewalls.map((id) => {
    const firewall = world.firewalls.get(id);
    if (firewall === undefined) throw notFound("firewall");
    return firewall;
  });
  if (firewalls.length > 0 && !request.enable_ipv4 && !request.enable_ipv6)
    throw REFUSALS_OF_ACTION.no_public_interface();
  if (firewalls.length > FIREWALLS_PER_SERVER) throw tooManyFirewalls();
  return firewalls;
}

// A create says this where an attachment says `no_subnet_available`.
function freeAddress(network: NetworkRecord, zone: string, now_ms: number): { ip: string; alias_ips: string[] } {
  try {
    return chooseAddresses(network, zone, { ip: null, alias_ips: [], ip_range: null }, now_ms);
  } catch (error) {
    if (error instanceof ApiError)
      throw new ApiError(422, "invalid_input", "no free IP available or in different network zone");
    throw error;
  }
}

/** Starts attaching it all; it is there when the server is, unless the creation or its own action fails. */
export function startAttachments(
  { world, now_ms: started_ms, effects }: Call,
  server: ServerRecord,
  { firewalls, networks }: Attachments,
  creation: { ends_ms: number; failure: ActionFailure | null },
): ActionRecord[] {
  const failureFor = (command: string): ActionFailure | null => creation.failure ?? failureOf(effects.failure, command);
  const { ends_ms } = creation;
  const attaching = networks.map(({ network, addresses }) => {
    const failure = failureFor("attach_to_network");
    const plan = { command: "attach_to_network", started_ms, ends_ms, failure, hold: "other actions" } as const;
    return startAttaching(world, server, network, addresses, plan);
  });
  const applying = firewalls.map((firewall) => {
    const failure = failureFor("apply_firewall");
    const plan = { command: "apply_firewall", started_ms, ends_ms, failure, hold: "nothing" } as const;
    const action = startAction(world, [firewall, server], plan);
    firewall.servers.push({ server_id: server.view.id, ...lasting(action) });
    return action;
  });
  return [...attaching, ...applying];
}
