import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, LOCAL, servers, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

const CREATES = [
  ["PUT", "/v1/machines/box", BODY, "servers"],
  ["POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, "ssh_keys"],
  ["POST", "/v1/firewalls", { name: "wall", deny_all: true }, "firewalls"],
  ["POST", "/v1/networks", { name: "lab", ip_range: "10.0.0.0/16", region: "fsn1" }, "networks"],
] as const;
const OFF = { status: 503, body: { code: "creates_off" } };
const lastLog = ({ logs }: Mayfly) => logs.findLast(({ event }) => event === "request");

describe.each(CREATES)("while creates are off, %s %s", (method, path, body, kind) => {
  it("makes nothing new", async () => {
    const mayfly = createMayfly({ CREATES: "off" });
    expect(await mayfly.send(method, path, body)).toMatchObject(OFF);
    expect(mayfly.simulator.state()[kind]).toEqual([]);
  });

  it("does not finish what was cut off, until they are on again", async () => {
    const mayfly = createMayfly(LOCAL);
    mayfly.simulator.fault({ method: "POST", path: `^/v1/${kind}$`, drop: "before" });
    expect((await mayfly.send(method, path, body)).status).toBe(503);
    mayfly.configure({ CREATES: "off" });
    const before = await everything();
    expect(await mayfly.send(method, path, body)).toMatchObject(OFF);
    expect(lastLog(mayfly)).toMatchObject({ fetches: 0 });
    expect([mayfly.simulator.state()[kind], await everything()]).toEqual([[], before]);
    mayfly.configure({ CREATES: "on" });
    expect((await mayfly.send(method, path, body)).status).toBe(200);
  });

  it("still answers what is there", async () => {
    const mayfly = createMayfly();
    expect((await mayfly.send(method, path, body)).status).toBe(201);
    mayfly.configure({ CREATES: "off" });
    expect((await mayfly.send(method, path, body)).status).toBe(200);
  });
});

describe("while creates are off", () => {
  it("a firewall that is there begins a new lease", async () => {
    const mayfly = createMayfly();
    const wall = { name: "wall", deny_all: true };
    await mayfly.send("POST", "/v1/firewalls", wall);
    mayfly.advance(2 * HOUR);
    mayfly.configure({ CREATES: "off" });
    const again = await mayfly.send("POST", "/v1/firewalls", wall);
    expect(again.body).toHaveProperty("firewall.expires_at", new Date(mayfly.now() + HOUR).toISOString());
  });

  it("machines end as ever", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", BODY);
    mayfly.configure({ CREATES: "off" });
    expect((await mayfly.send("DELETE", "/v1/machines/box")).status).toBe(200);
    expect(servers(mayfly)).toEqual([]);
  });
});
