import { isLocked } from "./action-record.ts";
import { firewallsOf } from "./firewall-record.ts";
import { privateNetOf } from "./network-record.ts";
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
  return { ...view, private_net, status: statusAt(record, now_ms), locked };
}

function withFirewalls(view: Server, firewalls: PublicNet["firewalls"]): Server {
  return {
    ...view,
    public_net: { ...view.public_net, firewalls: [view.public_net.firewalls ?? [], firewalls].flat() },
  };
}
