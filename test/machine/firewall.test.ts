import { describe, expect, it } from "vitest";
import { checkFirewall, type FirewallRule } from "../../src/machine/firewall.ts";

const rule = (change: Partial<Record<keyof FirewallRule, unknown>> = {}): FirewallRule =>
  Object.assign({ direction: "in", protocol: "tcp", port: "22", ranges: [] } as const, change);
const fieldOf = (rules: FirewallRule[], name = "ssh", denyAll = false) => {
  const checked = checkFirewall(name, rules, denyAll);
  return checked.ok ? null : checked.problem.field;
};
const many = (count: number) => Array.from({ length: count }, () => rule());

describe("a firewall", () => {
  it("S113, S114, S115, X7: has no port for icmp, and one for tcp and udp", () => {
    expect(fieldOf([rule({ protocol: "icmp", port: null })])).toBeNull();
    expect(fieldOf([rule({ protocol: "icmp" })])).toBe("rules.0.port");
    for (const protocol of ["tcp", "udp"])
      expect(fieldOf([rule(), rule({ protocol, port: null })])).toBe("rules.1.port");
  });

  it.each(["1", "8443", "65535", "80-443", "80-80"])("S116: takes the port %s", (port) => {
    expect(fieldOf([rule({ port })])).toBeNull();
  });

  it.each(["0", "65536", "443-80", "a", "", "80-", "-80", "1-65536", "80,443", "99999999", " 80"])(
    "S116: refuses the port %j",
    (port) => {
      expect(fieldOf([rule({ port })])).toBe("rules.0.port");
    },
  );

  it("S112: trap: a direction that is neither `in` nor `out` is refused, and never taken for `out`", () => {
    for (const direction of ["inbound", "", "IN"]) expect(fieldOf([rule({ direction })])).toBe("rules.0.direction");
  });

  it("S117: knows three protocols", () => {
    for (const protocol of ["esp", "gre", "TCP", ""]) expect(fieldOf([rule({ protocol })])).toBe("rules.0.protocol");
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

  it.each(["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "010.0.0.0/8", "256.0.0.0/8", "::/129", "fe80::1::/64", "any", ""])(
    "refuses the range %j",
    (range) => {
      expect(fieldOf([rule({ ranges: [range] })])).toBe("rules.0.ranges");
    },
  );
});
