import { describe, expect, it } from "vitest";
import { checkIpRange, checkRoute, overlapIn } from "../../src/machine/network.ts";

describe("a network's range", () => {
  it.each(["10.0.0.0/8", "10.0.0.0/16", "172.16.0.0/12", "172.31.0.0/24", "192.168.0.0/16", "192.168.7.0/24"])(
    "S133: may be %s",
    (range) => {
      expect(checkIpRange(range).ok).toBe(true);
    },
  );

  it.each([
    "11.0.0.0/16",
    "172.32.0.0/16",
    "192.169.0.0/16",
    "0.0.0.0/0",
    "10.0.0.0/25",
    "10.0.0.0/32",
    "10.0.0.1/16",
    "10.0.0.0",
    "fd00::/16",
    "x",
    "",
  ])("S133: may not be %j", (range) => {
    expect(checkIpRange(range)).toMatchObject({ ok: false, problem: { field: "ip_range" } });
  });
});

describe("a route", () => {
  const fieldOf = (destination: string, gateway: string) => {
    const checked = checkRoute("10.0.0.0/16", destination, gateway);
    return checked.ok ? null : checked.problem.field;
  };

  it("S139, S141: leads anywhere or into a private range, over an address of the network", () => {
    expect(fieldOf("0.0.0.0/0", "10.0.0.2")).toBeNull();
    expect(fieldOf("192.168.0.0/24", "10.0.255.254")).toBeNull();
    for (const destination of ["8.8.8.0/24", "0.0.0.0/1", "10.0.0.1/16", "10.7", "x", "", "::/0"])
      expect(fieldOf(destination, "10.0.0.2"), destination).toBe("destination");
  });

  it.each(["10.0.0.0/16", "10.0.7.0/24", "10.0.0.0/8", "172.16.0.0/12", "172.31.1.1/32"])(
    "never leads to %s, which has addresses of the network itself or of the provider's",
    (destination) => {
      expect(fieldOf(destination, "10.0.0.2")).toBe("destination");
    },
  );

  it.each(["10.0.0.0", "10.0.0.1", "10.1.0.1", "172.31.1.1", "8.8.8.8", "", "x"])("S141: never over %j", (gateway) => {
    expect(fieldOf("0.0.0.0/0", gateway)).toBe("gateway");
  });
});

describe("networks of one machine", () => {
  it.each([
    [[], null],
    [["10.0.0.0/16", "10.1.0.0/16", "192.168.0.0/24"], null],
    [["10.0.0.0/16", "192.168.0.0/24", "10.0.0.0/16"], { at: 2, with: 0 }],
    [["192.168.0.0/24", "10.0.4.0/24", "10.0.0.0/8"], { at: 2, with: 1 }],
    [["10.0.0.0/8", "10.0.4.0/24"], { at: 1, with: 0 }],
  ])("%j: the first that overlaps with one before it is %j", (ranges, found) => {
    expect(overlapIn(ranges)).toEqual(found);
  });
});
