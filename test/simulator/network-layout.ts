// What fits into a network: its range, its subnets and its routes. Source: Hetzner API, Networks.
import { invalidField, notFound } from "./errors.ts";
import {
  contains,
  formatIpv4,
  formatIpv4Range,
  includes,
  isPrivate,
  overlaps,
  parseIpv4,
  parseIpv4Range,
  type Range,
} from "./ip-ranges.ts";
import type { JsonObject } from "./json.ts";
import { LOCATIONS } from "./locations.ts";
import type { Subnet } from "./resources.ts";
import type { NetworkState } from "./network-record.ts";

const NETWORK_PREFIX_MAX = 24;
const SUBNET_PREFIX_MAX = 30;
const EVERYWHERE = "0.0.0.0/0";
const ZONES = new Set<unknown>(LOCATIONS.map(({ network_zone }) => network_zone));

/** The gateway of the public interfaces, which no network may use. */
export const PUBLIC_GATEWAY = rangeOf("172.31.1.1/32");

/** A range that was checked before it was stored. */
export function rangeOf(text: string): Range {
  const range = parseIpv4Range(text);
  if (range === null) throw new Error(`no IPv4 range: ${text}`);
  return range;
}

/** Whether a network may span this. */
export function isNetworkRange(text: string): boolean {
  const range = parseIpv4Range(text);
  return range !== null && isPrivate(range) && range.prefix <= NETWORK_PREFIX_MAX;
}

/** The network's own address, which every subnet has for a gateway and nothing else may have. */
export function gatewayOf({ ip_range }: NetworkState): string {
  return formatIpv4(rangeOf(ip_range).first + 1n);
}

/** The network with one subnet more, or a refusal that names the field, `at` before it. */
export function withSubnet(state: NetworkState, given: JsonObject, at = ""): NetworkState {
  const { type, ip_range, network_zone } = given;
  if (type === "vswitch") throw notFound("vSwitch");
  if (type !== "cloud" && type !== "server") throw invalidField(`${at}type`, "Must be one of: cloud, server, vswitch.");
  if (typeof network_zone !== "string" || !ZONES.has(network_zone))
    throw invalidField(`${at}network_zone`, "Not a network zone.");
  const taken = [...state.subnets.map((subnet) => subnet.ip_range), ...destinationsOf(state)].map(rangeOf);
  const range =
    ip_range === undefined ? firstFree(state, taken) : parseIpv4Range(typeof ip_range === "string" ? ip_range : "");
  const problem = subnetProblem(state, range, taken);
  if (range === null || problem !== null) throw invalidField(`${at}ip_range`, problem ?? "");
  const subnet: Subnet = {
    type,
    ip_range: formatIpv4Range(range),
    network_zone,
    gateway: gatewayOf(state),
    vswitch_id: null,
  };
  return { ...state, subnets: [...state.subnets, subnet] };
}

// A route to everywhere is in nobody's way.
function destinationsOf({ routes }: NetworkState): string[] {
  return routes.map(({ destination }) => destination).filter((destination) => destination !== EVERYWHERE);
}

function firstFree({ ip_range }: NetworkState, taken: Range[]): Range | null {
  const network = rangeOf(ip_range);
  for (let { first } = network; first <= network.last; first += 256n) {
    const candidate = rangeOf(`${formatIpv4(first)}/24`);
    if (!taken.some((range) => overlaps(range, candidate))) return candidate;
  }
  return null;
}

function subnetProblem({ ip_range }: NetworkState, range: Range | null, taken: Range[]): string | null {
  if (range === null) return "Not a valid or not a free IP range.";
  if (range.prefix > SUBNET_PREFIX_MAX) return "The smallest subnet is a /30.";
  if (!contains(rangeOf(ip_range), range)) return "Must be within the network.";
  return taken.some((other) => overlaps(other, range)) ? "Must not overlap with other subnets or routes." : null;
}

/** The network with one route more, or a refusal that names the field, `at` before it. */
export function withRoute(state: NetworkState, given: JsonObject, at = ""): NetworkState {
  const { destination, gateway } = given;
  if (typeof destination !== "string") throw invalidField(`${at}destination`, "Not a valid string.");
  if (typeof gateway !== "string") throw invalidField(`${at}gateway`, "Not a valid string.");
  const problem = destinationProblem(state, destination);
  if (problem !== null) throw invalidField(`${at}destination`, problem);
  const address = parseIpv4(gateway);
  const network = rangeOf(state.ip_range);
  if (address === null || !includes(network, address))
    throw invalidField(`${at}gateway`, "Must be within the network.");
  if (gateway === gatewayOf(state) || address === network.first || includes(PUBLIC_GATEWAY, address))
    throw invalidField(`${at}gateway`, "Must not be a reserved address.");
  return { ...state, routes: [...state.routes, { destination, gateway }] };
}

function destinationProblem(state: NetworkState, destination: string): string | null {
  if (state.routes.some((route) => route.destination === destination)) return "There is a route to it already.";
  if (destination === EVERYWHERE) return null;
  const range = parseIpv4Range(destination);
  if (range === null || !isPrivate(range)) return `Must be a private range or ${EVERYWHERE}.`;
  const taken = [...state.subnets.map((subnet) => subnet.ip_range), ...destinationsOf(state)].map(rangeOf);
  return [...taken, PUBLIC_GATEWAY].some((other) => overlaps(other, range))
    ? "Must not overlap with subnets, other routes or 172.31.1.1."
    : null;
}
