import { parseTimestamp } from "../../machine/age.ts";
import { baseOf } from "../../machine/ipv6.ts";
import type { Attached, LiveStatus, Machine } from "../../machine/machine.ts";
import { toMicroEur, UNKNOWN_PRICES, type Prices } from "../../machine/money.ts";
import type { HetznerOptions } from "./account.ts";
import type { PriceRows, Server } from "./server.ts";

/** A server is `off` for a while between being built and being started; only an older one was turned off (S6, P46). */
const BOOT_MS = 10 * 60_000;

/** Hetzner's status in our words. Whatever is new or in between is `unknown`, never an error (S3-S7, P46, P47). */
export function toStatus(native: string, createdAt: number | null, now: number): LiveStatus {
  switch (native) {
    case "initializing":
    case "starting":
      return "creating";
    case "running":
      return "running";
    case "off":
      return createdAt !== null && now - createdAt < BOOT_MS ? "creating" : "stopped";
    case "stopping":
      return "stopped";
    case "deleting":
      return "deleting";
    default:
      return "unknown";
  }
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86: "amd64", arm: "arm64" };

/** Hetzner's architectures in our words; any other passes as it is (S56). */
export const archOf = (native: string): string =>
  (Object.hasOwn(ARCHITECTURES, native) && ARCHITECTURES[native]) || native;

/** Who pays, and in which currency prices are told. */
export type Payer = Required<Pick<HetznerOptions, "account" | "currency">>;

/** A server as the API shows it, in our words (S55-S70). */
export function toMachine(server: Server, now: number, payer: Payer): Machine {
  const createdAt = parseTimestamp(server.created);
  return {
    providerId: String(server.id),
    name: server.name,
    status: toStatus(server.status, createdAt, now),
    labels: server.labels ?? {},
    hasLabels: server.labels !== null,
    arch: archOf(server.architecture),
    serverType: server.serverType,
    region: server.location,
    publicIpv4: server.ipv4,
    publicIpv6: baseOf(server.ipv6),
    privateIpv4: server.privateNet?.find((entry) => entry !== null)?.ip ?? "",
    createdAt,
    ...pricesAt(server.prices, server.location, payer),
    deleteProtected: server.deleteProtected,
    attached: attachedTo(server),
  };
}

/** What a server has; null where one of it cannot be read, because what is not seen is not missing. */
function attachedTo({ firewalls, privateNet }: Server): Attached | null {
  const networks = privateNet?.map((entry) => entry?.network ?? null) ?? null;
  if (firewalls === null || networks === null || networks.includes(null)) return null;
  return {
    firewallIds: firewalls.map(({ id }) => String(id)),
    pendingFirewallIds: firewalls.flatMap(({ id, isApplied }) => (isApplied ? [] : [String(id)])),
    networkIds: networks.map(String),
  };
}

/**
 * The gross prices of a server type at one location, and those of an IPv4 address there: another location's say nothing (S63, S65,
 * S66). All are unknown unless the account is known to pay in the currency that is asked for.
 */
export function pricesAt(rows: PriceRows, region: string, { account, currency }: Payer): Prices {
  if (account.currency !== currency) return UNKNOWN_PRICES;
  const { ipv4Prices = [] } = account;
  const type = rows.find((entry) => entry?.location === region);
  const ipv4 = ipv4Prices.find((entry) => entry?.location === region);
  return {
    priceEurPerHour: parsePrice(type?.hourly),
    priceEurPerMonth: parsePrice(type?.monthly),
    ipv4EurPerHour: parsePrice(ipv4?.hourly),
    ipv4EurPerMonth: parsePrice(ipv4?.monthly),
  };
}

/**
 * A decimal string as a number; null for whatever is no positive amount, zero included, and what is rounded to it: unknown is not free (S67).
 * Nor is a hundred thousand and more believed, of which sums would no longer be exact.
 */
export function parsePrice(value: unknown): number | null {
  if (typeof value !== "string" || !/^\s*\d{1,5}(\.\d{1,20})?\s*$/.test(value)) return null;
  const price = Number(value);
  return toMicroEur(price) === 0 ? null : price;
}
