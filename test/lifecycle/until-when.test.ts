/** What counts for a while counts for all of it and no longer; of two words on the same thing the longer one counts. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { behind } from "../behind.ts";
import { listed } from "../hooks/deliveries.ts";
import { CONFIGURATION, fromStandard, openHooks } from "../hooks/senders.ts";
import { BODY, createMayfly, HOUR, MINUTE, minutes, SECOND, servers, type Mayfly } from "../mayfly.ts";

const put = (mayfly: Mayfly, name: string, more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more });
const release = (mayfly: Mayfly, hold: string) => mayfly.send("POST", `/v1/holds/${hold}/release`);
const value = async (column: string, table: string): Promise<unknown> =>
  (await env.DB.prepare(`SELECT ${column} AS value FROM ${table}`).first())?.["value"];

describe("a name that is forbidden", () => {
  const forbid = (mayfly: Mayfly, length: string, name = "box") =>
    mayfly.send("DELETE", `/v1/machines/${name}?tombstone=${length}`);

  it.each([
    ["10m", "5m"],
    ["5m", "10m"],
  ])("for %s and then for %s is so for the longer of them", async (first, second) => {
    const mayfly = createMayfly();
    await forbid(mayfly, first);
    await forbid(mayfly, second);
    mayfly.advance(10 * MINUTE - SECOND);
    const refused = await put(mayfly, "box");
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([409, "1"]);
    mayfly.advance(SECOND);
    expect((await put(mayfly, "box")).status).toBe(201);
  });

  it("stays so though others are forbidden, and end, meanwhile", async () => {
    const mayfly = createMayfly();
    await forbid(mayfly, "10m");
    await forbid(mayfly, "1m", "other");
    mayfly.advance(2 * MINUTE);
    await forbid(mayfly, "1m", "another");
    await mayfly.tick();
    expect([(await put(mayfly, "box")).status, (await put(mayfly, "other")).status]).toEqual([409, 201]);
  });
});

describe("a pair that had no room", () => {
  const CHOICES = { server_type: "cx23", region: ["fsn1", "hel1", "nbg1"] };
  const stock = (mayfly: Mayfly, location: string, orderable: boolean) =>
    mayfly.simulator.stock({ server_type: "cx23", location, orderable });
  const told = z.object({ machine: z.object({ candidates: z.array(z.object({ region: z.string() })) }) });
  let asked = 0;
  const order = async (mayfly: Mayfly) =>
    told.parse((await put(mayfly, `n${++asked}`, CHOICES)).body).machine.candidates.map(({ region }) => region);

  it("is tried last for five minutes of its own, from the last time that it had none", async () => {
    const mayfly = createMayfly();
    mayfly.advance(17 * SECOND);
    stock(mayfly, "fsn1", false);
    await order(mayfly);
    mayfly.advance(2 * MINUTE);
    stock(mayfly, "hel1", false);
    await order(mayfly);
    stock(mayfly, "fsn1", true);
    stock(mayfly, "hel1", true);
    expect(await order(mayfly)).toEqual(["nbg1", "fsn1", "hel1"]);
    mayfly.advance(3 * MINUTE - SECOND);
    expect(await order(mayfly)).toEqual(["nbg1", "fsn1", "hel1"]);
    mayfly.advance(SECOND);
    // It has none again: from here on for five minutes anew.
    stock(mayfly, "fsn1", false);
    expect(await order(mayfly)).toEqual(["fsn1", "nbg1", "hel1"]);
    stock(mayfly, "fsn1", true);
    mayfly.advance(2 * MINUTE);
    expect((await order(mayfly))[0]).toBe("hel1");
    mayfly.advance(3 * MINUTE - SECOND);
    expect((await order(mayfly))[0]).toBe("hel1");
    mayfly.advance(SECOND);
    expect((await order(mayfly))[0]).toBe("fsn1");
  });
});

describe("what is beyond the blast cap", () => {
  /** Machines that nobody saw running and that are off by now: their launch has failed. */
  async function failing(mayfly: Mayfly, names: readonly string[]): Promise<void> {
    for (const name of names) await put(mayfly, name, { ttl: "20h" });
    mayfly.advance(MINUTE);
    for (const { id, status } of servers(mayfly))
      if (status === "running") await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
    mayfly.advance(16 * MINUTE);
    await mayfly.tick();
  }
  const many = (prefix: string) => Array.from({ length: 7 }, (_, index) => `${prefix}${index}`);
  /** Their owner ends what is left. */
  const endAll = (mayfly: Mayfly) => mayfly.send("POST", "/v1/teardown", {});

  it.each([
    ["within", 20 * MINUTE, 1],
    ["after", 25 * MINUTE, 0],
  ])("is held %s forty minutes from when there was last something to hold", async (_when, wait, left) => {
    const mayfly = createMayfly();
    await failing(mayfly, many("m"));
    expect(servers(mayfly)).toHaveLength(2);
    await endAll(mayfly);
    await mayfly.tick();
    expect(servers(mayfly)).toEqual([]);
    mayfly.advance(wait);
    await failing(mayfly, ["late"]);
    expect(servers(mayfly)).toHaveLength(left);
  });

  it.each([
    ["dies within", 27 * MINUTE, 0],
    ["is held again after", 29 * MINUTE, 2],
  ])("%s three quarters of an hour from its release on", async (_when, wait, left) => {
    const mayfly = createMayfly();
    expect((await release(mayfly, "blast_cap")).status).toBe(200);
    mayfly.advance(wait);
    await failing(mayfly, many("m"));
    expect(servers(mayfly)).toHaveLength(left);
  });
});

