import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIRST_ID = 30_001;
const PATH = `/v1/firewalls/${FIRST_ID}`;
const PING = { direction: "in", protocol: "icmp", source_ips: ["0.0.0.0/0"] };

const onServer = (id: number) => ({ type: "server", server: { id } });
const onSelector = (selector: string) => ({ type: "label_selector", label_selector: { selector } });

/** A firewall and a running server with the label env=ci. */
async function startWithBoth() {
  const started = startSimulator();
  const { sim, send } = started;
  await send("POST", "/v1/firewalls", { name: "web" });
  const { id } = sim.addServer({ name: "a", labels: { env: "ci" } });
  return {
    ...started,
    id,
    apply: (...targets: object[]) => send("POST", `${PATH}/actions/apply_to_resources`, { apply_to: targets }),
    remove: (...targets: object[]) => send("POST", `${PATH}/actions/remove_from_resources`, { remove_from: targets }),
    onIt: () => sim.state().servers.find((server) => server.id === id)?.public_net.firewalls,
    appliedTo: () => sim.state().firewalls[0]?.applied_to,
  };
}

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });

describe("set_rules", () => {
  it("replaces all rules and tells the servers, for whom the firewall is pending meanwhile", async () => {
    const { sim, send, id, apply, onIt } = await startWithBoth();
    await apply(onServer(id));
    sim.advance(1);
    expect(await send("POST", `${PATH}/actions/set_rules`, { rules: [PING] })).toMatchObject({
      status: 201,
      body: {
        actions: [
          { command: "set_firewall_rules", status: "running", resources: [{ id: FIRST_ID, type: "firewall" }] },
          {
            command: "apply_firewall",
            resources: [
              { id: FIRST_ID, type: "firewall" },
              { id, type: "server" },
            ],
          },
        ],
      },
    });
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "pending" }]);
    sim.advance(0.3);
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "applied" }]);
    expect(sim.state().firewalls[0]?.rules).toEqual([{ ...PING, destination_ips: [], port: null, description: null }]);
    await send("POST", `${PATH}/actions/set_rules`, { rules: [] });
    expect(sim.state().firewalls[0]?.rules).toEqual([]);
  });

  it("needs rules, and keeps the old ones when it fails", async () => {
    const { sim, send } = await startWithBoth();
    expect(await send("POST", `${PATH}/actions/set_rules`, {})).toMatchObject(refusal(422, "invalid_input"));
    sim.fault({ path: "set_rules", action_error: "stuck" });
    expect(await send("POST", `${PATH}/actions/set_rules`, { rules: [PING] })).toMatchObject({ status: 201 });
    sim.advance(1);
    expect(sim.state()).toMatchObject({ firewalls: [{ rules: [] }], actions: [{ status: "error" }] });
  });
});

describe("apply_to_resources", () => {
  it("makes the firewall pending on a server, and applied when the action has ended", async () => {
    const { sim, id, apply, onIt, appliedTo } = await startWithBoth();
    expect(await apply(onServer(id))).toMatchObject({
      status: 201,
      body: { actions: [{ command: "apply_firewall", status: "running" }] },
    });
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "pending" }]);
    expect(appliedTo()).toEqual([onServer(id)]);
    sim.advance(0.3);
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "applied" }]);
  });

  it("leaves nothing behind when it fails", async () => {
    const { sim, id, apply, onIt, appliedTo } = await startWithBoth();
    sim.fault({ action_error: "stuck" });
    await apply(onServer(id));
    sim.advance(0.3);
    expect([onIt(), appliedTo()]).toEqual([[], []]);
  });

  it("refuses what has it already, what does not exist and what has no public interface", async () => {
    const { sim, id, apply } = await startWithBoth();
    const bare = sim.addServer({ public_net: { ipv4: null, ipv6: null, floating_ips: [], firewalls: [] } });
    await apply(onServer(id), onSelector("env"));
    expect(await apply(onServer(id))).toMatchObject(refusal(422, "firewall_already_applied"));
    expect(await apply(onSelector("env"))).toMatchObject(refusal(422, "firewall_already_applied"));
    expect(await apply(onServer(1))).toMatchObject(refusal(404, "firewall_resource_not_found"));
    expect(await apply(onServer(bare.id))).toMatchObject(refusal(422, "private_net_only_server"));
  });

  it("refuses a sixth firewall on a server", async () => {
    const { send, id, apply } = await startWithBoth();
    for (const name of ["b", "c", "d", "e", "f"])
      expect(await send("POST", "/v1/firewalls", { name, apply_to: [onServer(id)] })).toMatchObject({ status: 201 });
    expect(await apply(onServer(id))).toMatchObject(refusal(403, "resource_limit_exceeded"));
  });

  it("does nothing at all when one of its targets is refused", async () => {
    const { id, apply, appliedTo } = await startWithBoth();
    await apply(onServer(id), onServer(1));
    expect(appliedTo()).toEqual([]);
  });

  it("does not keep the server from being deleted or switched off", async () => {
    const { send, id, apply } = await startWithBoth();
    await apply(onServer(id));
    expect(await send("POST", `/v1/servers/${id}/actions/poweroff`)).toMatchObject({ status: 201 });
  });
});

