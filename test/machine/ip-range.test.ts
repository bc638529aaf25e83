import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockOf } from "../../src/machine/ip-range.ts";

describe("where an address is counted", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:0:7::1", "2001:db8:0:7::/64"],
    ["2001:DB8:0:7:FFFF::2", "2001:db8:0:7::/64"],
    ["2001:0db8:0000:0007:0::1", "2001:db8:0:7::/64"],
    ["2001:db8:0:7:1:2:3:4", "2001:db8:0:7::/64"],
    ["2001:db8::7:0:0:0:1", "2001:db8:0:7::/64"],
    ["2001:db8::", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:255.255.255.255", "255.255.255.255"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ])("%s: %s", (address, block) => {
    expect(blockOf(address)).toBe(block);
  });

  it.each(["", "unknown", ":", "1:2:3", "fe80::1%eth0", "[::1]", "::1]/a[", "::ffff:999.1.1.1", "1:2:3:4:5:6:7:8:9"])(
    "is its own text where it is none: %j",
    (text) => {
      expect(blockOf(text)).toBe(text);
    },
  );

  it("is the same for two addresses exactly where their first four groups are", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const groups = fc.array(group, { minLength: 4, maxLength: 4 });
    const blockOfAll = (all: readonly number[]) => blockOf(all.map((one) => one.toString(16)).join(":"));
    fc.assert(
      fc.property(groups, groups, groups, groups, (network, other, host, another) => {
        fc.pre(network.some((one) => one !== 0) && other.some((one) => one !== 0));
        expect(blockOfAll([...network, ...host])).toBe(blockOfAll([...network, ...another]));
        expect(blockOfAll([...network, ...host]) === blockOfAll([...other, ...host])).toBe(
          network.join() === other.join(),
        );
      }),
    );
  });
});
