import type { PublicNet } from "./resources.ts";
import type { World } from "./world.ts";

// Addresses that lead nowhere: the documentation ranges first, then the range for benchmarks.
const DOCUMENTATION_PREFIXES = ["203.0.113", "198.51.100", "192.0.2"];
const HOSTS_PER_PREFIX = 254;
const FIRST_ID = 70_001;

/** Fresh addresses for a server, null where they were not asked for. Source: Hetzner API, Primary IPs. */
export function newPublicNet(world: World, asked: { enable_ipv4: boolean; enable_ipv6: boolean }): PublicNet {
  return {
    ipv4: asked.enable_ipv4 ? newIpv4(world.next_id.primary_ip++) : null,
    ipv6: asked.enable_ipv6 ? newIpv6(world.next_id.primary_ip++) : null,
    floating_ips: [],
    firewalls: [],
  };
}

function newIpv4(id: number): NonNullable<PublicNet["ipv4"]> {
  const ip = addressOf(id - FIRST_ID);
  return { id, ip, blocked: false, dns_ptr: `static.${ip.split(".").toReversed().join(".")}.clients.your-server.de` };
}

function addressOf(index: number): string {
  const prefix = DOCUMENTATION_PREFIXES[Math.floor(index / HOSTS_PER_PREFIX)];
  if (prefix !== undefined) return `${prefix}.${(index % HOSTS_PER_PREFIX) + 1}`;
  return `198.${18 + (Math.floor(index / 65_536) % 2)}.${Math.floor(index / 256) % 256}.${index % 256}`;
}

// Hetzner hands out a /64, not an address: clients have to take ::1 out of it themselves.
function newIpv6(id: number): NonNullable<PublicNet["ipv6"]> {
  const index = id - FIRST_ID + 1;
  const network = `2001:db8:${Math.floor(index / 65_536).toString(16)}:${(index % 65_536).toString(16)}::/64`;
  return { id, ip: network, blocked: false, dns_ptr: [] };
}
