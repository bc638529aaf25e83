import { firstOf, formatIpv6, parseIpv6 } from "./ipv6.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/** An IPv4 range as numbers: its first address and how many bits of it are fixed. */
export interface Ipv4Range {
  readonly first: number;
  readonly bits: number;
}

/** Reads an IPv4 address; null for anything else, leading zeros included. */
export function parseIpv4(text: string): number | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Reads an IPv4 CIDR whose address is the first of its range; null for anything else. */
export function parseIpv4Range(text: string): Ipv4Range | null {
  const [address = "", length = "", ...rest] = text.split("/");
  const first = parseIpv4(address);
  if (first === null || rest.length > 0 || !/^(0|[1-9]\d?)$/.test(length) || Number(length) > 32) return null;
  const bits = Number(length);
  return first % 2 ** (32 - bits) === 0 ? { first, bits } : null;
}

/** A CIDR as it was read, IPv4 or IPv6. */
interface Range {
  /** In the one spelling that all others stand for, from its first address on. */
  readonly text: string;
  /** Whether the address that was given is the first. */
  readonly isFirst: boolean;
}

function readRange(text: string): Range | null {
  const [, address, length] = /^([0-9a-f:.]{2,39})\/(0|[1-9]\d{0,2})$/i.exec(text) ?? [];
  const bits = Number(length);
  if (address === undefined || bits > 128) return null;
  const ipv4 = parseIpv4(address);
  if (ipv4 !== null && bits > 32) return null;
  if (ipv4 !== null) {
    const first = ipv4 - (ipv4 % 2 ** (32 - bits));
    return { text: `${formatIpv4(first)}/${bits}`, isFirst: first === ipv4 };
  }
  const ipv6 = address.includes(".") ? null : parseIpv6(address);
  if (ipv6 === null) return null;
  const first = formatIpv6(firstOf(ipv6, bits));
  return { text: `${first}/${bits}`, isFirst: first === formatIpv6(ipv6) };
}

/** Checks a CIDR, IPv4 or IPv6, and answers it in the spelling that all others stand for: what means the same is the same text. */
export function checkRange(text: string, field: string): Checked<string> {
  const range = readRange(text);
  if (range === null) return invalid(field, "must be CIDRs like 203.0.113.0/24 or 2001:db8::/32");
  if (range.isFirst) return valid(range.text);
  return invalid(field, `must be CIDRs that begin with their first address: ${text} is in ${range.text}`);
}

/** The same of one that was checked by the rules of its day; what breaks those of today stays as it is. */
export const canonicalRange = (text: string): string => {
  const checked = checkRange(text, "");
  return checked.ok ? checked.value : text;
};

const formatIpv4 = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");

const PRIVATE: readonly Ipv4Range[] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].flatMap((text) => {
  const range = parseIpv4Range(text);
  return range ? [range] : [];
});

/** Whether one range lies within another. */
export const contains = (outer: Ipv4Range, inner: Ipv4Range): boolean =>
  inner.bits >= outer.bits && inner.first - (inner.first % 2 ** (32 - outer.bits)) === outer.first;

/** Whether two ranges have an address in common: of two that do, one lies within the other. */
export const overlap = (one: Ipv4Range, other: Ipv4Range): boolean => contains(one, other) || contains(other, one);

/** Whether a range is private (RFC 1918). */
export const isPrivate = (range: Ipv4Range): boolean => PRIVATE.some((one) => contains(one, range));

/**
 * Where an address is counted, however it is written: an IPv4 one by itself, also where it comes in IPv6's form (RFC 4291, 2.5.5.2);
 * any other IPv6 one by its /64, whose addresses are all one customer's. What is no address is counted by its text.
 */
export function blockOf(address: string): string {
  const groups = parseIpv6(address);
  if (groups === null) return address;
  const [high = 0, low = 0] = groups.slice(6);
  const isIpv4 = groups.slice(0, 6).join(":") === "0:0:0:0:0:65535";
  if (isIpv4) return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}
