import { describe, expect, it } from "vitest";
import { machineBody, orderOf } from "../../src/http/machines/body.ts";
import { checkOrder } from "../../src/lifecycle/order.ts";
import { checkRequest, checkSpec, type MachineSpec } from "../../src/machine/spec.ts";
import { specOf } from "./fixtures.ts";

const fieldOf = (change: Partial<MachineSpec>): string | null => {
  const checked = checkSpec(specOf(change));
  return checked.ok ? null : checked.problem.field;
};
const fieldOfRequest = (change: Partial<MachineSpec>): string | null => {
  const checked = checkRequest({ ...specOf(change), isImageSelector: false }, []);
  return checked.ok ? null : checked.problem.field;
};
/** What a caller's body comes to, defaults filled in. */
const requestOf = (body: object) => {
  const order = orderOf(machineBody.parse({ server_type: "cx23", region: "fsn1", ...body }));
  const checked = checkOrder(order, { maxAgeMs: 86_400_000, profiles: new Map() });
  return checked.ok ? checked.value.request : null;
};

it("S14: the five core fields are refused under the contract's own names", () => {
  expect(checkSpec(specOf()).ok).toBe(true);
  expect(fieldOf({ name: "" })).toBe("name");
  expect(fieldOf({ region: "" })).toBe("region");
  expect(fieldOf({ serverType: "" })).toBe("server_type");
  expect(fieldOf({ cloudInit: "x".repeat(40_000) })).toBe("cloud_init");
  expect(fieldOf({ labels: { "-": "v" } })).toBe("labels.-");
});

it("S15: without an image a machine gets debian-12", () => {
  expect(requestOf({})).toMatchObject({ image: "debian-12" });
  expect(requestOf({ image: "ubuntu-24.04" })).toMatchObject({ image: "ubuntu-24.04" });
});

describe("a way to reach the machine", () => {
  const NO_ADDRESS = { enableIpv4: false, enableIpv6: false };

  it("S21, X9: neither address family and no network is refused before anything is billed", () => {
    expect(fieldOf(NO_ADDRESS)).toBe("enable_ipv6");
    expect(fieldOfRequest(NO_ADDRESS)).toBe("enable_ipv6");
  });

  it("S22, X9: a network reaches it as well", () => {
    expect(fieldOf({ ...NO_ADDRESS, networkIds: ["4711"] })).toBeNull();
  });

  it("S21: either family alone is enough", () => {
    expect(fieldOf({ enableIpv4: false })).toBeNull();
    expect(fieldOf({ enableIpv6: false })).toBeNull();
  });
});

describe("a name", () => {
  it("S23, X15: has 63 characters at most", () => {
    expect(fieldOf({ name: "n".repeat(63) })).toBeNull();
    expect(fieldOf({ name: "n".repeat(64) })).toBe("name");
  });

  it.each(["", "Job", "ci_job", "-a", "a-", "a.b"])("S24: %j is refused", (name) => {
    expect(fieldOf({ name })).toBe("name");
  });
});

describe("cloud-init", () => {
  it.each([
    ["ASCII", "x".repeat(32_768), "x".repeat(32_769)],
    ["two bytes each", "é".repeat(16_384), "é".repeat(16_385)],
    ["three bytes each", "€".repeat(10_922) + "x".repeat(2), "€".repeat(10_922) + "x".repeat(3)],
    ["four bytes each", "🦟".repeat(8192), `${"🦟".repeat(8192)}x`],
  ])("S26: is at most 32768 bytes of UTF-8: %s", (_, fits, tooLong) => {
    expect(fieldOf({ cloudInit: fits })).toBeNull();
    expect(fieldOf({ cloudInit: tooLong })).toBe("cloud_init");
    expect(fieldOfRequest({ cloudInit: tooLong })).toBe("cloud_init");
  });

  it("S26, X15: fewer characters than that can still be too many bytes", () => {
    expect(fieldOf({ cloudInit: "é".repeat(32_767) })).toBe("cloud_init");
  });

  it.each([
    ["32768 letters", "x".repeat(32_768), null],
    ["32769 letters", "x".repeat(32_769), "cloud_init"],
    ["11000 characters of three bytes", "€".repeat(11_000), "cloud_init"],
  ])("case 27: %s", (_, cloudInit, expected) => {
    expect(fieldOf({ cloudInit })).toBe(expected);
  });

  it("is refused when UTF-8 cannot hold it: the provider would get another text", () => {
    expect(fieldOf({ cloudInit: "#cloud-config \uD800" })).toBe("cloud_init");
  });

  it("is passed on byte for byte", () => {
    const text = "#cloud-config\r\n# é\n\n";
    expect(requestOf({ cloud_init: text })).toMatchObject({ cloudInit: text });
  });
});

describe("labels", () => {
  it("S29, S30, S31: are judged here too, and the refusal names the key", () => {
    expect(fieldOf({ labels: { "bad key": "v" } })).toBe("labels.bad key");
    expect(fieldOf({ labels: { team: "a:b" } })).toBe("labels.team");
    expect(fieldOf({ labels: { "hetzner.cloud/x": "v" } })).toBe("labels.hetzner.cloud/x");
  });

  it.each([
    ["empty", { team: "" }, true],
    ["63 characters", { team: "v".repeat(63) }, true],
    ["64 characters", { team: "v".repeat(64) }, false],
    ["a colon", { team: "a:b" }, false],
    ["a leading hyphen", { team: "-a" }, false],
    ["the provider's prefix", { "hetzner.cloud/x": "v" }, false],
    ["another prefix", { "example.com/my": "v" }, true],
  ])("case 25: %s", (_, labels, expected) => {
    expect(checkSpec(specOf({ labels })).ok).toBe(expected);
  });

  it("may be ours in a spec, and not in a caller's request", () => {
    expect(fieldOf({ labels: { "mayfly-uid": "x" } })).toBeNull();
    expect(fieldOfRequest({ labels: { "mayfly-uid": "x" } })).toBe("labels.mayfly-uid");
  });
});

describe("where and what", () => {
  it.each(["", " ", "a b", "fsn1/..", "-fsn1", "fsn1\n", "x".repeat(129)])(
    "S36: %j is no region, no server type and no image",
    (text) => {
      expect(fieldOf({ region: text })).toBe("region");
      expect(fieldOf({ serverType: text })).toBe("server_type");
      expect(fieldOf({ image: text })).toBe("image");
    },
  );

  it("S36: a body without a region is refused, and one without a server type too unless an arch says what to pick from", () => {
    const nowhere = machineBody.parse({ server_type: "cx23" });
    expect(checkOrder(orderOf(nowhere), { maxAgeMs: 1, profiles: new Map() })).toMatchObject({
      problem: { field: "region" },
    });
    const parsed = machineBody.parse({ region: "fsn1" });
    expect(checkOrder(orderOf(parsed), { maxAgeMs: 1, profiles: new Map() })).toMatchObject({
      problem: { field: "server_type" },
    });
    const byArch = machineBody.parse({ region: "fsn1", arch: "arm64" });
    expect(checkOrder(orderOf(byArch), { maxAgeMs: 1, profiles: new Map() })).toMatchObject({ ok: true });
    expect(orderOf(byArch)).toMatchObject({ serverTypes: undefined, arch: "arm64" });
  });
});
