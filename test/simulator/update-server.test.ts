import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

describe("PUT /servers/{id}", () => {
  it("replaces the whole label map and keeps the name", async () => {
    const { send, create } = startSimulator();
    await create({ labels: { old: "1" } });
    const { status, body } = await send("PUT", "/v1/servers/101", { labels: { new: "2" } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ server: { name: "a" } });
    expect(body).toHaveProperty("server.labels", { new: "2" });
  });

  it("renames, but not to a name that is taken", async () => {
    const { send, create } = startSimulator();
    await create({ name: "a" });
    await create({ name: "b" });
    expect(await send("PUT", "/v1/servers/101", { name: "c" })).toMatchObject({ body: { server: { name: "c" } } });
    expect(await send("PUT", "/v1/servers/101", { name: "b" })).toMatchObject({ status: 409 });
    expect(await send("PUT", "/v1/servers/101", { name: "c" })).toMatchObject({ status: 200 });
  });

  it("refuses bad labels", async () => {
    const { send, create } = startSimulator();
    await create({});
    expect(await send("PUT", "/v1/servers/101", { labels: { a: "x:y" } })).toMatchObject({ status: 422 });
  });

  it.each([
    ["an empty map", {}, {}],
    ["null", null, {}],
    ["a map with an empty value", { k: "" }, { k: "" }],
  ])("takes %s for labels", async (_what, labels, expected) => {
    const { sim, send, create } = startSimulator();
    await create({ labels: { old: "1" } });
    expect(await send("PUT", "/v1/servers/101", { labels })).toMatchObject({ status: 200 });
    expect(sim.state().servers[0]?.labels).toEqual(expected);
  });

  it("changes nothing without a field", async () => {
    const { send, create } = startSimulator();
    await create({ labels: { a: "b" } });
    const before = await send("GET", "/v1/servers/101");
    expect(await send("PUT", "/v1/servers/101", {})).toMatchObject({ status: 200, body: before.body });
  });

  it("is not kept away by a running action or by protection", async () => {
    const { sim, send, create, running } = startSimulator();
    sim.addServer({ id: 7, protection: { delete: true, rebuild: true } });
    expect(await send("PUT", "/v1/servers/7", { name: "p" })).toMatchObject({ status: 200 });
    const { id } = await running("r");
    await send("POST", `/v1/servers/${id}/actions/poweroff`);
    expect(await send("PUT", `/v1/servers/${id}`, { labels: {} })).toMatchObject({ status: 200 });
    await create({ name: "c" });
    expect(await send("PUT", `/v1/servers/${id + 1}`, { labels: {} })).toMatchObject({ status: 200 });
  });

  it("frees the old name", async () => {
    const { send, create } = startSimulator();
    await create({ name: "a" });
    await send("PUT", "/v1/servers/101", { name: "b" });
    expect(await create({ name: "a" })).toMatchObject({ status: 201 });
  });

  it.each([
    ["an underscore in the name", { name: "a_b" }, "name", "Name must be a valid hostname."],
    ["a name that is null", { name: null }, "name", "Field may not be null."],
    ["labels that are text", { labels: "a=b" }, "labels", "Not a valid mapping type."],
    ["a label under the reserved prefix", { labels: { "hetzner.cloud/a": "" } }, "labels", expect.any(String)],
  ])("refuses %s and changes nothing", async (_what, change, name, message) => {
    const { sim, send, create } = startSimulator();
    await create({ labels: { a: "b" } });
    expect(await send("PUT", "/v1/servers/101", { ...change })).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name, messages: [message] }] } } },
    });
    expect(sim.state().servers).toMatchObject([{ name: "a", labels: { a: "b" } }]);
  });

  it("is 404 on a server that does not exist", async () => {
    const { send } = startSimulator();
    expect(await send("PUT", "/v1/servers/1", {})).toMatchObject({ status: 404 });
  });
});
