import { isLocked } from "./action-record.ts";
import { firewallsOf } from "./firewall-record.ts";
import { privateNetOf } from "./network-record.ts";
import { priced } from "./prices.ts";
import type { PublicNet, Server } from "./resources.ts";
import { statusAt, type ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** The server as the API shows it at that time. Source: Hetzner API, Servers. */
export function renderServer(world: World, record: ServerRecord, now_ms: number): Server {
  const locked = record.view.locked || isLocked(record, now_ms);
  const firewalls = firewallsOf(world, record, now_ms);
  const attached = privateNetOf(world, record, now_ms);
  // Whoever put a server in may have given it some, or none at all.
  const private_net =
    attached.length === 0 ? record.view.private_net : [record.view.private_net ?? [], attached].flat();
  const view = firewalls.length === 0 ? record.view : withFirewalls(record.view, firewalls);
  // What it costs is shown as for a new order, whatever it is billed at. Whoever put it in may have left its type out.
  const server_type = view.server_type && priced(view.server_type, world.price_percent);
  return { ...view, server_type, private_net, status: statusAt(record, now_ms), locked };
}

function withFirewalls(view: Server, firewalls: PublicNet["firewalls"]): Server {
  return {
    ...view,
    public_net: { ...view.public_net, firewalls: [view.public_net.firewalls ?? [], firewalls].flat() },
  };
}
