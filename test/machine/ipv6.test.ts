import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalRange } from "../../src/machine/ip-range.ts";
import { baseOf, formatIpv6, parseIpv6 } from "../../src/machine/ipv6.ts";

/** Addresses with many empty groups, of which spellings differ most. */
const address = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 });

describe("the one spelling of an IPv6 address", () => {
  it.each([
    ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:DB8::ABCD", "2001:db8::abcd"],
    ["0:0:0:0:0:0:0:0", "::"],
  ])("of %s is %s (RFC 5952, section 4)", (text, one) => {
    expect(formatIpv6(parseIpv6(text) ?? [])).toBe(one);
  });

  it("is read as the address that it stands for, and so is the one in which nothing is left out", () => {
    fc.assert(
      fc.property(address, (groups) => {
        const long = groups.map((group) => group.toString(16).toUpperCase().padStart(4, "0")).join(":");
        expect([parseIpv6(long), parseIpv6(formatIpv6(groups))]).toEqual([groups, groups]);
        expect(canonicalRange(`${long}/128`)).toBe(`${formatIpv6(groups)}/128`);
      }),
    );
  });
});

describe("the base of a /64", () => {
  it("is the same however it is spelt, ends in `::`, and has its first four groups", () => {
    fc.assert(
      fc.property(address, (groups) => {
        const network = groups.slice(0, 4);
        const long = [...network, 0, 0, 0, 0].map((group) => group.toString(16)).join(":");
        const base = formatIpv6([...network, 0, 0, 0, 0]);
        expect([baseOf(`${long}/64`), baseOf(`${base}/64`), baseOf(base)]).toEqual([base, base, base]);
        expect(base.endsWith("::")).toBe(true);
        expect(baseOf(`${formatIpv6(groups)}/64`)).toBe(base);
      }),
    );
  });

  it.each(["", "none", "192.0.2.1"])("that is none, %j, stays as it is", (text) => {
    expect(baseOf(text)).toBe(text);
  });
});
