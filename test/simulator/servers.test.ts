import { describe, expect, it } from "vitest";
import { START_MS, startSimulator } from "./client.ts";

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
    const { create } = startSimulator();
    expect((await create({ ssh_keys: ["key", 7] })).body).toMatchObject({ root_password: null });
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

  it("leaves out the addresses that are switched off", async () => {
    const { create } = startSimulator();
    const { body } = await create({ public_net: { enable_ipv4: false, enable_ipv6: false } });
    expect(body).toMatchObject({ server: { public_net: { ipv4: null, ipv6: null } } });
  });

  it("picks a location with stock when none is given", async () => {
    const { sim, create } = startSimulator();
    sim.stock({ server_type: "cx23", location: "fsn1", orderable: false });
    expect((await create({})).body).toMatchObject({ server: { location: { name: "nbg1" } } });
  });

  it("keeps user data and SSH keys where only tests can see them", async () => {
    const { sim, create, send } = startSimulator();
    await create({ user_data: "#cloud-config", ssh_keys: ["key"] });
    expect(sim.state().servers).toMatchObject([{ user_data: "#cloud-config", ssh_keys: ["key"] }]);
    expect((await send("GET", "/v1/servers/101")).body).not.toHaveProperty("server.user_data");
  });
});

describe("Primary IPs", () => {
  it("come and go with their server", async () => {
    const { create, send } = startSimulator();
    await create({});
    const { body } = await send("GET", "/v1/primary_ips?sort=id:desc");
    expect(body).toMatchObject({
      primary_ips: [
        { id: 70_002, type: "ipv6", ip: "2001:db8:0:2::/64" },
        { id: 70_001, type: "ipv4", ip: "203.0.113.1", assignee_type: "server", assignee_id: 101, auto_delete: true },
      ],
    });
    expect((await send("GET", "/v1/primary_ips?ip=203.0.113.1")).body).toHaveProperty("primary_ips.length", 1);
    expect(await send("GET", "/v1/primary_ips/70001")).toMatchObject({ status: 200 });
    await send("DELETE", "/v1/servers/101");
    expect(await send("GET", "/v1/primary_ips")).toMatchObject({ body: { primary_ips: [] } });
    expect(await send("GET", "/v1/primary_ips/70001")).toMatchObject({ status: 404 });
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
});

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
});
