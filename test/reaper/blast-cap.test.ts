import { describe, expect, it } from "vitest";
import { behind } from "../behind.ts";
import { createMayfly, HOUR, minutes, MINUTE, NOW, servers, type Mayfly } from "../mayfly.ts";
import { copyOf, lostRow, put, restore, seconds, UID } from "./lost-rows.ts";

const count = (mayfly: Mayfly) => servers(mayfly).length;

describe("the blast cap", () => {
  it("case 23: holds early deaths beyond max(5, 20 %) a sweep until an admin releases them; an owner's own DELETE never waits", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 9; number++) await put(mayfly, `m${number}`);
    // Nobody looks while they run, so that for their rows they never did.
    mayfly.advance(MINUTE);
    for (const { id } of servers(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    mayfly.advance(20 * MINUTE);
    const report = await mayfly.tick();
    const held = report?.phases.flatMap(({ items }) => items).filter(({ reason }) => reason === "held") ?? [];
    expect(held.length).toBe(4);
    expect(held.map(({ outcome }) => outcome)).toEqual(Array(4).fill("alert"));
    const spared = held[0]?.uid;
    expect((await mayfly.send("DELETE", `/v1/machines/mch_${spared}`)).status).toBe(200);
  });

  it("P72: is released by an admin, and by nobody else", async () => {
    const mayfly = createMayfly();
    const bob = await mayfly.tokenOf("bob");
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release", undefined, bob)).status).toBe(403);
    expect((await mayfly.send("POST", "/v1/holds/nothing/release")).status).toBe(422);
    for (let number = 0; number < 9; number++) await put(mayfly, `m${number}`);
    await mayfly.bindings.DB.prepare(
      "UPDATE machines SET phase = 'failed', status = 'destroyed', provider_id = NULL",
    ).run();
    mayfly.advance(16 * MINUTE);
    await mayfly.tick();
    expect(servers(mayfly)).toHaveLength(4);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release")).status).toBe(200);
    await minutes(mayfly, 20);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("what the blast cap holds", () => {
  it("stays held in all sweeps that follow, whatever would end it, until an admin releases it", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 14; number++) await put(mayfly, `m${number}`, { ttl: "10h" });
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='failed', status='destroyed', provider_id=NULL").run();
    const left: number[] = [];
    for (let pass = 0; pass < 4; pass++) {
      await minutes(mayfly, 16);
      left.push(count(mayfly));
    }
    expect(left).toEqual([9, 9, 9, 9]);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release")).status).toBe(200);
    await minutes(mayfly, 16);
    expect(count(mayfly)).toBe(0);
  });

  it("is asked for failed launches tick after tick, too", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 20; number++) await put(mayfly, `m${number}`);
    mayfly.advance(MINUTE);
    for (const { id } of servers(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    mayfly.advance(20 * MINUTE);
    await minutes(mayfly, 6);
    expect(count(mayfly)).toBe(15);
  });

  it("is taken before the act: a death that did not come about counts too, and what is beyond waits for an admin", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 6; number++) await put(mayfly, `m${number}`, { ttl: "10h" });
    await minutes(mayfly, 2);
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='failed', status='destroyed', provider_id=NULL").run();
    const locked = { status: 423, code: "locked", message: "no", times: 5 };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...locked });
    await minutes(mayfly, 32);
    expect(count(mayfly)).toBe(6);
    expect((await mayfly.send("POST", "/v1/holds/blast_cap/release")).status).toBe(200);
    await minutes(mayfly, 16);
    expect(count(mayfly)).toBe(0);
  });

  it("is taken once for a machine whose end is decided: tries that fail do not hold up others", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 4; number++) await put(mayfly, `m${number}`, { ttl: "10h" });
    mayfly.advance(MINUTE);
    for (const { id } of servers(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    const locked = { status: 423, code: "locked", message: "no", times: 12 };
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...locked });
    mayfly.advance(20 * MINUTE);
    await minutes(mayfly, 30);
    expect(count(mayfly)).toBe(0);
  });

  it("is not gone round by expire: after a restore what was renewed does not die of an old story", async () => {
    const mayfly = createMayfly();
    for (let number = 0; number < 12; number++) await put(mayfly, `m${number}`, { ttl: "1h" });
    const copy = await copyOf(mayfly);
    await minutes(mayfly, 3);
    for (let number = 0; number < 12; number++)
      await mayfly.send("POST", `/v1/machines/m${number}/renew`, { ttl: "5h" });
    for (const { id } of servers(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    mayfly.advance(61 * MINUTE);
    await restore(mayfly, copy);
    await minutes(mayfly, 5);
    expect(count(mayfly)).toBe(12);
  });

  it("is asked by reap for what was promised longer", async () => {
    const mayfly = createMayfly();
    const promises = { "mayfly-expires": seconds(NOW + 100 * HOUR), "mayfly-max": seconds(NOW + 200 * HOUR) };
    for (let number = 0; number < 12; number++) {
      const uid = UID.replace("4d11", `40${String(number).padStart(2, "0")}`);
      mayfly.simulator.addServer(lostRow(`m${number}`, uid, promises));
    }
    await minutes(mayfly, 16);
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='destroyed', status='destroyed'").run();
    mayfly.advance(24 * HOUR);
    await mayfly.tick();
    expect(count(mayfly)).toBe(7);
  });
});
