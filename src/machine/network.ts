import { contains, isPrivate, overlap, parseIpv4, parseIpv4Range, type Ipv4Range } from "./ip-range.ts";
import { invalid, valid, type Checked } from "./validation.ts";

const MOST_BITS = 24;
/** Hetzner's own gateway, reserved in every network. */
const RESERVED_GATEWAY = "172.31.1.1";
const RESERVED: Ipv4Range = { first: parseIpv4(RESERVED_GATEWAY) ?? 0, bits: 32 };
const EVERYWHERE = "0.0.0.0/0";

/** Checks a network's range: private, and no smaller than /24 (S133). */
export function checkIpRange(text: string, field = "ip_range"): Checked<string> {
  const range = parseIpv4Range(text);
  if (range === null) return invalid(field, "must be an IPv4 range like 10.0.0.0/16, with the first address of it");
  if (!isPrivate(range)) return invalid(field, "must be private: within 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16");
  return range.bits <= MOST_BITS ? valid(text) : invalid(field, `must not be smaller than /${MOST_BITS}`);
}

/** Checks a route of a network of that range: where to, and over which machine's private address (S141). */
export function checkRoute(
  ipRange: string,
  destination: string,
  gateway: string,
): Checked<{ destination: string; gateway: string }> {
  const to = parseIpv4Range(destination);
  if (to === null || (destination !== EVERYWHERE && !isPrivate(to)))
    return invalid("destination", `must be ${EVERYWHERE} or a private IPv4 range, with the first address of it`);
  const network = parseIpv4Range(ipRange);
  const isAll = destination === EVERYWHERE;
  // Its one subnet is all of the network.
  if (!isAll && network !== null && overlap(network, to))
    return invalid("destination", `must not overlap with the network itself, which is ${ipRange}`);
  if (!isAll && overlap(to, RESERVED))
    return invalid("destination", `must not overlap with ${RESERVED_GATEWAY}, which the provider keeps`);
  const via = parseIpv4(gateway);
  if (network === null || via === null || !contains(network, { first: via, bits: 32 }))
    return invalid("gateway", "must be an address within the network");
  // The first address of a range is the provider's own router.
  if (gateway === RESERVED_GATEWAY || via <= network.first + 1)
    return invalid("gateway", "must not be an address that the provider keeps: the first of the range, or 172.31.1.1");
  return valid({ destination, gateway });
}

/** The first of some networks' ranges that overlaps with one before it, by their places; null where none does. */
export function overlapIn(ipRanges: readonly string[]): { readonly at: number; readonly with: number } | null {
  const ranges = ipRanges.map(parseIpv4Range);
  for (const [at, range] of ranges.entries()) {
    const before = ranges.findIndex((other, index) => index < at && range && other && overlap(range, other));
    if (before >= 0) return { at, with: before };
  }
  return null;
}
