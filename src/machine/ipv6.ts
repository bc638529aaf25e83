/** An IPv6 address as its eight groups of 16 bits. */
export type Ipv6 = readonly number[];

/** Reads an IPv6 address in any of its spellings; null for anything else. */
export function parseIpv6(text: string): Ipv6 | null {
  // The URL parser knows every spelling of one, and writes none of its groups with dots.
  if (!/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text) || !URL.canParse(`http://[${text}]/`)) return null;
  const [head = "", tail] = inBrackets(text).split("::");
  const groupsIn = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => parseInt(group, 16)));
  const [first, last] = [groupsIn(head), groupsIn(tail ?? "")];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** The one spelling that all others stand for (RFC 5952, section 4): lower case, the longest run of empty groups as `::`. */
export const formatIpv6 = (address: Ipv6): string => inBrackets(address.map((group) => group.toString(16)).join(":"));

/** The first of those addresses that begin with the same `bits` bits. */
export const firstOf = (address: Ipv6, bits: number): Ipv6 =>
  address.map((group, index) => {
    const free = 16 - Math.min(16, Math.max(0, bits - 16 * index));
    return group - (group % 2 ** free);
  });

/** A /64 in the one spelling, none of whose other groups is empty: as nearly all are written, and fifty machines are on a page. */
const PLAIN = /^((?:[1-9a-f][0-9a-f]{0,3}:){1,4}:)(?:\/64)?$/;

/** The base address of a range, however it is spelt, and without its length; what is no IPv6 address stays as it is. */
export function baseOf(range: string): string {
  const [, plain] = PLAIN.exec(range) ?? [];
  if (plain !== undefined) return plain;
  const [address = "", length = ""] = range.split("/");
  const groups = parseIpv6(address);
  return groups === null ? address : formatIpv6(firstOf(groups, /^\d{1,3}$/.test(length) ? Number(length) : 128));
}

/** What the URL parser makes of an address, which is its spelling by RFC 5952. */
const inBrackets = (text: string): string => new URL(`http://[${text}]/`).hostname.slice(1, -1);