describe("a label selector", () => {
  it("puts the firewall on all servers that match, as their labels change", async () => {
    const { sim, send, id, apply, onIt, appliedTo } = await startWithBoth();
    await apply(onSelector("env=ci"));
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "pending" }]);
    sim.advance(0.3);
    expect(onIt()).toEqual([{ id: FIRST_ID, status: "applied" }]);
    expect(appliedTo()).toEqual([{ ...onSelector("env=ci"), applied_to_resources: [onServer(id)] }]);
    await send("PUT", `/v1/servers/${id}`, { labels: {} });
    expect(onIt()).toEqual([]);
    expect(appliedTo()).toEqual([{ ...onSelector("env=ci"), applied_to_resources: [] }]);
  });

  it("gives way to a direct application", async () => {
    const { id, apply, onIt, appliedTo } = await startWithBoth();
    await apply(onSelector("env=ci"), onServer(id));
    expect(onIt()).toHaveLength(1);
    expect(appliedTo()).toEqual([onServer(id), { ...onSelector("env=ci"), applied_to_resources: [] }]);
  });

  it("cannot be undone server by server, only as a whole, and keeps the firewall in use until then", async () => {
    const { sim, send, id, apply, remove, onIt } = await startWithBoth();
    await apply(onSelector("env=ci"), onSelector("env=none"));
    sim.advance(1);
    expect(await remove(onServer(id))).toMatchObject(refusal(422, "firewall_managed_by_label_selector"));
    expect(await remove(onSelector("env=ci"))).toMatchObject({ status: 201, body: { actions: [{}] } });
    sim.advance(1);
    expect(onIt()).toEqual([]);
    expect(await send("DELETE", PATH)).toMatchObject(refusal(422, "resource_in_use"));
    await remove(onSelector("env=none"));
    sim.advance(1);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
  });
});

