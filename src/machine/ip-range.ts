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

/**
 * Where an address is counted, however it is written: an IPv4 one by itself, also where it comes in IPv6's form (RFC 4291, 2.5.5.2);
 * any other IPv6 one by its /64, whose addresses are all one customer's. What is no address is counted by its text.
 */
export function blockOf(address: string): string {
  const groups = groupsOf(address);
  if (groups === null) return address;
  const [high = 0, low = 0] = groups.slice(6);
  const isIpv4 = groups.slice(0, 6).join(":") === "0:0:0:0:0:65535";
  if (isIpv4) return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}

/** The eight groups of an IPv6 address; null for anything else. */
function groupsOf(address: string): readonly number[] | null {
  // The URL parser knows every spelling of one, and writes none of its groups with dots.
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(address) || !URL.canParse(`http://[${address}]/`)) return null;
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groupsIn = (text: string): number[] => (text === "" ? [] : text.split(":").map((group) => parseInt(group, 16)));
  const [first, last] = [groupsIn(head), groupsIn(tail ?? "")];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
