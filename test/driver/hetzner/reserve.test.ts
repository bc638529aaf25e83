import { describe, expect, it } from "vitest";
import type { Capabilities } from "../../../src/driver/capabilities.ts";
import type { Driver } from "../../../src/driver/driver.ts";
import type { Account } from "../../../src/driver/hetzner/account.ts";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { createHetznerDriver } from "../../../src/driver/hetzner/hetzner.ts";
import { failureOf, NOW, spec } from "../contract/cloud.ts";
import { read, refusal, TOKEN } from "./bench.ts";

interface Cloud {
  readonly driver: Driver;
  readonly capabilities: Required<Capabilities>;
}

const LABELS = spec().labels;
const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMcOL20YlBkE4kAlePP9eFk/81YyJpa7cqTX2Q7Vs/b";
const FIREWALL = { name: "web", rules: [], denyAll: true, labels: LABELS, machineIds: [] };
const NETWORK = { name: "lab", ipRange: "10.0.0.0/16", region: "fsn1", labels: LABELS };

/** Every function of the driver and its capabilities, by its path; a test makes sure that none is missing. */
const CALLS: Readonly<Record<string, (cloud: Cloud) => Promise<unknown>>> = {
  "driver.create": ({ driver }) => driver.create(spec()),
  "driver.destroy": ({ driver }) => driver.destroy("42"),
  "driver.get": ({ driver }) => driver.get("42"),
  "driver.list": ({ driver }) => driver.list({}),
  "driver.priceEurPerHour": ({ driver }) => driver.priceEurPerHour("fsn1", "cx23"),
  "capabilities.relabel": ({ capabilities }) => capabilities.relabel({ providerId: "42", labels: {} }, { a: "b" }),
  "capabilities.findByName": ({ capabilities }) => capabilities.findByName("ci-1"),
  "capabilities.inventoryPage": ({ capabilities }) => capabilities.inventoryPage({}, null),
  "capabilities.serverTypes": ({ capabilities }) => capabilities.serverTypes(),
  "capabilities.findSnapshot": ({ capabilities }) => capabilities.findSnapshot("role=base", "cx23"),
  "capabilities.action": ({ capabilities }) => capabilities.action("9"),
  "capabilities.deletionError": ({ capabilities }) => capabilities.deletionError("42"),
  "capabilities.checkImage": ({ capabilities }) => capabilities.checkImage("45"),
  ...ofKind("sshKeys"),
  "capabilities.sshKeys.ensure": ({ capabilities }) => capabilities.sshKeys.ensure("laptop", KEY, LABELS),
  ...ofKind("firewalls"),
  "capabilities.firewalls.create": ({ capabilities }) => capabilities.firewalls.create(FIREWALL),
  "capabilities.firewalls.apply": ({ capabilities }) => capabilities.firewalls.apply("7", ["42"]),
  "capabilities.firewalls.remove": ({ capabilities }) => capabilities.firewalls.remove("7", ["42"]),
  "capabilities.firewalls.removeSelectors": ({ capabilities }) => capabilities.firewalls.removeSelectors("7", ["a=b"]),
  ...ofKind("networks"),
  "capabilities.networks.create": ({ capabilities }) => capabilities.networks.create(NETWORK),
  "capabilities.networks.attach": ({ capabilities }) => capabilities.networks.attach("7", "42"),
  "capabilities.networks.addRoute": ({ capabilities }) =>
    capabilities.networks.addRoute("7", "10.1.0.0/16", "10.0.0.2"),
};

function ofKind(kind: "sshKeys" | "firewalls" | "networks"): Record<string, (cloud: Cloud) => Promise<unknown>> {
  return {
    [`capabilities.${kind}.list`]: ({ capabilities }) => capabilities[kind].list({}),
    [`capabilities.${kind}.get`]: ({ capabilities }) => capabilities[kind].get("7"),
    [`capabilities.${kind}.delete`]: ({ capabilities }) => capabilities[kind].delete("7"),
  };
}

/** Asks nobody. */
const SILENT = ["hasHeadroom", "checkHeadroom", "otherCurrency", "currency", "recallCurrency"].map(
  (name) => `capabilities.${name}`,
);

/** Opens a project of whose hourly budget no more than the reserve is left, as the last answer said. */
function open(isSweep: boolean) {
  const methods: string[] = [];
  const account: Account = { rate: { limit: 3600, remaining: 360 - 1, at: NOW } };
  const options = {
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    account,
    isSweep,
    fetch: async (input: string, init: RequestInit) => {
      methods.push(read(input, init).method);
      return refusal(403, "forbidden");
    },
  };
  const cloud = { driver: createHetznerDriver(options), capabilities: createHetznerCapabilities(options) };
  return { cloud, methods };
}

/** Where in an object there are functions. */
const functionsIn = (value: unknown, path: string): string[] =>
  typeof value === "function"
    ? [path]
    : Object.entries(value ?? {}).flatMap(([key, inner]) => functionsIn(inner, `${path}.${key}`));

describe("the reserve for deletes", () => {
  it("is asked by everything that there is: no function is missing from this table", () => {
    const { driver, capabilities } = open(false).cloud;
    const all = [...functionsIn(driver, "driver"), ...functionsIn(capabilities, "capabilities")];
    expect(all.toSorted()).toEqual([...Object.keys(CALLS), ...SILENT].toSorted());
  });

  it.each(Object.entries(CALLS))(
    "%s of a request sends nothing but DELETE, and is told when to come back",
    async (path, call) => {
      const { cloud, methods } = open(false);
      const failure = await failureOf(call(cloud));
      const isDelete = /\.(destroy|delete)$/.test(path);
      const expected = isDelete
        ? { methods: ["DELETE"], code: "unauthorized" }
        : { methods: [], code: "rate_limited", retryable: true, ambiguous: false, retryAfter: 1 };
      const { code, retryable, ambiguous, retryAfter } = failure;
      expect({ methods, code, retryable, ambiguous, retryAfter }).toMatchObject(expected);
    },
  );

  it("is told without a call by who asks for it, with when to come back", async () => {
    const { cloud, methods } = open(false);
    const failure = await failureOf((async () => cloud.capabilities.checkHeadroom())());
    expect(failure).toMatchObject({ code: "rate_limited", retryable: true, ambiguous: false, retryAfter: 1 });
    expect(methods).toEqual([]);
  });

  it.each(Object.entries(CALLS))("%s of a sweep is sent whatever is left", async (_path, call) => {
    const { cloud, methods } = open(true);
    await failureOf(call(cloud));
    expect(methods).not.toEqual([]);
  });
});
