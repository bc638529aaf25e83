import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../src/driver/hetzner/capabilities.ts";
import { createMemoryDriver, createMemoryCapabilities, emptyCloud } from "../../src/driver/memory.ts";
import { failureOf, NOW, spec } from "./contract/cloud.ts";
import { openSimulated, TOKEN } from "./hetzner/bench.ts";

function open(name: string) {
  if (name === "memory") {
    const cloud = emptyCloud();
    return {
      driver: createMemoryDriver({ now: () => NOW, cloud }),
      capabilities: createMemoryCapabilities({ cloud }),
      unknown: "mem-99",
    };
  }
  const { driver, sim } = openSimulated();
  const fetch = (input: string, init: RequestInit) => sim.fetch(new Request(input, init));
  const capabilities = createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    fetch,
  });
  return { driver, capabilities, unknown: "99" };
}

describe.each(["memory", "hetzner"])("relabel of %s", (name) => {
  it("sets the labels that are named and leaves the others", async () => {
    const { driver, capabilities } = open(name);
    const { providerId, labels } = await driver.create(spec());
    await capabilities.relabel({ providerId, labels }, { "mayfly-expires": "1796040000", team: "blue" });
    expect((await driver.get(providerId)).labels).toEqual({ ...labels, "mayfly-expires": "1796040000", team: "blue" });
  });

  it("of a machine that is not there is not_found, and of an id that is none never asked", async () => {
    const { capabilities, unknown } = open(name);
    expect((await failureOf(capabilities.relabel({ providerId: unknown, labels: {} }, { a: "b" }))).code).toBe(
      "not_found",
    );
    expect((await failureOf(capabilities.relabel({ providerId: "../1", labels: {} }, { a: "b" }))).code).toBe(
      "invalid_input",
    );
  });
});
