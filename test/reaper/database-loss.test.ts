import { describe, expect, it } from "vitest";
import { createMayfly, machineIn, machinesIn, minutes, refusing, servers, type Mayfly } from "../mayfly.ts";
import { copyOf, live, loseD1, put, restore, seconds } from "./lost-rows.ts";

const count = (mayfly: Mayfly) => servers(mayfly).length;
const expiresAt = async (mayfly: Mayfly, name: string) =>
  Date.parse(machineIn(await mayfly.send("GET", `/v1/machines/${name}`)).expires_at);

describe("the loss of D1", () => {
  it("I5: emptied: owners and leases come back from labels, and everything still dies on time", async () => {
    const mayfly = createMayfly();
    const [alice, bob] = [await mayfly.tokenOf("alice"), await mayfly.tokenOf("bob")];
    await put(mayfly, "box", { ttl: "1h" }, alice);
    await put(mayfly, "box", { ttl: "3h" }, bob);
    await minutes(mayfly, 12);
    const before = await live(mayfly);
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    const after = await live(mayfly);
    const shown = (all: typeof before) =>
      all
        .map(({ id, owner, name, expires_at, max_until }) => ({ id, owner, name, expires_at, max_until }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(shown(after)).toEqual(shown(before));
    expect((await mayfly.send("GET", "/v1/machines", undefined, alice)).status).toBe(401);
    await minutes(mayfly, 49);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 120);
    expect(servers(mayfly)).toEqual([]);
  });

  it("a repeat of a create after it is the machine that is there", async () => {
    const mayfly = createMayfly();
    const first = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 12);
    await loseD1(mayfly);
    await minutes(mayfly, 2);
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id]).toEqual([200, first.id]);
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("X17, case restore: set back to an older copy: what came later is adopted, what went is lost, nothing healthy dies", async () => {
    const mayfly = createMayfly();
    for (const name of ["stays", "goes", "renewed"]) await put(mayfly, name, { ttl: "1h" });
    await minutes(mayfly, 2);
    const copy = await copyOf(mayfly);
    await mayfly.send("DELETE", "/v1/machines/goes");
    await mayfly.send("POST", "/v1/machines/renewed/renew", { ttl: "4h" });
    await put(mayfly, "later", { ttl: "4h" });
    await minutes(mayfly, 11);
    await restore(mayfly, copy);
    await minutes(mayfly, 40);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["later", "renewed", "stays"]);
    await minutes(mayfly, 12);
    expect((await live(mayfly)).map(({ name }) => name).sort()).toEqual(["later", "renewed"]);
    await minutes(mayfly, 175);
    expect(servers(mayfly).length).toBe(2);
    await minutes(mayfly, 20);
    expect([servers(mayfly), await live(mayfly)]).toEqual([[], []]);
  });

  it("P76: a sweep under which D1 refuses adopts nothing and loses nothing", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    mayfly.configure({ DB: refusing(mayfly.bindings.DB, /machines/) });
    await minutes(mayfly, 40);
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("after a restore", () => {
  it("an owner has his name back as soon as the row that stood for it is lost", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    const copy = await copyOf(mayfly);
    await mayfly.send("DELETE", "/v1/machines/box");
    await minutes(mayfly, 2);
    const second = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 12);
    await restore(mayfly, copy);
    await minutes(mayfly, 35);
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id, machineIn(again).name]).toEqual([200, second.id, "box"]);
    expect(count(mayfly)).toBe(1);
  });

  it("a row learns within an inventory pass what its label promises, and no renewal takes it back", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "1h" });
    await minutes(mayfly, 2);
    const copy = await copyOf(mayfly);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    const promised = await expiresAt(mayfly, "box");
    await restore(mayfly, copy);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" });
    expect(servers(mayfly)[0]?.labels?.["mayfly-expires"]).toBe(seconds(promised));
    await minutes(mayfly, 16);
    expect(seconds(await expiresAt(mayfly, "box"))).toBe(seconds(promised));
  });

  it("a label that this row never wrote is a promise, though the row wrote later ones that did not arrive", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "5h", keep_on_failure: "30m" });
    await minutes(mayfly, 2);
    const locked = { status: 423, code: "locked", message: "no", times: 99 };
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", ...locked });
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    await mayfly.send("DELETE", "/v1/machines/box?outcome=failure");
    const copy = await copyOf(mayfly);
    mayfly.simulator.clearFaults();
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "3h" });
    await restore(mayfly, copy);
    await minutes(mayfly, 35);
    expect(count(mayfly)).toBe(1);
  });

  it("I3: the machine of an installation that was taken over is found before another is made", async () => {
    const mayfly = createMayfly({ INSTALLATION: "old-installation-12345" });
    const first = machineIn(await put(mayfly, "box"));
    await minutes(mayfly, 2);
    mayfly.configure({ INSTALLATION: "new-installation-12345", PREVIOUS_INSTALLATIONS: "old-installation-12345" });
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    const again = await put(mayfly, "box");
    expect([again.status, machineIn(again).id, count(mayfly)]).toEqual([200, first.id, 1]);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers$", status: 503 });
    expect((await put(mayfly, "other")).status).toBe(503);
    expect((await put(mayfly, "other")).status).toBe(200);
    expect(count(mayfly)).toBe(2);
  });

  it("a machine is found again under its name, whatever other owners have, or have forbidden, under the same", async () => {
    const mayfly = createMayfly();
    const [alice, bob, carol] = [
      await mayfly.tokenOf("alice"),
      await mayfly.tokenOf("bob"),
      await mayfly.tokenOf("carol"),
    ];
    const { id } = machineIn(await put(mayfly, "box", {}, alice));
    await put(mayfly, "box", {}, bob);
    await minutes(mayfly, 2);
    await mayfly.bindings.DB.prepare("DELETE FROM machines WHERE owner = 'tok.alice'").run();
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d", undefined, carol)).status).toBe(204);
    await minutes(mayfly, 17);
    expect(machinesIn(await mayfly.send("GET", "/v1/machines", undefined, alice))).toMatchObject([{ id, name: "box" }]);
    expect(count(mayfly)).toBe(2);
  });

  it("a name that its owner has forbidden since is destroyed and not adopted for good", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box");
    await minutes(mayfly, 2);
    await mayfly.bindings.DB.prepare("DELETE FROM machines").run();
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d")).status).toBe(204);
    await minutes(mayfly, 32);
    expect(count(mayfly)).toBe(0);
  });

  it("a later label is not overwritten by a row that was set back while its own was behind", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "1h" });
    await minutes(mayfly, 2);
    mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", status: 423, code: "locked", message: "no" });
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "2h" });
    const copy = await copyOf(mayfly);
    await mayfly.send("POST", "/v1/machines/box/renew", { ttl: "6h" });
    const promised = await expiresAt(mayfly, "box");
    await restore(mayfly, copy);
    await minutes(mayfly, 5);
    expect(servers(mayfly)[0]?.labels?.["mayfly-expires"]).toBe(seconds(promised));
    expect(seconds(await expiresAt(mayfly, "box"))).toBe(seconds(promised));
  });
});
