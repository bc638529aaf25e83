// Which address a server gets in a network.
import { ApiError, invalidField } from "./errors.ts";
import { formatIpv4, includes, overlaps, parseIpv4 } from "./ip-ranges.ts";
import { gatewayOf, PUBLIC_GATEWAY, rangeOf } from "./network-layout.ts";
import { networkAt, taking, type NetworkRecord } from "./network-record.ts";
import type { Subnet } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** What an attachment may ask for. */
export interface WantedAddress {
  ip: string | null;
  alias_ips: string[];
  /** Of the subnet. */
  ip_range: string | null;
}

/** The addresses that a server in this zone gets, or a refusal. Source: Hetzner API, Server Actions. */
export function chooseAddresses(
  record: NetworkRecord,
  zone: string,
  wanted: WantedAddress,
  now_ms: number,
): { ip: string; alias_ips: string[] } {
  const subnets = networkAt(record, now_ms).subnets.filter(
    ({ network_zone, ip_range }) => network_zone === zone && (wanted.ip_range ?? ip_range) === ip_range,
  );
  if (subnets.length === 0) throw noSubnet();
  const isFree = freeIn(record, now_ms);
  const asked = [...(wanted.ip === null ? [] : [wanted.ip]), ...wanted.alias_ips];
  for (const [index, ip] of asked.entries()) {
    const address = parseIpv4(ip) ?? -1n;
    if (wanted.ip_range !== null && !includes(rangeOf(wanted.ip_range), address))
      throw invalidField("ip", "Must be within the subnet.");
    if (asked.indexOf(ip) !== index || !subnets.some((subnet) => isFree(subnet, address)))
      throw new ApiError(422, "ip_not_available", `IP ${ip} is not available`);
  }
  const ip =
    wanted.ip ??
    firstFree(subnets, (subnet, address) => isFree(subnet, address) && !asked.includes(formatIpv4(address)));
  return { ip, alias_ips: wanted.alias_ips };
}

function noSubnet(): ApiError {
  return new ApiError(422, "no_subnet_available", "no subnet or IP is available for the server within the network");
}

// A subnet's first and last address are not for anybody, nor are the network's first two and the public gateway.
function freeIn(record: NetworkRecord, now_ms: number): (subnet: Subnet, address: bigint) => boolean {
  const state = networkAt(record, now_ms);
  const taken = new Set(taking(record, now_ms).flatMap(({ ip, alias_ips }) => [ip].concat(alias_ips)));
  taken.add(gatewayOf(state)).add(formatIpv4(PUBLIC_GATEWAY.first));
  return ({ ip_range }, address) => {
    const { first, last } = rangeOf(ip_range);
    return first < address && address < last && !taken.has(formatIpv4(address));
  };
}

function firstFree(subnets: Subnet[], isFree: (subnet: Subnet, address: bigint) => boolean): string {
  for (const subnet of subnets) {
    const { first, last } = rangeOf(subnet.ip_range);
    for (let address = first; address <= last; address += 1n) if (isFree(subnet, address)) return formatIpv4(address);
  }
  throw noSubnet();
}

/** Throws 422 if the network shares addresses with one that the server is in. Source: Hetzner API, Server Actions. */
export function refuseOverlap(world: World, server: ServerRecord, record: NetworkRecord, now_ms: number): void {
  for (const other of world.networks.values())
    if (other !== record && taking(other, now_ms).some(({ server_id }) => server_id === server.view.id))
      refuseOverlapOf(record, other, now_ms);
}

/** Throws 422 if two networks for one server share addresses. */
export function refuseOverlapOf(left: NetworkRecord, right: NetworkRecord, now_ms: number): void {
  if (overlaps(rangeOf(networkAt(left, now_ms).ip_range), rangeOf(networkAt(right, now_ms).ip_range)))
    throw new ApiError(422, "networks_overlap", "network IP range overlaps with one of the server's networks");
}

/** A hardware address that no other interface has. */
export function macAddress(network_id: number, ip: string): string {
  const bytes = [0x86, 0, network_id % 256, ...ip.split(".").slice(1).map(Number)];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}
