import { describe, expect, it } from "vitest";
import { START_MS, startSimulator } from "./client.ts";
import { KEY_A } from "./sample-keys.ts";

describe("POST /servers", () => {
  it("answers the server, its actions and a root password", async () => {
    const { create } = startSimulator();
    const { status, body } = await create({ name: "ci-1", labels: { env: "ci" }, location: "nbg1" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      server: {
        id: 101,
        name: "ci-1",
        status: "initializing",
        created: "2026-11-15T12:00:00+00:00",
        labels: { env: "ci" },
        location: { name: "nbg1", network_zone: "eu-central" },
        server_type: { name: "cx23", architecture: "x86" },
        image: { name: "debian-13", architecture: "x86" },
        public_net: { ipv4: { ip: "203.0.113.1" }, ipv6: { ip: "2001:db8:0:2::/64" } },
        protection: { delete: false, rebuild: false },
        locked: false,
      },
      action: { command: "create_server", status: "running", finished: null, error: null },
      next_actions: [{ command: "start_server", status: "running" }],
    });
    expect(body).toHaveProperty("root_password.length", 20);
    expect(body).not.toHaveProperty("server.datacenter");
  });

  it("gives no root password when SSH keys are given", async () => {
    const { create, send } = startSimulator();
    await send("POST", "/v1/ssh_keys", { name: "key", public_key: KEY_A });
    expect((await create({ ssh_keys: ["key"] })).body).toMatchObject({ root_password: null });
  });

  it("picks the image of the server type's architecture", async () => {
    const { create } = startSimulator();
    const { body } = await create({ server_type: "cax11", image: "debian-13" });
    expect(body).toMatchObject({ server: { image: { name: "debian-13", architecture: "arm" } } });
  });

  it("takes type, image and location by id, as numbers or text", async () => {
    const { create } = startSimulator();
    const { body } = await create({ server_type: 114, image: "317629862", location: "2" });
    expect(body).toMatchObject({
      server: { server_type: { name: "cx23" }, image: { name: "debian-13" }, location: { name: "nbg1" } },
    });
  });

  it("picks a location with stock when none is given", async () => {
    const { sim, create } = startSimulator();
    sim.stock({ server_type: "cx23", location: "fsn1", orderable: false });
    expect((await create({})).body).toMatchObject({ server: { location: { name: "nbg1" } } });
  });

  it("writes every time with an offset, never with Z", async () => {
    const { sim, create } = startSimulator();
    const { body } = await create({});
    const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
    expect(body).toHaveProperty("server.created", expect.stringMatching(form));
    sim.advance(2);
    for (const { started, finished } of sim.state().actions) {
      expect(started).toMatch(form);
      expect(finished).toMatch(form);
    }
  });

  it("gives every kind ids of its own, never one twice", async () => {
    const { create, send } = startSimulator();
    await create({});
    await send("DELETE", "/v1/servers/101");
    expect((await create({})).body).toMatchObject({
      server: { id: 102, public_net: { ipv4: { id: 70_003 }, ipv6: { id: 70_004 } } },
      action: { id: 500_004 },
      next_actions: [{ id: 500_005 }],
    });
  });

  it("keeps user data and SSH keys where only tests can see them", async () => {
    const { sim, create, send } = startSimulator();
    await send("POST", "/v1/ssh_keys", { name: "key", public_key: KEY_A });
    await create({ user_data: "#cloud-config", ssh_keys: ["key"] });
    expect(sim.state().servers).toMatchObject([{ user_data: "#cloud-config", ssh_keys: ["key"] }]);
    expect((await send("GET", "/v1/servers/101")).body).not.toHaveProperty("server.user_data");
  });
});

describe("a server's life", () => {
  it("is initializing for a second, starting for half a second, then running", async () => {
    const { sim, create } = startSimulator();
    await create({});
    const seen = [0, 0.9, 0.1, 0.4, 0.1].map((seconds) => {
      sim.advance(seconds);
      return sim.state().servers[0]?.status;
    });
    expect(seen).toEqual(["initializing", "initializing", "starting", "starting", "running"]);
    expect(sim.state().actions).toMatchObject([
      { command: "create_server", status: "success", progress: 100, finished: "2026-11-15T12:00:01+00:00" },
      { command: "start_server", status: "success" },
    ]);
  });

  it("ends in off when it is not to be started", async () => {
    const { sim, create } = startSimulator();
    const { body } = await create({ start_after_create: false });
    expect(body).toMatchObject({ next_actions: [] });
    sim.advance(1);
    expect(sim.state().servers).toMatchObject([{ status: "off" }]);
  });

  it("follows the real clock plus what was advanced", async () => {
    let real_ms = START_MS;
    const { sim, create } = startSimulator({ now: () => real_ms });
    await create({});
    real_ms += 1000;
    expect(sim.state().servers).toMatchObject([{ status: "starting" }]);
    sim.advance(1);
    expect(sim.now()).toBe(START_MS + 2000);
    expect(sim.state().servers).toMatchObject([{ status: "running" }]);
  });
});