describe("remove_from_resources", () => {
  it("takes 0.3 s, in which the firewall is still in use", async () => {
    const { sim, send, id, apply, remove, onIt } = await startWithBoth();
    await apply(onServer(id));
    sim.advance(1);
    expect(await send("DELETE", PATH)).toMatchObject(refusal(422, "resource_in_use"));
    expect(await remove(onServer(id))).toMatchObject({
      status: 201,
      body: { actions: [{ command: "remove_firewall", status: "running" }] },
    });
    sim.advance(0.2);
    expect(onIt()).toHaveLength(1);
    expect(await send("DELETE", PATH)).toMatchObject(refusal(422, "resource_in_use"));
    sim.advance(0.1);
    expect(onIt()).toEqual([]);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
  });

  it("is 409 conflict, as is apply_to_resources, while the firewall comes or goes on that server", async () => {
    const { sim, id, apply, remove } = await startWithBoth();
    await apply(onServer(id));
    expect(await remove(onServer(id))).toMatchObject(refusal(409, "conflict"));
    sim.advance(1);
    await remove(onServer(id));
    expect(await remove(onServer(id))).toMatchObject(refusal(409, "conflict"));
    expect(await apply(onServer(id))).toMatchObject(refusal(409, "conflict"));
  });

  it("succeeds where the firewall is not", async () => {
    const { sim, id, remove } = await startWithBoth();
    expect(await remove(onServer(id), onSelector("env"))).toMatchObject({ status: 201, body: { actions: [{}, {}] } });
    sim.advance(1);
    expect(sim.state().actions).toMatchObject([{ command: "remove_firewall", status: "success" }, {}]);
  });

  it("does not know a server that is not there", async () => {
    const { remove } = await startWithBoth();
    expect(await remove(onServer(1))).toMatchObject(refusal(404, "firewall_resource_not_found"));
  });

  it("wants its own key in the body", async () => {
    const { send, id, apply } = await startWithBoth();
    await apply(onServer(id));
    const path = `${PATH}/actions/remove_from_resources`;
    expect(await send("POST", path, { apply_to: [onServer(id)] })).toMatchObject({
      status: 422,
      body: { error: { details: { fields: [{ name: "remove_from" }] } } },
    });
  });

  it("leaves the firewall where it is when it fails", async () => {
    const { sim, id, apply, remove, onIt } = await startWithBoth();
    await apply(onServer(id));
    sim.advance(1);
    sim.fault({ action_error: "stuck" });
    await remove(onServer(id));
    sim.advance(1);
    expect(onIt()).toHaveLength(1);
  });
});

describe("a server with firewalls", () => {
  it("is made with them: pending until it is there", async () => {
    const { sim, create } = await startWithBoth();
    expect(await create({ name: "b", firewalls: [{ firewall: FIRST_ID }] })).toMatchObject({
      status: 201,
      body: {
        server: { public_net: { firewalls: [{ id: FIRST_ID, status: "pending" }] } },
        next_actions: [{ command: "apply_firewall" }, { command: "start_server" }],
      },
    });
    sim.advance(1);
    expect(sim.state().servers[1]?.public_net.firewalls).toEqual([{ id: FIRST_ID, status: "applied" }]);
  });

  it("is not made with six of them, nor with any when it has no public interface", async () => {
    const { send, create } = await startWithBoth();
    for (const name of ["b", "c", "d", "e", "f"]) await send("POST", "/v1/firewalls", { name });
    const firewalls = Array.from({ length: 6 }, (_, index) => ({ firewall: FIRST_ID + index }));
    expect(await create({ name: "b", firewalls })).toMatchObject(refusal(403, "resource_limit_exceeded"));
    const public_net = { enable_ipv4: false, enable_ipv6: false };
    expect(
      await create({ name: "b", start_after_create: false, public_net, firewalls: [{ firewall: FIRST_ID }] }),
    ).toMatchObject(refusal(422, "private_net_only_server"));
  });

  it("is off the firewall when its deletion has ended, not before", async () => {
    const { sim, send, id, apply, appliedTo } = await startWithBoth();
    await apply(onServer(id));
    sim.advance(1);
    await send("DELETE", `/v1/servers/${id}`);
    expect(appliedTo()).toEqual([onServer(id)]);
    expect(await send("DELETE", PATH)).toMatchObject(refusal(422, "resource_in_use"));
    sim.advance(0.3);
    expect(await send("DELETE", PATH)).toMatchObject({ status: 204 });
  });
});

describe("the actions of a firewall", () => {
  it("are listed below it, among those of all firewalls and below the server", async () => {
    const { send, id, apply } = await startWithBoth();
    await apply(onServer(id));
    for (const path of [`${PATH}/actions`, "/v1/firewalls/actions", `/v1/servers/${id}/actions`])
      expect((await send("GET", path)).body).toMatchObject({ actions: [{ command: "apply_firewall" }] });
    for (const path of [`${PATH}/actions/500001`, "/v1/firewalls/actions/500001", "/v1/actions/500001"])
      expect((await send("GET", path)).body).toMatchObject({ action: { command: "apply_firewall" } });
  });
});
