import { expect, it } from "vitest";
import type { Capabilities } from "../../src/driver/capabilities.ts";
import { createHetznerCapabilities } from "../../src/driver/hetzner/capabilities.ts";
import { createMemoryDriver } from "../../src/driver/memory.ts";
import { dryRunProvider } from "../../src/reaper/dry-run.ts";
import { isObject } from "../simulator/json.ts";

/** All that a dry run may really ask a cloud. What is new is held back, or named here by somebody who has thought of it. */
const READS = [
  "action",
  "checkHeadroom",
  "checkImage",
  "currency",
  "deletionError",
  "findByName",
  "findSnapshot",
  "firewalls.get",
  "firewalls.list",
  "hasHeadroom",
  "inventoryPage",
  "networks.get",
  "networks.list",
  "otherCurrency",
  "recallCurrency",
  "serverTypes",
  "sshKeys.get",
  "sshKeys.list",
];

/** Something whose functions, at whatever depth, are others. */
const withCalls = (what: object, call: (path: string, real: unknown) => unknown, prefix = ""): object =>
  Object.fromEntries(
    Object.entries(what).map(([name, value]: [string, unknown]) => [
      name,
      isObject(value) ? withCalls(value, call, `${prefix}${name}.`) : call(prefix + name, value),
    ]),
  );

it("a dry run asks a cloud for nothing but what only reads, whatever else the cloud can do", async () => {
  const now = () => 0;
  const fetch = async () => Response.json({});
  const all = createHetznerCapabilities({ token: "t", endpoint: "", fetch, now });
  const asked: string[] = [];
  const capabilities = { ...all, ...withCalls(all, (path) => async () => asked.push(path)) };
  const meter = { fetches: 0, statements: 0, entries: 0 };
  const pretended = dryRunProvider({ driver: createMemoryDriver({ now }), capabilities }, meter);
  const calls: Promise<unknown>[] = [];
  withCalls(pretended.capabilities, (_path, call) =>
    calls.push((async () => void (await (typeof call === "function" && Reflect.apply(call, null, ["1", ["1"]]))))()),
  );
  await Promise.allSettled(calls);
  expect(asked.toSorted()).toEqual(READS);
});

it("hands a page's limits on to the cloud", async () => {
  const given: unknown[] = [];
  const driver = createMemoryDriver({ now: () => 0 });
  const inventoryPage: Capabilities["inventoryPage"] = async (...args) => {
    given.push(args);
    return { machines: [], number: 1, isWhole: true };
  };
  const pretended = dryRunProvider(
    { driver, capabilities: { inventoryPage } },
    { fetches: 0, statements: 0, entries: 0 },
  );
  await pretended.capabilities.inventoryPage?.({ a: "b" }, null, { maxPages: 3 });
  expect(given).toEqual([[{ a: "b" }, null, { maxPages: 3 }]]);
});
