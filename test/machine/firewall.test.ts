import { describe, expect, it } from "vitest";
import { checkFirewall, type FirewallRule } from "../../src/machine/firewall.ts";

const rule = (change: Partial<Record<keyof FirewallRule, unknown>> = {}): FirewallRule =>
  Object.assign({ direction: "in", protocol: "tcp", port: "22", ranges: [], description: "" } as const, change);
const fieldOf = (rules: FirewallRule[], name = "ssh", denyAll = false) => {
  const checked = checkFirewall(name, rules, denyAll);
  return checked.ok ? null : checked.problem.field;
};
const readOf = (range: string) => {
  const checked = checkFirewall("ssh", [rule({ ranges: [range] })], false);
  return checked.ok ? checked.value[0]?.ranges : checked.problem.rule;
};
const many = (count: number) => Array.from({ length: count }, () => rule());

describe("a firewall", () => {
  it("S113, S114, S115, X7: has no port for icmp, esp and gre, and one for tcp and udp", () => {
    for (const protocol of ["icmp", "esp", "gre"]) {
      expect(fieldOf([rule({ protocol, port: null })])).toBeNull();
      expect(fieldOf([rule({ protocol })])).toBe("rules.0.port");
    }
    for (const protocol of ["tcp", "udp"])
      expect(fieldOf([rule(), rule({ protocol, port: null })])).toBe("rules.1.port");
  });

  it.each(["1", "8443", "65535", "80-443", "80-80"])("S116: takes the port %s", (port) => {
    expect(fieldOf([rule({ port })])).toBeNull();
  });

  it.each([
    "0",
    "65536",
    "443-80",
    "a",
    "",
    "80-",
    "-80",
    "1-65536",
    "80,443",
    "99999999",
    " 80",
    "080",
    "80-0443",
    "any",
  ])("S116: refuses the port %j", (port) => {
    expect(fieldOf([rule({ port })])).toBe("rules.0.port");
  });

  it("S112: trap: a direction that is neither `in` nor `out` is refused, and never taken for `out`", () => {
    for (const direction of ["inbound", "", "IN"]) expect(fieldOf([rule({ direction })])).toBe("rules.0.direction");
  });

  it("S117: knows the provider's five protocols, and no other", () => {
    for (const protocol of ["sctp", "any", "TCP", ""]) expect(fieldOf([rule({ protocol })])).toBe("rules.0.protocol");
  });

  it("has a description of at most 255 characters to each rule, which UTF-8 can hold", () => {
    for (const description of ["", "x".repeat(255), "Zugang für alle"])
      expect(fieldOf([rule({ description })])).toBeNull();
    for (const description of ["x".repeat(256), "\ud800"])
      expect(fieldOf([rule(), rule({ description })])).toBe("rules.1.description");
  });

  it("S118: has at most 50 rules of at most 100 ranges each, and a name of at most 128", () => {
    expect([fieldOf(many(50)), fieldOf(many(51))]).toEqual([null, "rules"]);
    const ranges = (count: number) => Array.from({ length: count }, (_, index) => `10.0.${index}.0/24`);
    expect([fieldOf([rule({ ranges: ranges(100) })]), fieldOf([rule({ ranges: ranges(101) })])]).toEqual([
      null,
      "rules.0.ranges",
    ]);
    expect([fieldOf(many(1), "x".repeat(128)), fieldOf(many(1), "x".repeat(129)), fieldOf(many(1), "")]).toEqual([
      null,
      "name",
      "name",
    ]);
  });

  it("S118: has at most 500 ranges in all its rules together, of which a rule for anywhere has two", () => {
    const ranges = Array.from({ length: 100 }, (_, index) => `10.0.${index}.0/24`);
    const five = Array.from({ length: 5 }, () => rule({ ranges }));
    expect(fieldOf(five)).toBeNull();
    expect(fieldOf([...five, rule()])).toBe("rules");
    const short = rule({ ranges: ranges.slice(0, 98) });
    expect([fieldOf([...five.slice(1), short, rule()]), fieldOf([...five.slice(1), short, rule(), rule()])]).toEqual([
      null,
      "rules",
    ]);
  });

  it("S121: without rules denies everything inbound, so that must be said", () => {
    expect([fieldOf([]), fieldOf([], "none", true)]).toEqual(["rules", null]);
  });

  it.each(["10.0.0.0/8", "203.0.113.7/32", "0.0.0.0/0", "::/0", "2001:db8::/32"])("takes the range %s", (range) => {
    expect(fieldOf([rule({ ranges: [range] })])).toBeNull();
  });

  it.each([
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "010.0.0.0/8",
    "256.0.0.0/8",
    "::/129",
    "::/064",
    "fe80::1::/64",
    "2001:db8::",
    "2001:db8::/",
    "::ffff:192.0.2.0/120",
    "any",
    "",
  ])("refuses the range %j", (range) => {
    expect(fieldOf([rule({ ranges: [range] })])).toBe("rules.0.ranges");
  });

  it.each([
    ["AAAA::/16", "aaaa::/16"],
    ["2001:0DB8:0000::/32", "2001:db8::/32"],
    ["2001:db8:0:0:0:0:0:1/128", "2001:db8::1/128"],
    ["2001:db8:0:1:0:0:0:0/64", "2001:db8:0:1::/64"],
    ["0:0:0:0:0:0:0:0/0", "::/0"],
    ["203.0.113.7/32", "203.0.113.7/32"],
  ])("the range %s is %s, as the provider will say", (range, read) => {
    expect(readOf(range)).toEqual([read]);
  });

  it.each([
    ["2001:db8::1/64", "2001:db8::/64"],
    ["2001:db8:0:5::/48", "2001:db8::/48"],
    ["ff21:1eac:9a3b:ee58:5ca:990c:8bc9:c03b/127", "ff21:1eac:9a3b:ee58:5ca:990c:8bc9:c03a/127"],
    ["fe80::1/0", "::/0"],
    ["10.0.0.1/8", "10.0.0.0/8"],
    ["203.0.113.7/31", "203.0.113.6/31"],
  ])("the range %s has host bits, and is refused by the one that has none: %s", (range, base) => {
    expect(readOf(range)).toContain(`${range} is in ${base}`);
  });
});
