import { describe, expect, it } from "vitest";
import { startSimulator } from "./client.ts";

const FIRST_ID = 400_000_001;
const PATH = `/v1/images/${FIRST_ID}`;

const invalid = (message: string) => ({ status: 422, body: { error: { code: "invalid_input", message } } });

function startWithServer() {
  const started = startSimulator();
  /** The first server, and a finished snapshot of it. */
  async function withSnapshot(body: object = {}) {
    const server = await started.running();
    await started.snap(server.id, body);
    started.sim.advance(1);
    return server;
  }
  return { ...started, withSnapshot };
}

describe("POST /servers/{id}/actions/create_image", () => {
  it("answers an image that is being created, and is available when the action has ended", async () => {
    const { sim, send, snap, running } = startWithServer();
    const server = await running();
    const { status, body } = await snap(server.id, { description: "golden", labels: { env: "ci" } });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      image: {
        id: FIRST_ID,
        type: "snapshot",
        status: "creating",
        name: null,
        description: "golden",
        image_size: null,
        disk_size: 40,
        created: "2026-11-15T12:00:02+00:00",
        created_from: { id: server.id, name: "a" },
        bound_to: null,
        os_flavor: "debian",
        os_version: "13",
        rapid_deploy: false,
        protection: { delete: false },
        deleted: null,
        labels: { env: "ci" },
        architecture: "x86",
      },
      action: {
        command: "create_image",
        status: "running",
        resources: [
          { id: server.id, type: "server" },
          { id: FIRST_ID, type: "image" },
        ],
      },
    });
    sim.advance(1);
    expect(await send("GET", PATH)).toMatchObject({
      status: 200,
      body: { image: { status: "available", image_size: 1.5 } },
    });
  });

  it("makes a snapshot with a description of its own when nothing is asked for", async () => {
    const { snap, running } = startWithServer();
    const { id } = await running();
    expect((await snap(id)).body).toMatchObject({
      image: { type: "snapshot", description: "a-1794744002", labels: {} },
    });
  });

  it("keeps other actions and DELETE away from the server meanwhile", async () => {
    const { sim, send, snap, running } = startWithServer();
    const { id } = await running();
    await snap(id);
    expect(await snap(id)).toMatchObject({ status: 423, body: { error: { code: "locked" } } });
    expect(await send("DELETE", `/v1/servers/${id}`)).toMatchObject({ status: 423 });
    sim.advance(1);
    expect(await snap(id)).toMatchObject({ status: 201, body: { image: { id: FIRST_ID + 1 } } });
  });

  it("leaves an unavailable image when its action fails", async () => {
    const { sim, send, snap, running } = startWithServer();
    const { id } = await running();
    sim.fault({ method: "POST", action_error: { code: "stuck", message: "no" } });
    expect((await snap(id)).body).toMatchObject({ image: { status: "creating" } });
    sim.advance(1);
    expect((await send("GET", PATH)).body).toMatchObject({ image: { status: "unavailable", image_size: null } });
  });

  it.each([
    ["an unknown type", { type: "system" }, "type"],
    ["a description that is a number", { description: 5 }, "description"],
    ["a bad label", { labels: { a: "b:c" } }, "labels"],
    ["a backup where backups are not enabled", { type: "backup" }, "type"],
  ])("refuses %s", async (_what, body, name) => {
    const { sim, snap, running } = startWithServer();
    const { id } = await running();
    expect(await snap(id, body)).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_input", details: { fields: [{ name }] } } },
    });
    expect(sim.state().images).toEqual([]);
  });

  it("binds a backup to its server, with which it goes, while a snapshot stays", async () => {
    const { sim, send, snap } = startWithServer();
    const { id } = sim.addServer({ name: "b", backup_window: "22-02" });
    expect((await snap(id, { type: "backup" })).body).toMatchObject({ image: { type: "backup", bound_to: id } });
    sim.advance(1);
    await snap(id);
    sim.advance(1);
    expect(await send("DELETE", `/v1/servers/${id}`)).toMatchObject({ status: 200 });
    expect(sim.state().images).toMatchObject([{ type: "snapshot", created_from: { id, name: "b" } }]);
  });

  it("makes an action, which is listed with the image and looked up among all", async () => {
    const { sim, send, withSnapshot } = startWithServer();
    await withSnapshot();
    const action = { command: "create_image", status: "success" };
    const { body } = await send("GET", `${PATH}/actions?status=success`);
    expect(body).toMatchObject({ actions: [action] });
    const id = sim.state().actions.at(-1)?.id;
    for (const path of [`${PATH}/actions/${id}`, `/v1/images/actions/${id}`])
      expect((await send("GET", path)).body).toMatchObject({ action: { ...action, id } });
    expect((await send("GET", "/v1/images/actions")).body).toMatchObject({ actions: [action] });
  });
});

describe("a server made from a snapshot", () => {
  it("is made by the snapshot's id, as a number or text, and outlives it", async () => {
    const { sim, send, create, withSnapshot } = startWithServer();
    await withSnapshot({ description: "golden" });
    for (const [name, image] of [
      ["b", FIRST_ID],
      ["c", String(FIRST_ID)],
    ])
      expect(await create({ name, image })).toMatchObject({
        status: 201,
        body: { server: { image: { id: FIRST_ID, type: "snapshot", name: null, description: "golden" } } },
      });
    await send("DELETE", PATH);
    expect(sim.state().servers.map(({ image }) => image?.id)).toEqual([317629862, FIRST_ID, FIRST_ID]);
    expect(await create({ name: "d", image: FIRST_ID })).toMatchObject({ status: 404 });
  });

  it.each([
    [
      "of the other architecture",
      { architecture: "arm" as const },
      "image architecture does not match the server type",
    ],
    ["whose disk is too big", { disk_size: 80 }, "image disk is bigger than server type disk"],
    ["that is being created", { status: "creating" as const }, `image ${FIRST_ID} is creating`],
    ["that is unavailable", { status: "unavailable" as const }, `image ${FIRST_ID} is unavailable`],
  ])("is refused one %s", async (_what, seed, message) => {
    const { sim, create } = startWithServer();
    sim.addImage(seed);
    expect(await create({ image: FIRST_ID })).toMatchObject(invalid(message));
    expect(sim.state().servers).toEqual([]);
  });

  it("may have a bigger disk than the snapshot", async () => {
    const { create, withSnapshot } = startWithServer();
    await withSnapshot();
    expect(await create({ name: "b", server_type: "cx33", image: FIRST_ID })).toMatchObject({ status: 201 });
  });

  it("knows a snapshot by its id alone", async () => {
    const { sim, create } = startWithServer();
    sim.addImage({ description: "golden" });
    expect(await create({ image: "golden" })).toMatchObject({ status: 404 });
  });
});
