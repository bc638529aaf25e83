import { contains, isPrivate, parseIpv4, parseIpv4Range } from "./ip-range.ts";
import { invalid, valid, type Checked } from "./validation.ts";

const MOST_BITS = 24;
/** Hetzner's own gateway, reserved in every network. */
const RESERVED_GATEWAY = "172.31.1.1";

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
  if (to === null || (destination !== "0.0.0.0/0" && !isPrivate(to)))
    return invalid("destination", "must be 0.0.0.0/0 or a private IPv4 range");
  const network = parseIpv4Range(ipRange);
  const via = parseIpv4(gateway);
  if (network === null || via === null || !contains(network, { first: via, bits: 32 }))
    return invalid("gateway", "must be an address within the network");
  // The first address of a range is the provider's own router.
  if (gateway === RESERVED_GATEWAY || via <= network.first + 1)
    return invalid("gateway", "must not be an address that the provider keeps: the first of the range, or 172.31.1.1");
  return valid({ destination, gateway });
}
