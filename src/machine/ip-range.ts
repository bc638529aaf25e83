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

/** Whether text is a CIDR, IPv4 or IPv6, whose address is the first of its range. */
export function isRange(text: string): boolean {
  if (parseIpv4Range(text) !== null) return true;
  const match = /^([0-9a-fA-F:]{2,39})\/(\d{1,3})$/.exec(text);
  if (match?.[1] === undefined || Number(match[2]) > 128) return false;
  try {
    // The URL parser knows every spelling of an IPv6 address.
    return new URL(`http://[${match[1]}]/`).hostname !== "";
  } catch {
    return false;
  }
}

const PRIVATE: readonly Ipv4Range[] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].flatMap((text) => {
  const range = parseIpv4Range(text);
  return range ? [range] : [];
});

/** Whether one range lies within another. */
export const contains = (outer: Ipv4Range, inner: Ipv4Range): boolean =>
  inner.bits >= outer.bits && inner.first - (inner.first % 2 ** (32 - outer.bits)) === outer.first;

/** Whether a range is private (RFC 1918). */
export const isPrivate = (range: Ipv4Range): boolean => PRIVATE.some((one) => contains(one, range));

/** Where an address is counted: itself, or of an IPv6 address its /64, whose addresses are all one customer's. */
export function blockOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groupsIn = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [first, last] = [groupsIn(head), groupsIn(tail ?? "")];
  const zeros = Array<string>(Math.max(0, tail === undefined ? 0 : 8 - first.length - last.length)).fill("0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
}
