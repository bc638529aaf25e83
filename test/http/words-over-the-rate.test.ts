/** What is written down over the rate of calls that are not refused for it: what ends machines, and what goes with that. */
import { describe, expect, it } from "vitest";
import { brakeOn } from "../brakes.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  LOCAL,
  machineIn,
  MINUTE,
  minutes,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { everything } from "../store/tables.ts";

const KEPT = { ...BODY, keep_on_failure: "1h" };
const lastLog = ({ logs }: Mayfly) => logs.findLast(({ event }) => event === "request");
/** From here on no call is within a rate. */
function overTheRate(mayfly: Mayfly): void {
  mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 0), ADDRESS_BRAKE: brakeOn(mayfly.now, 0) });
  mayfly.callFrom("203.0.113.7");
}

describe("a tombstone", () => {
  const tombstones = async (mayfly: Mayfly) =>
    (await mayfly.bindings.DB.prepare("SELECT name FROM tombstones").raw<[string]>()).flat();

  it("of a name without a machine counts for the account's rate, and over it writes nothing", async () => {
    const mayfly = createMayfly({}, { policies: [{ name: "nothing", may: [] }] });
    const ann = await mayfly.tokenOf("ann", { policy: "nothing" });
    mayfly.configure({ ACCOUNT_BRAKE: brakeOn(mayfly.now, 2), ADDRESS_BRAKE: brakeOn(mayfly.now, 2) });
    mayfly.callFrom("203.0.113.7");
    const statuses = [];
    for (let call = 0; call < 5; call++)
      statuses.push((await mayfly.send("DELETE", `/v1/machines/n${call}?tombstone=1d`, undefined, ann)).status);
    expect(statuses).toEqual([204, 204, 429, 429, 429]);
    expect(await tombstones(mayfly)).toEqual(["n0", "n1"]);
    const before = await everything();
    const refused = await mayfly.send("DELETE", "/v1/machines/n5?tombstone=1d", undefined, ann);
    expect(refused.body).toMatchObject({ code: "limit_rate", policy: "nothing" });
    expect(await everything()).toEqual(before);
  });

  it("is written over the rate too where its call ends the machine, which it does", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", BODY, ann);
    overTheRate(mayfly);
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d", undefined, ann)).status).toBe(202);
    expect(await tombstones(mayfly)).toEqual(["box"]);
    // The word for its end stands, which a further one does not give anew.
    const before = await everything();
    mayfly.advance(SECOND);
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d", undefined, ann)).status).toBe(429);
    expect(await everything()).toEqual(before);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("DELETE", "/v1/machines/box?tombstone=1d", undefined, ann)).status).toBe(429);
  });

  it("does not come over the rate with a machine that is kept, which is none that ends", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", KEPT, ann);
    await mayfly.send("PUT", "/v1/machines/plain", BODY, ann);
    overTheRate(mayfly);
    const before = await everything();
    const release = (name: string) =>
      mayfly.send("DELETE", `/v1/machines/${name}?outcome=failure&tombstone=1d`, undefined, ann);
    expect((await release("box")).status).toBe(429);
    expect(await everything()).toEqual(before);
    expect((await release("plain")).status).toBe(202);
    expect(await tombstones(mayfly)).toEqual(["plain"]);
  });
});

describe("a machine that is kept on failure", () => {
  const keep = (mayfly: Mayfly, token: string) =>
    mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, token);
  const events = async (mayfly: Mayfly) =>
    mayfly.bindings.DB.prepare("SELECT at FROM events WHERE event = 'kept'").raw<[number]>();

  it("is not kept anew where it is kept until then already", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", KEPT, ann);
    const [first] = [await keep(mayfly, ann)];
    const before = await everything();
    expect(await keep(mayfly, ann)).toMatchObject({ status: 200, body: first.body });
    expect(await everything()).toEqual(before);
    mayfly.advance(SECOND);
    expect((await keep(mayfly, ann)).body).toHaveProperty("kept_until", new Date(mayfly.now() + HOUR).toISOString());
  });

  it("is kept over the rate too, and written down once a minute, however often that is said", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    const box = machineIn(await mayfly.send("PUT", "/v1/machines/box", { ...KEPT, ttl: "5m" }, ann));
    overTheRate(mayfly);
    for (let call = 0; call < 130; call++) {
      const kept = await keep(mayfly, ann);
      expect(kept.status).toBe(200);
      const until = Date.parse(machineIn(kept).expires_at);
      expect(mayfly.now() + HOUR - until).toBeLessThan(MINUTE);
      expect(until).toBeGreaterThan(Date.parse(box.expires_at));
      mayfly.advance(SECOND);
    }
    expect(await events(mayfly)).toHaveLength(3);
  });

  it("is kept shorter than its lease over the rate too", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("PUT", "/v1/machines/box", { ...KEPT, ttl: "5h" }, ann);
    overTheRate(mayfly);
    expect((await keep(mayfly, ann)).body).toHaveProperty("kept_until", new Date(mayfly.now() + HOUR).toISOString());
  });
});

describe("a DELETE", () => {
  it("ends a create that was cut off too: the sweep goes by the word alone", async () => {
    const mayfly = createMayfly(LOCAL);
    const ann = await mayfly.tokenOf("ann");
    mayfly.simulator.fault({ method: "POST", path: "^/v1/servers$", drop: "before" });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY, ann)).status).toBe(503);
    overTheRate(mayfly);
    expect((await mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, ann)).status).toBe(202);
    await minutes(mayfly, 20);
    const phases = await mayfly.bindings.DB.prepare("SELECT phase FROM machines").raw();
    expect([servers(mayfly), phases]).toEqual([[], [["destroyed"]]]);
  });

  it("of a name without a machine costs the look at it, and writes nothing", async () => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    // A token's first use is noted.
    await mayfly.send("GET", "/v1/whoami", undefined, ann);
    const before = await everything();
    for (const path of ["/v1/machines/none", "/v1/firewalls/none", "/v1/machines/none?outcome=failure"]) {
      expect((await mayfly.send("DELETE", path, undefined, ann)).status).toBe(204);
      // The other is the one that every call costs: whose token is it?
      expect(lastLog(mayfly)).toMatchObject({ fetches: 0, statements: 2 });
    }
    expect(await everything()).toEqual(before);
  });

  it.each([
    ["a machine", "/v1/machines/box"],
    ["a firewall", "/v1/firewalls/wall"],
  ])("of %s that goes already writes nothing over the rate, whenever it is repeated", async (_, path) => {
    const mayfly = createMayfly();
    const ann = await mayfly.tokenOf("ann");
    await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true }, ann);
    await mayfly.send("PUT", "/v1/machines/box", { ...BODY, firewalls: ["wall"] }, ann);
    overTheRate(mayfly);
    const first = await mayfly.send("DELETE", path, undefined, ann);
    expect(first.status).toBe(202);
    const before = await everything();
    mayfly.advance(SECOND);
    expect(await mayfly.send("DELETE", path, undefined, ann)).toMatchObject({ status: 202 });
    expect(await everything()).toEqual(before);
  });
});