it.each([
  ["believed within", 0, "destroyed"],
  ["doubted after", 45 * MINUTE, "active"],
])("an inventory that lacks many is %s three quarters of an hour from its release on", async (_when, wait, phase) => {
  const mayfly = createMayfly();
  for (const name of ["a", "b", "c", "d", "e"]) await put(mayfly, name, { ttl: "20h" });
  await minutes(mayfly, 2);
  await release(mayfly, "inventory");
  mayfly.advance(wait);
  for (const { id } of servers(mayfly)) await behind(mayfly, "DELETE", `/servers/${id}`);
  await minutes(mayfly, 32);
  expect(await value("group_concat(DISTINCT phase)", "machines")).toBe(phase);
});

describe("how long something is left alone after a failure", () => {
  const LOCKED = { status: 423, code: "locked", message: "locked", times: 9999 };
  const SECONDS = [90, 180, 360, 720, 900, 900];

  /** The waits after each of some failures, in seconds, minute by minute. */
  async function waits(mayfly: Mayfly, read: () => Promise<unknown>): Promise<number[]> {
    const found: number[] = [];
    let last: unknown = null;
    for (let minute = 0; minute < 90 && found.length < SECONDS.length; minute++) {
      await minutes(mayfly, 1);
      const next = await read();
      if (typeof next === "number" && next !== last && next > mayfly.now()) found.push((next - mayfly.now()) / SECOND);
      last = next;
    }
    return found;
  }

  it("doubles from a minute and a half to a quarter of an hour for a machine, and is never shorter for a further failure", async () => {
    const mayfly = createMayfly();
    await put(mayfly, "box", { ttl: "60s" });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", ...LOCKED });
    expect(await waits(mayfly, () => value("next_try_at", "machines"))).toEqual(SECONDS);
  });

  it("likewise for a firewall", async () => {
    const mayfly = createMayfly();
    await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true, ttl: "60s" });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/firewalls/", ...LOCKED, status: 500, code: "server_error" });
    expect(await waits(mayfly, () => value("next_try_at", "resources"))).toEqual(SECONDS);
  });

  it("from half a minute to eight minutes for a create that an event asks for", async () => {
    const mayfly = openHooks({}, { ...CONFIGURATION, policies: [{ name: "preview", machines: 0 }] });
    await fromStandard(mayfly, { type: "machine.create", data: { name: "box", ttl: "2h" } });
    const found: number[] = [];
    let tried = mayfly.now();
    let attempts = 1;
    for (let half = 0; half < 60 && found.length < 6; half++) {
      mayfly.advance(30 * SECOND);
      await mayfly.tick();
      const [row] = await listed(mayfly);
      if (row === undefined || row.attempts === attempts) continue;
      found.push((mayfly.now() - tried) / SECOND);
      [tried, attempts] = [mayfly.now(), row.attempts];
    }
    expect(found).toEqual([30, 60, 120, 240, 480, 480]);
  });
});

it("a firewall that was idle once and is used again goes, when it is idle anew, after two looks anew", async () => {
  const mayfly = createMayfly();
  await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true, ttl: "5m" });
  mayfly.advance(5 * MINUTE);
  await mayfly.tick();
  expect(await value("idle_since", "resources")).toBe(mayfly.now());
  await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true, ttl: "5m" });
  await put(mayfly, "box", { firewalls: ["wall"], ttl: "30m" });
  expect(await value("idle_since", "resources")).toBeNull();
  await minutes(mayfly, 20);
  await mayfly.send("DELETE", "/v1/machines/box");
  mayfly.advance(MINUTE);
  await mayfly.tick();
  expect(await value("idle_since", "resources")).toBe(mayfly.now());
  await minutes(mayfly, 1);
  expect(mayfly.simulator.state().firewalls).toEqual([]);
});

it("a lease is never shortened by a renewal for less, whoever sends it again", async () => {
  const mayfly = createMayfly();
  await put(mayfly, "box", { ttl: "5h" });
  const end = await value("expires_at", "machines");
  for (const ttl of ["60s", "1h", "299m"])
    expect((await mayfly.send("POST", "/v1/machines/box/renew", { ttl })).status).toBe(200);
  expect(await value("expires_at", "machines")).toBe(end);
  mayfly.advance(HOUR);
  await mayfly.tick();
  expect(servers(mayfly)).toHaveLength(1);
});
