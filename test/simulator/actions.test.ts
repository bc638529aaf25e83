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

  it.each([
    ["poweron", "running", "running", "running"],
    ["poweroff", "off", "off", "off"],
    ["shutdown", "off", "off", "off"],
    ["reboot", "off", "off", "off"],
    ["reset", "off", "starting", "running"],
  ])("%s of a server that is %s", async (action, before, during, after) => {
    const { sim, send } = startSimulator();
    const { id } = sim.addServer({ status: before });
    expect(await send("POST", act(id, action))).toMatchObject({ status: 201, body: { action: { status: "running" } } });
    expect(sim.state().servers).toMatchObject([{ status: during }]);
    sim.advance(0.3);
    expect(sim.state().servers).toMatchObject([{ status: after }]);
    expect(sim.state().actions).toMatchObject([{ status: "success", progress: 100, error: null }]);
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

describe("a running action", () => {
  it.each(["poweron", "poweroff", "shutdown", "reboot", "reset", "change_protection"])(
    "keeps %s away",
    async (command) => {
      const { sim, send, running } = startSimulator();
      const { id } = await running();
      await send("POST", act(id, "reboot"));
      const refused = await send("POST", act(id, command), {});
      expect(refused).toMatchObject({ status: 423, body: { error: { code: "locked", message: "server is locked" } } });
      sim.advance(0.3);
      expect(await send("POST", act(id, command), {})).toMatchObject({ status: 201 });
    },
  );

  it("shows in the server's locked, unless it is its creation or first start", async () => {
    const { sim, send, create } = startSimulator();
    await create({});
    const locked = async (): Promise<unknown> => (await send("GET", "/v1/servers/101")).body;
    expect(await locked()).toMatchObject({ server: { status: "initializing", locked: false } });
    sim.advance(1);
    expect(await locked()).toMatchObject({ server: { status: "starting", locked: false } });
    sim.advance(1);
    await send("POST", act(101, "reboot"));
    expect(await locked()).toMatchObject({ server: { locked: true } });
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

  it("GET /servers/{id}/actions/{action_id} knows the actions of that server alone", async () => {
    const { send, running } = startSimulator();
    await running("a");
    await running("b");
    expect(await send("GET", "/v1/servers/102/actions/500003")).toMatchObject({ status: 200 });
    expect(await send("GET", "/v1/servers/101/actions/500003")).toMatchObject({ status: 404 });
  });

  it("take what hcloud-go asks for while it waits", async () => {
    const { sim, send, create } = startSimulator();
    await create({});
    sim.advance(1);
    expect((await send("GET", "/v1/actions?id=500001&id=500002&sort=status&sort=id")).body).toMatchObject({
      actions: [
        { command: "start_server", status: "running" },
        { command: "create_server", status: "success" },
      ],
    });
  });

  it("page, and filter by several ids and statuses", async () => {
    const { sim, send, create } = startSimulator();
    await create({ name: "a" });
    await create({ name: "b" });
    sim.advance(1);
    const ids = "id=500001&id=500002&id=500003";
    expect((await send("GET", `/v1/servers/actions?${ids}&status=success&status=error`)).body).toMatchObject({
      actions: [{ id: 500_001 }, { id: 500_003 }],
    });
    expect((await send("GET", "/v1/servers/actions?per_page=3&page=2")).body).toMatchObject({
      actions: [{ id: 500_004 }],
      meta: { pagination: { previous_page: 1, next_page: null, total_entries: 4 } },
    });
    expect(await send("GET", "/v1/servers/actions?status=done")).toMatchObject({ status: 422 });
  });
});
