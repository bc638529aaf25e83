import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const act = (id: number, command: string): string => `/v1/servers/${id}/actions/${command}`;

describe("power actions", () => {
  it.each([
    ["poweroff", "stop_server", "stopping", "off"],
    ["shutdown", "shutdown_server", "stopping", "off"],
    ["reboot", "reboot_server", "running", "running"],
    ["reset", "reset_server", "running", "running"],
  ])("%s of a running server", async (action, command, during, after) => {
    const { sim, send, running } = startSimulator();
    const { id } = await running();
    const { status, body } = await send("POST", act(id, action));
    expect(status).toBe(201);
    expect(body).toMatchObject({ action: { command, status: "running", resources: [{ id, type: "server" }] } });
    expect(sim.state().servers).toMatchObject([{ status: during, locked: true }]);
    sim.advance(0.3);
    expect(sim.state().servers).toMatchObject([{ status: after, locked: false }]);
  });

  it("poweron starts a server that is off", async () => {
    const { sim, send } = startSimulator();
    const { id } = sim.addServer({ status: "off" });
    await send("POST", act(id, "poweron"));
    expect(sim.state().servers).toMatchObject([{ status: "starting" }]);
    sim.advance(0.3);
    expect(sim.state().servers).toMatchObject([{ status: "running" }]);
  });

  it("are refused with 423 while another one runs, creation included", async () => {
    const { send, create } = startSimulator();
    await create({});
    expect(await send("POST", act(101, "poweroff"))).toMatchObject({
      status: 423,
      body: { error: { code: "locked" } },
    });
  });

  it("are 404 on a server that does not exist", async () => {
    const { send } = startSimulator();
    expect(await send("POST", act(999, "poweroff"))).toMatchObject({ status: 404 });
  });
});

describe("change_protection", () => {
  it("sets and lifts both protections", async () => {
    const { sim, send, running } = startSimulator();
    const { id } = await running();
    for (const wanted of [true, false]) {
      await send("POST", act(id, "change_protection"), { delete: wanted, rebuild: wanted });
      expect(sim.state().servers).toMatchObject([{ protection: { delete: wanted, rebuild: wanted } }]);
      sim.advance(1);
    }
  });

  it("refuses two different values", async () => {
    const { send, running } = startSimulator();
    const { id } = await running();
    expect(await send("POST", act(id, "change_protection"), { delete: true })).toMatchObject({ status: 422 });
    expect(await send("POST", act(id, "change_protection"), { delete: 1, rebuild: 1 })).toMatchObject({ status: 422 });
  });
});

describe("looking at actions", () => {
  it("GET /actions answers the asked ones that exist, without pagination", async () => {
    const { send, create } = startSimulator();
    await create({});
    const { body } = await send("GET", "/v1/actions?id=500001&id=500002&id=9&sort=id:desc");
    expect(body).toMatchObject({ actions: [{ id: 500_002 }, { id: 500_001 }] });
    expect(body).not.toHaveProperty("meta");
  });

  it("GET /actions without an id is refused", async () => {
    const { send } = startSimulator();
    expect(await send("GET", "/v1/actions")).toMatchObject({ status: 400, body: { error: { code: "invalid_input" } } });
    expect(await send("GET", "/v1/actions?id=x")).toMatchObject({ status: 422 });
  });

  it("GET /servers/actions filters by status", async () => {
    const { sim, send, create } = startSimulator();
    await create({});
    sim.advance(1);
    expect((await send("GET", "/v1/servers/actions?status=running")).body).toMatchObject({
      actions: [{ command: "start_server", progress: 66 }],
      meta: { pagination: { total_entries: 1 } },
    });
  });

  it("GET /servers/{id}/actions shows those of one server", async () => {
    const { send, running } = startSimulator();
    await running("a");
    const { id } = await running("b");
    await send("POST", act(id, "poweroff"));
    expect((await send("GET", `/v1/servers/${id}/actions?sort=started:desc&sort=id:desc`)).body).toMatchObject({
      actions: [{ command: "stop_server" }, { command: "start_server" }, { command: "create_server" }],
    });
  });

  it("GET /actions/{id} is 404 for an unknown one", async () => {
    const { send } = startSimulator();
    expect(await send("GET", "/v1/actions/1")).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });
});
