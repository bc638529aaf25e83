import { describe, expect, it } from "vitest";
import { readDeployment, type Configuration } from "../../src/deployment.ts";
import { brakeOn } from "../brakes.ts";
import { BODY, createMayfly, LOCAL, MINUTE, minutes, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

const RULES = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };
const count = async (mayfly: Mayfly, table: string) =>
  (await mayfly.bindings.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<{ n: number }>())?.n;

describe("a call over the rate that says that it changed nothing has changed nothing", () => {
  it("where it asks again for a key whose making was cut off and whose lease has ended", async () => {
    const mayfly = createMayfly(LOCAL);
    const ann = await mayfly.tokenOf("ann");
    const key = { name: "me", public_key: KEY_A, ttl: "60s" };
    mayfly.simulator.fault({ method: "POST", path: "^/v1/ssh_keys$", drop: "before" });
    expect((await mayfly.send("POST", "/v1/ssh_keys", key, ann)).status).toBe(503);
    mayfly.advance(2 * MINUTE);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) });
    const before = await everything();
    const refused = await mayfly.send("POST", "/v1/ssh_keys", key, ann);
    expect([refused.status, await everything()]).toEqual([429, before]);
  });

  it("where it takes a firewall off that is to be deleted, under a policy that needs one", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "default", needs_firewall: true }] });
    const ann = await mayfly.tokenOf("ann");
    for (const name of ["web", "ssh"]) await mayfly.send("POST", "/v1/firewalls", { name, ...RULES }, ann);
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["web", "ssh"] }, ann);
    mayfly.advance(MINUTE);
    await mayfly.tick();
    expect((await mayfly.send("DELETE", "/v1/firewalls/web", undefined, ann)).status).toBe(202);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0) });
    const uses = await count(mayfly, "resource_uses");
    const refused = await mayfly.send("POST", "/v1/firewalls/web/remove_from_resources", { machines: ["box"] }, ann);
    expect([refused.status, await count(mayfly, "resource_uses")]).toEqual([429, uses]);
  });
});

describe("what a caller who may make nothing writes into D1", () => {
  it("is bounded by a brake: names that it gives up", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "nothing", may: [] }] });
    const ann = await mayfly.tokenOf("ann", { policy: "nothing" });
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 5), ADDRESS_BRAKE: brakeOn(mayfly.now, 5) });
    mayfly.callFrom("203.0.113.7");
    for (let i = 0; i < 30; i++) await mayfly.send("DELETE", `/v1/machines/n${i}?tombstone=1d`, undefined, ann);
    expect(await count(mayfly, "tombstones")).toBeLessThan(30);
  });
  it("is bounded by a brake: a machine that is kept again and again", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, keep_on_failure: "1h" }, ann);
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 5), ADDRESS_BRAKE: brakeOn(mayfly.now, 5) });
    mayfly.callFrom("203.0.113.7");
    const before = (await count(mayfly, "events")) ?? 0;
    for (let i = 0; i < 30; i++) await mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, ann);
    expect((await count(mayfly, "events")) ?? 0).toBeLessThan(before + 30);
  });
});

