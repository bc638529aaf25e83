import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

describe("DELETE /servers/{id}", () => {
  it("takes the server out of list and look-up at once while its action lives on", async () => {
    const { sim, send, create, names } = startSimulator();
    await create({});
    const { status, body } = await send("DELETE", "/v1/servers/101");
    expect(status).toBe(200);
    expect(body).toMatchObject({ action: { id: 500_003, command: "delete_server", status: "running" } });
    expect(await names("/v1/servers")).toEqual([]);
    expect(await send("GET", "/v1/servers/101")).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    sim.advance(1);
    expect((await send("GET", "/v1/actions/500003")).body).toMatchObject({ action: { status: "success" } });
  });

  it("answers 404 the second time", async () => {
    const { send, create } = startSimulator();
    await create({});
    await send("DELETE", "/v1/servers/101");
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 404 });
  });

  it("is not kept away by create and start", async () => {
    const { send, create } = startSimulator();
    await create({});
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 200 });
  });

  it("is kept away by any other running action", async () => {
    const { sim, send, running } = startSimulator();
    await running();
    await send("POST", "/v1/servers/101/actions/poweroff");
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 423, body: { error: { code: "locked" } } });
    sim.advance(0.3);
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ status: 200 });
  });

  it("is refused while the server is protected", async () => {
    const { sim, send, running } = startSimulator();
    await running();
    await send("POST", "/v1/servers/101/actions/change_protection", { delete: true, rebuild: true });
    sim.advance(1);
    const refusal = { status: 423, body: { error: { code: "protected", message: "server deletion is protected" } } };
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject(refusal);
  });

  it("says protected, not locked, when both are true", async () => {
    const { send, running } = startSimulator();
    await running();
    await send("POST", "/v1/servers/101/actions/change_protection", { delete: true, rebuild: true });
    expect(await send("DELETE", "/v1/servers/101")).toMatchObject({ body: { error: { code: "protected" } } });
  });

  it("frees the name at once", async () => {
    const { send, create } = startSimulator();
    await create({ name: "a" });
    await send("DELETE", "/v1/servers/101");
    expect(await create({ name: "a" })).toMatchObject({ status: 201, body: { server: { id: 102 } } });
  });

  it("leaves all actions of the server where they can be looked up, but not below the server", async () => {
    const { sim, send, running } = startSimulator();
    await running();
    await send("DELETE", "/v1/servers/101");
    sim.advance(1);
    const commands = [{ command: "create_server" }, { command: "start_server" }, { command: "delete_server" }];
    const asked = await send("GET", "/v1/actions?id=500001&id=500002&id=500003");
    expect(asked.body).toMatchObject({ actions: commands });
    expect((await send("GET", "/v1/servers/actions")).body).toMatchObject({ actions: commands });
    expect((await send("GET", "/v1/servers/actions/500003")).body).toMatchObject({
      action: { resources: [{ id: 101, type: "server" }] },
    });
    expect(await send("GET", "/v1/servers/101/actions")).toMatchObject({ status: 404 });
  });
});
