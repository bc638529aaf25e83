import { describe, expect, it } from "vitest";
import type { Principal } from "../../src/auth/principal.ts";
import { createMachine } from "../../src/lifecycle/create.ts";
import type { MachineOrder } from "../../src/lifecycle/order.ts";
import { behind } from "../behind.ts";
import { createMayfly, MINUTE, minutes, principalOf, servers, type Mayfly } from "../mayfly.ts";
import { loseD1, lostRow, UID } from "../reaper/lost-rows.ts";

const CALLER: Principal = { ...principalOf("gh.123.456"), account: "pol.ci" };
const ORDER: MachineOrder = {
  serverTypes: ["cx23"],
  regions: ["fsn1"],
  ttl: "5h",
  attachments: [
    { field: "firewalls.0", kind: "firewall", by: "spec", spec: { kind: "firewall", rules: [], denyAll: true } },
  ],
};
const create = (mayfly: Mayfly, caller = CALLER) => createMachine(mayfly.context(), caller, "job", ORDER);
const accountOf = async (mayfly: Mayfly, owner: string, name: string) =>
  (await mayfly.store.machines.byName(owner, name))?.account;

describe("what a machine counts against", () => {
  it("stands on the machine from the create call on, and on nothing else", async () => {
    const mayfly = createMayfly();
    await create(mayfly);
    expect(servers(mayfly)).toMatchObject([{ labels: { "mayfly-owner": "gh.123.456", "mayfly-account": "pol.ci" } }]);
    const { firewalls } = mayfly.simulator.state();
    expect(firewalls).toMatchObject([{ labels: { "mayfly-owner": "gh.123.456" } }]);
    expect(firewalls[0]?.labels).not.toHaveProperty("mayfly-account");
    const created = mayfly.simulator
      .requests()
      .filter(({ method, path }) => method === "POST" && path.endsWith("/servers"));
    expect(created).toHaveLength(1);
  });

  it("outlives the loss of D1: the machine is found again under it", async () => {
    const mayfly = createMayfly();
    await create(mayfly);
    await minutes(mayfly, 12);
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    expect(await accountOf(mayfly, "gh.123.456", "job")).toBe("pol.ci");
    expect((await mayfly.send("GET", "/v1/machines?owner=gh.123.456")).body).toMatchObject({
      machines: [{ account: "pol.ci" }],
    });
  });

  it("is what it was, too, where its owner's next call finds it first, whatever that call counts against", async () => {
    const mayfly = createMayfly();
    await create(mayfly);
    mayfly.advance(12 * MINUTE);
    await loseD1(mayfly);
    expect(await create(mayfly, { ...CALLER, account: "gh.123" })).toMatchObject({
      value: { isNew: false, row: { account: "pol.ci" } },
    });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("is its owner's, where that call finds a machine without the label", async () => {
    const mayfly = createMayfly();
    await create(mayfly);
    mayfly.advance(12 * MINUTE);
    for (const { id, labels } of servers(mayfly)) {
      const { "mayfly-account": _account, ...others } = labels ?? {};
      await behind(mayfly, "PUT", `/servers/${id}`, { labels: others });
    }
    await loseD1(mayfly);
    expect(await create(mayfly)).toMatchObject({ value: { isNew: false, row: { account: "gh.123" } } });
  });

  it.each([
    ["tells one", { "mayfly-account": "pol.ci" }, "pol.ci"],
    ["tells none, as of machines that were made before it was written", {}, "tok.alice"],
    ["tells what none can be", { "mayfly-account": "Pol.CI" }, "tok.alice"],
    ["is empty", { "mayfly-account": "" }, "tok.alice"],
    ["tells none, and whose owner is a run", { "mayfly-owner": "gh.74.9001" }, "gh.74"],
    ["tells none, and whose owner is a pipeline", { "mayfly-owner": "gl.e7be96a5.20.574" }, "gl.e7be96a5.20"],
    ["has no owner that can be read either", { "mayfly-account": "_", "mayfly-owner": "_" }, "lost"],
  ])("of a machine without a row whose label %s", async (_, labels, account) => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer(lostRow("box", UID, labels));
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    const { results } = await mayfly.bindings.DB.prepare("SELECT account FROM machines").all();
    expect(results).toEqual([{ account }]);
  });

  it("is not written to a machine that was made without it, when it is renewed", async () => {
    const mayfly = createMayfly();
    mayfly.simulator.addServer(lostRow("box", UID));
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    expect((await mayfly.send("POST", "/v1/machines/box/renew?owner=tok.alice", { ttl: "5h" })).status).toBe(200);
    expect(servers(mayfly)[0]?.labels).not.toHaveProperty("mayfly-account");
  });
});
