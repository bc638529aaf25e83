import { describe, expect, it } from "vitest";
import { createHetznerCapabilities } from "../../../src/driver/hetzner/capabilities.ts";
import { failureOf, MINUTE, NOW, spec } from "../contract/cloud.ts";
import { openSimulated, TOKEN } from "./bench.ts";

function open() {
  const { driver, sim, now, advance } = openSimulated();
  const fetch = (input: string, init: RequestInit) => sim.fetch(new Request(input, init));
  const capabilities = createHetznerCapabilities({ token: TOKEN, endpoint: "https://hetzner.test/v1", now, fetch });
  return { driver, sim, advance, capabilities };
}

const answering = (body: unknown) =>
  createHetznerCapabilities({
    token: TOKEN,
    endpoint: "https://hetzner.test/v1",
    now: () => NOW,
    fetch: async () => Response.json(body),
  });

const shown = (more: Record<string, unknown>) => ({ id: 9, command: "apply_firewall", status: "error", ...more });

describe("an action", () => {
  it.each([
    ["running", null, "running", null],
    ["success", null, "done", null],
    ["invented_tomorrow", null, "running", null],
    ["error", { code: "unknown_error", message: "server is locked" }, "failed", "unknown_error: server is locked"],
    ["error", { code: "", message: "" }, "failed", "the provider does not say why"],
    ["error", null, "failed", "the provider does not say why"],
    ["error", { code: "x", message: `said ${TOKEN}` }, "failed", "x: said [hidden]"],
  ])("of status %j with %j is %s, with %j", async (status, error, state, why) => {
    const action = shown({ status, error });
    expect(await answering({ action }).action("9")).toEqual({ id: "9", state, error: why });
    // In the answer to an order it is the same.
    expect(await answering({ actions: [action] }).firewalls.apply("7", ["42"])).toEqual([
      { id: "9", state, error: why },
    ]);
  });

  it("that is not there is not_found, an id that is none never gets out, and an answer without one is open", async () => {
    const { capabilities, sim } = open();
    expect((await failureOf(capabilities.action("../1"))).code).toBe("invalid_input");
    expect(sim.requests()).toEqual([]);
    expect((await failureOf(capabilities.action("99"))).code).toBe("not_found");
    const orders = answering({});
    for (const order of [orders.firewalls.apply("7", ["42"]), orders.networks.attach("7", "42")])
      expect(await failureOf(order)).toMatchObject({ code: "unexpected", ambiguous: true });
  });
});

describe("why a deletion failed", () => {
  it("is told of the newest one, while the machine is still there", async () => {
    const { driver, sim, advance, capabilities } = open();
    const { providerId } = await driver.create(spec());
    advance(MINUTE);
    expect(await capabilities.deletionError(providerId)).toBeNull();
    sim.fault({
      method: "DELETE",
      path: "/servers/",
      action_error: { code: "action_failed", message: "host is down" },
    });
    await driver.destroy(providerId);
    advance(MINUTE);
    expect((await driver.get(providerId)).providerId).toBe(providerId);
    expect(await capabilities.deletionError(providerId)).toBe("action_failed: host is down");
    await driver.destroy(providerId);
    expect(await capabilities.deletionError(providerId)).toBeNull();
  });

  it.each([
    [
      "the newest of several, in whatever order they come",
      [
        [1, "error"],
        [3, "success"],
        [2, "error"],
      ],
      null,
    ],
    [
      "one under way",
      [
        [1, "error"],
        [2, "running"],
      ],
      null,
    ],
    [
      "one without a word",
      [
        [1, "success"],
        [2, "error"],
      ],
      "the provider does not say why",
    ],
  ] as const)("goes by %s", async (_, deletions, why) => {
    const actions = deletions.map(([id, status]) => ({ id, command: "delete_server", status, error: null }));
    const others = [{ id: 8, command: "stop_server", status: "error", error: { code: "x", message: "y" } }];
    expect(await answering({ actions: [...others, ...actions] }).deletionError("42")).toBe(why);
  });

  it("is nothing of a machine that is gone, and a list that cannot be read does not say that it went well", async () => {
    expect(await open().capabilities.deletionError("99")).toBeNull();
    expect((await failureOf(answering({}).deletionError("42"))).code).toBe("unexpected");
  });
});
