/** Owners that have more than an answer names. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BODY, createMayfly, mintedIn, SECOND, type Answer, type Mayfly } from "../mayfly.ts";
import { KEY_A } from "../simulator/sample-keys.ts";
import { everything } from "../store/tables.ts";

const MANY = 520;

/** So many copies of the one row of a table, each under a uid, a name and a provider id of its own. */
async function copyRow(table: "machines" | "resources"): Promise<void> {
  const row = await env.DB.prepare(`SELECT * FROM ${table}`).first<Record<string, string | number | null>>();
  if (row === null) throw new Error("there is no row");
  const columns = Object.keys(row);
  const insert = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  const copy = (index: number) => ({
    ...row,
    uid: `10000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    name: `copy-${index}`,
    provider_name: `copy-${index}`,
    provider_id: String(900_000 + index),
  });
  const copies = Array.from({ length: MANY }, (_, index) => Object.values<string | number | null>(copy(index)));
  await env.DB.batch(copies.map((values) => env.DB.prepare(insert).bind(...values)));
}

/** A mayfly whose ann has many machines and many firewalls, and bob one of each. */
async function crowded() {
  const mayfly = createMayfly();
  const ann = mintedIn(await mayfly.send("POST", "/v1/tokens", { owner: "ann" }));
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, labels: { run: "7" } }, ann.secret);
  await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true }, ann.secret);
  await copyRow("machines");
  await copyRow("resources");
  const bob = await mayfly.tokenOf("bob");
  await mayfly.send("PUT", "/v1/machines/box", { ...BODY, labels: { run: "7" } }, bob);
  await mayfly.send("POST", "/v1/ssh_keys", { name: "me", public_key: KEY_A }, bob);
  return { mayfly, ann };
}

/** How many of ann's nobody has ended, and of others. */
async function left() {
  const machines = "SELECT owner, destroy_requested_at AS word FROM machines";
  const rows = env.DB.prepare(
    `SELECT sum(owner = 'tok.ann') AS hers, sum(owner <> 'tok.ann') AS others
     FROM (${machines} UNION ALL SELECT owner, delete_requested_at FROM resources) WHERE word IS NULL`,
  );
  return rows.first();
}
const named = ({ body }: Answer) => {
  const rows = z.array(z.unknown());
  const { machines, resources } = z.object({ machines: rows, resources: rows.default([]) }).parse(body);
  return [machines.length, resources.length];
};

describe("an owner with more than an answer names", () => {
  it.each([
    ["a token revoked with all", "DELETE", (id: string) => `/v1/tokens/${id}?destroy=true`, undefined],
    ["a teardown", "POST", () => "/v1/teardown?owner=tok.ann", {}],
  ])("keeps nothing after %s", async (_, method, path, body) => {
    const { mayfly, ann } = await crowded();
    const answer = await mayfly.send(method, path(ann.id), body);
    expect([answer.status, named(answer)]).toEqual([202, [500, 500]]);
    expect(await left()).toEqual({ hers: 0, others: 2 });
    expect(await eventsOf(mayfly)).toBe(MANY + 1);
  });

  it("keeps no machine that labels name, and all else", async () => {
    const { mayfly, ann } = await crowded();
    const answer = await mayfly.send("DELETE", "/v1/machines?label_selector=run%3D7", undefined, ann.secret);
    expect([answer.status, named(answer)]).toEqual([202, [500, 0]]);
    expect(await left()).toEqual({ hers: MANY + 1, others: 2 });
    expect(await eventsOf(mayfly)).toBe(MANY + 1);
  });

  it("is shown by a dry run what the answer would name, and keeps everything", async () => {
    const { mayfly, ann } = await crowded();
    await mayfly.send("GET", "/v1/whoami", undefined, ann.secret);
    const before = await everything();
    const dry = await mayfly.send("POST", "/v1/teardown", { dry_run: true }, ann.secret);
    expect([dry.status, named(dry)]).toEqual([200, [500, 500]]);
    const byLabel = "/v1/machines?label_selector=run%3D7&dry_run=true";
    expect(named(await mayfly.send("DELETE", byLabel, undefined, ann.secret))).toEqual([500, 0]);
    expect(await everything()).toEqual(before);
  });

  it("writes nothing by asking for it again, while nothing backs off", async () => {
    const { mayfly, ann } = await crowded();
    mayfly.configure({ ACCOUNT_BRAKE: { limit: async () => ({ success: false }) } });
    const tearDown = () => mayfly.send("POST", "/v1/teardown", {}, ann.secret);
    expect(named(await tearDown())).toEqual([500, 500]);
    const before = await everything();
    mayfly.advance(SECOND);
    expect(named(await tearDown())).toEqual([500, 500]);
    expect(await everything()).toEqual(before);
  });
});

describe("what backs off", () => {
  it("is tried at once where its owner asks again", async () => {
    const mayfly = createMayfly();
    await mayfly.send("PUT", "/v1/machines/box", BODY);
    await mayfly.send("POST", "/v1/firewalls", { name: "wall", deny_all: true });
    mayfly.configure({ ACCOUNT_BRAKE: { limit: async () => ({ success: false }) } });
    await mayfly.send("POST", "/v1/teardown", {});
    const far = mayfly.now() + 1000 * SECOND;
    for (const table of ["machines", "resources"])
      await env.DB.prepare(`UPDATE ${table} SET next_try_at = ?`).bind(far).run();
    await mayfly.send("POST", "/v1/teardown", {});
    const waiting = await env.DB.prepare(
      "SELECT next_try_at FROM machines UNION ALL SELECT next_try_at FROM resources",
    ).raw<[number | null]>();
    expect(waiting).toEqual([[null], [null]]);
  });
});

async function eventsOf(mayfly: Mayfly): Promise<number> {
  const told = await mayfly.bindings.DB.prepare("SELECT uid FROM events WHERE event = 'destroy_requested'").raw();
  return told.length;
}
