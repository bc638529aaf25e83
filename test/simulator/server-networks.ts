import { actionPlan, isBusy, startAction, started, type ActionPlan, type ActionRecord } from "./action-record.ts";
import type { Call, Reply } from "./call.ts";
import { ApiError, locked, notFound } from "./errors.ts";
import { Fields } from "./fields.ts";
import { parseIpv4 } from "./ip-ranges.ts";
import { refuseWhileChanging, taking, type NetworkRecord } from "./network-record.ts";
import { chooseAddresses, macAddress, refuseOverlap, type WantedAddress } from "./private-addresses.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** `POST /servers/{id}/actions/attach_to_network`. Source: Hetzner API, Server Actions. */
export function attachToNetwork(call: Call, server: ServerRecord): Reply {
  const fields = new Fields(call.body);
  fields.require("network");
  const id = fields.id("network");
  const wanted: WantedAddress = {
    ip: fields.string("ip"),
    alias_ips: fields.list("alias_ips", isAddress),
    ip_range: fields.string("ip_range"),
  };
  if (wanted.ip !== null && !isAddress(wanted.ip)) fields.refuse("ip", "Not a valid IPv4 address.");
  fields.check();
  const network = findNetwork(call.world, id);
  const here = taking(network, call.now_ms).some(({ server_id }) => server_id === server.view.id);
  if (here && !isBusy(server, call.now_ms))
    throw new ApiError(422, "server_already_attached", "server is already attached to network");
  refuseWhileBusy(call, server, network);
  refuseOverlap(call.world, server, network, call.now_ms);
  // Whoever put a server in may have left this out.
  const zone = server.view.location?.network_zone ?? "";
  const addresses = chooseAddresses(network, zone, wanted, call.now_ms);
  return started(call, startAttaching(call.world, server, network, addresses, actionPlan(call, "attach_to_network")));
}

/** `POST /servers/{id}/actions/detach_from_network`. Source: Hetzner API, Server Actions. */
export function detachFromNetwork(call: Call, server: ServerRecord): Reply {
  const fields = new Fields(call.body);
  fields.require("network");
  const id = fields.id("network");
  fields.check();
  const network = findNetwork(call.world, id);
  refuseWhileBusy(call, server, network);
  const attachment = taking(network, call.now_ms).find(({ server_id }) => server_id === server.view.id);
  if (attachment === undefined) throw notFound("network attachment");
  const action = startAction(call.world, [server, network], actionPlan(call, "detach_from_network"));
  if (action.failure === null) attachment.until_ms = action.ends_ms;
  return started(call, action);
}

function refuseWhileBusy(call: Call, server: ServerRecord, network: NetworkRecord): void {
  if (isBusy(server, call.now_ms)) throw locked("server");
  refuseWhileChanging(call, network);
}

/** The network with that id, or 404. */
export function findNetwork({ networks }: World, id: number | null): NetworkRecord {
  const network = networks.get(id ?? 0);
  if (network === undefined) throw notFound("network");
  return network;
}

/** Puts a server into a network: the addresses are taken, and there when the action has ended. */
export function startAttaching(
  world: World,
  server: ServerRecord,
  network: NetworkRecord,
  addresses: { ip: string; alias_ips: string[] },
  plan: ActionPlan,
): ActionRecord {
  const action = startAction(world, [server, network], plan);
  network.attachments.push({
    server_id: server.view.id,
    ...addresses,
    mac_address: macAddress(network.view.id, addresses.ip),
    attached_ms: action.ends_ms,
    until_ms: action.failure === null ? Infinity : action.ends_ms,
  });
  return action;
}

const isAddress = (value: unknown): value is string => typeof value === "string" && parseIpv4(value) !== null;
