// IPv4 and IPv6 ranges in CIDR notation, as numbers that can be compared.

/** All addresses from `first` to `last`, of one family. */
export interface Range {
  family: 4 | 6;
  first: bigint;
  last: bigint;
  /** The length of the prefix. */
  prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;

/** A range in CIDR notation; null for anything else, and where the host bits are not empty. */
export function parseRange(text: string): Range | null {
  const [, address = "", digits = ""] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const family = address.includes(":") ? 6 : 4;
  const first = family === 6 ? parseIpv6(address) : parseIpv4(address);
  const prefix = Number(digits);
  if (first === null || digits === "" || prefix > BITS[family]) return null;
  const size = 1n << BigInt(BITS[family] - prefix);
  return first % size === 0n ? { family, first, last: first + size - 1n, prefix } : null;
}

/** An IPv4 range in CIDR notation, or null. */
export function parseIpv4Range(text: string): Range | null {
  const range = parseRange(text);
  return range?.family === 4 ? range : null;
}

/** An IPv4 address as a number, or null. */
export function parseIpv4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return null;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

/** The number of an IPv4 address as text. */
export function formatIpv4(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((address >> shift) & 255n)).join(".");
}

/** An IPv4 range as text. */
export function formatIpv4Range({ first, prefix }: Range): string {
  return `${formatIpv4(first)}/${prefix}`;
}

/** A range as the provider answers it: an IPv6 one in its canonical form. Source: Hetzner API, Firewalls; RFC 5952, section 4. */
export function formatRange(range: Range): string {
  return range.family === 4 ? formatIpv4Range(range) : `${formatIpv6(range.first)}/${range.prefix}`;
}

function formatIpv6(address: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((address >> BigInt(16 * (7 - index))) & 65_535n).toString(16),
  ).join(":");
  const gaps = [...groups.matchAll(/(?<![^:])0(?::0)+(?![^:])/g)].map(([gap]) => gap);
  const longest = gaps.reduce((best, gap) => (gap.length > best.length ? gap : best), "");
  if (longest === "") return groups;
  const at = groups.search(new RegExp(`(?<![^:])${longest}(?![^:])`));
  return `${groups.slice(0, at).replace(/:$/, "")}::${groups.slice(at + longest.length).replace(/^:/, "")}`;
}

function parseIpv6(text: string): bigint | null {
  const [head = "", tail, ...more] = text.split("::");
  const left = groupsOf(head);
  const right = groupsOf(tail ?? "");
  const missing = 8 - left.length - right.length;
  // A double colon stands for one group at least.
  if (more.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return null;
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...right];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"));

/** Whether the one lies within the other, or is it. */
export function contains(outer: Range, inner: Range): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

/** Whether they have an address in common. */
export function overlaps(left: Range, right: Range): boolean {
  return left.family === right.family && left.first <= right.last && right.first <= left.last;
}

/** Whether the address is one of the range's. */
export function includes(range: Range, address: bigint): boolean {
  return range.first <= address && address <= range.last;
}

const PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(parseIpv4Range).filter((range) => range !== null);

/** Whether all of it is private. Source: RFC 1918. */
export function isPrivate(range: Range): boolean {
  return PRIVATE.some((outer) => contains(outer, range));
}
