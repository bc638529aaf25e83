import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Statement } from "../../src/store/db.ts";
import { openStore } from "../../src/store/store.ts";
import { asD1, onD1 } from "../simulation/world/database.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  machineIn,
  MINUTE,
  minutes,
  NOW,
  refusing,
  servers,
  type Mayfly,
} from "../mayfly.ts";
import { put, putMachine, putResource } from "../store/tables.ts";
import { lostRow } from "./lost-rows.ts";

const DAY = 24 * HOUR;
const create = async (mayfly: Mayfly, name: string, more: object = {}) =>
  machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "2h", ...more }));
const destroy = (mayfly: Mayfly, name: string) => mayfly.send("DELETE", `/v1/machines/${name}`);
/** Lets days pass, each with a few ticks at its end. */
async function days(mayfly: Mayfly, count: number): Promise<void> {
  for (let day = 0; day < count; day++) {
    mayfly.advance(DAY - 2 * MINUTE);
    await minutes(mayfly, 2);
  }
}
const countOf = async (table: string): Promise<number> =>
  z.int().parse(await env.DB.prepare(`SELECT count(*) AS rows FROM ${table}`).first("rows"));
const usage = async (mayfly: Mayfly, query = "") =>
  z
    .object({ usage: z.looseObject({ cost_eur: z.number(), hours: z.int(), entries: z.array(z.looseObject({})) }) })
    .parse((await mayfly.send("GET", `/v1/usage${query}`)).body).usage;

describe("KEEP_HISTORY", () => {
  it("forgets machines, with what they used, events, reports and what else has ended, once that is older; sums stay", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "3d" });
    const wall = { firewalls: [{ rules: [{ direction: "in", protocol: "tcp", port: "22" }] }] };
    await create(mayfly, "a", wall);
    await create(mayfly, "b");
    await mayfly.send("POST", "/v1/tokens", { owner: "ci", expires_in: "1h" });
    await mayfly.send("DELETE", "/v1/machines/none?tombstone=1h");
    await minutes(mayfly, 2);
    await destroy(mayfly, "a");
    await destroy(mayfly, "b");
    await minutes(mayfly, 20);
    const told = await usage(mayfly, "?month=2026-11&by=server_type");
    expect(told.hours).toBe(2);
    await days(mayfly, 2);
    const KEPT = ["machines", "resources", "events", "tokens", "sweeps"];
    for (const table of KEPT) expect([table, (await countOf(table)) > 0]).toEqual([table, true]);
    expect((await mayfly.send("GET", "/v1/machines/a")).body).toMatchObject({ machine: { status: "destroyed" } });
    await days(mayfly, 2);
    for (const table of ["machines", "resources", "resource_uses", "events", "tombstones", "tokens"])
      expect([table, await countOf(table)]).toEqual([table, 0]);
    const oldest = await env.DB.prepare("SELECT min(finished_at) AS at FROM sweeps").first("at");
    expect(Number(oldest)).toBeGreaterThan(mayfly.now() - 3 * DAY - 2 * HOUR);
    expect((await mayfly.send("GET", "/v1/machines/a")).status).toBe(404);
    expect(await usage(mayfly, "?month=2026-11&by=server_type")).toEqual({ ...told, machines_live: 0 });
  });

  it("keeps a live machine's whole story, and that of one whose end is not old", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d", MAX_AGE: "30d" });
    await create(mayfly, "long", { ttl: "10d" });
    await create(mayfly, "short", { ttl: "5d" });
    await days(mayfly, 5);
    await minutes(mayfly, 5);
    const kinds = async (name: string) =>
      z
        .object({ events: z.array(z.object({ kind: z.string() })) })
        .parse((await mayfly.send("GET", `/v1/events?machine=${name}`)).body)
        .events.map(({ kind }) => kind);
    expect(servers(mayfly)).toHaveLength(1);
    expect(await kinds("long")).toEqual(["created", "requested"]);
    expect(await kinds("short")).toEqual(["destroyed", "created", "requested"]);
  });

  it("forgets no machine that is not in the ledger, or that could still be promised more", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    const ended = { phase: "destroyed", status: "destroyed", destroyedAt: NOW } as const;
    const putEnded = (uid: string, more: object = {}) =>
      putMachine({ ...ended, uid, providerId: uid, createdAt: NOW, ...more });
    await putEnded("old");
    await putEnded("promised", { maxUntil: NOW + 9 * DAY });
    await putEnded("unpriced", { priceMicroEur: null });
    await env.DB.exec("DELETE FROM catalogues");
    mayfly.simulator.fault({ method: "GET", path: "/(pricing|server_types)$", status: 503, times: 999 });
    await days(mayfly, 3);
    const left = await env.DB.prepare("SELECT uid FROM machines ORDER BY uid").all();
    expect(left.results).toEqual([{ uid: "promised" }, { uid: "unpriced" }]);
  });

  it("keeps what was given up, which only its row keeps from being tried again, and a revoked token until it would have expired", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    await putResource({ uid: "given-up", phase: "failed", reason: "given_up", deletedAt: NOW });
    await putResource({ uid: "gone", phase: "deleted", deletedAt: NOW });
    await mayfly.tokenOf("ci");
    await env.DB.prepare("UPDATE tokens SET revoked_at = ?").bind(NOW).run();
    await days(mayfly, 3);
    expect((await env.DB.prepare("SELECT uid FROM resources").all()).results).toEqual([{ uid: "given-up" }]);
    expect(await countOf("tokens")).toBe(1);
  });

  it("adds the days of a month to it once all of it is old: usage says the same, by day one sum for the month", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "2d" });
    await create(mayfly, "a", { ttl: "20h" });
    await days(mayfly, 1);
    await minutes(mayfly, 20);
    const asked = ["by=owner", "by=server_type", "by=day"].map((by) => `?month=2026-11&${by}`);
    const before = await Promise.all(asked.map((query) => usage(mayfly, query)));
    expect(before[2]?.entries).toMatchObject([{ day: "2026-11-30", hours: 12 }]);
    await days(mayfly, 1);
    expect(await usage(mayfly, asked[2])).toEqual(before[2]);
    await days(mayfly, 2);
    const after = await Promise.all(asked.map((query) => usage(mayfly, query)));
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    const [entry] = before[2]?.entries ?? [];
    expect(after[2]).toEqual({
      ...before[2],
      entries: [{ month: "2026-11", hours: 12, cost_eur: entry?.["cost_eur"] }],
    });
    // December's are days still.
    expect((await usage(mayfly, "?month=2026-12")).entries).toMatchObject([{ day: "2026-12-01" }]);
  });

  it("of more than a hundred days' sums loses none", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    const numbers = `[${Array.from({ length: 250 }, (_, index) => index + 1).join()}]`;
    await env.DB.exec(
      `INSERT INTO charges SELECT '2026-09-' || (10 + value % 3), 'a', 'o' || (value / 3), 'cx23', 1, value, 1 FROM json_each('${numbers}')`,
    );
    const before = await usage(mayfly, "?month=2026-09&by=owner");
    mayfly.advance(61 * MINUTE);
    const left: number[] = [];
    for (let tick = 0; tick < 4; tick++) {
      await minutes(mayfly, 1);
      left.push(await countOf("charges WHERE length(period) = 10"));
      expect(await usage(mayfly, "?month=2026-09&by=owner")).toEqual(before);
    }
    expect(left).toEqual([150, 50, 0, 0]);
  });

  it("goes on in the next tick where there is more, and rests for an hour where there is not", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    for (let index = 0; index < 250; index++) await put("events", { at: NOW - 2 * DAY, event: "token_minted" });
    mayfly.advance(61 * MINUTE);
    const left: number[] = [];
    for (let tick = 0; tick < 3; tick++) {
      await minutes(mayfly, 1);
      left.push(await countOf("events"));
    }
    expect(left).toEqual([150, 50, 0]);
    await put("events", { at: NOW - 2 * DAY, event: "token_minted" });
    await minutes(mayfly, 59);
    expect(await countOf("events")).toBe(1);
    await minutes(mayfly, 2);
    expect(await countOf("events")).toBe(0);
  });

  it("that cannot be read keeps no machine alive, and forgets nothing", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await minutes(mayfly, 2);
    mayfly.configure({ KEEP_HISTORY: "soon" });
    await days(mayfly, 40);
    expect(servers(mayfly)).toEqual([]);
    expect(await countOf("machines")).toBe(1);
    expect((await mayfly.send("GET", "/v1/machines")).body).toMatchObject({
      code: "misconfigured",
      field: "KEEP_HISTORY",
    });
  });

  it("forgets nothing in a dry run", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    await create(mayfly, "a");
    await days(mayfly, 1);
    mayfly.advance(2 * DAY);
    const before = [await countOf("machines"), await countOf("events")];
    await mayfly.tick(mayfly.now(), true);
    expect([await countOf("machines"), await countOf("events")]).toEqual(before);
    await mayfly.tick();
    expect(await countOf("machines")).toBe(0);
  });

  it("is a phase like the others: where D1 refuses it, the sweep has done all else", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    await create(mayfly, "a");
    mayfly.advance(3 * HOUR);
    mayfly.configure({ DB: refusing(env.DB, /DELETE FROM (machines|events|sweeps)/) });
    const report = await mayfly.tick();
    expect(report?.phases.map(({ phase, failure }) => [phase, failure === null])).toEqual([
      ["expire", true],
      ["reap", true],
      ["settle", true],
      ["reconcile", true],
      ["orphans", true],
      ["history", false],
    ]);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("a machine whose tombstone was forgotten", () => {
  it("and that lands so late lives for the least that an adopted one does", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    const { id } = await create(mayfly, "a");
    await minutes(mayfly, 2);
    await destroy(mayfly, "a");
    await days(mayfly, 3);
    expect(await countOf("machines")).toBe(0);
    const late = lostRow("a", id.slice(4), {}, 0);
    mayfly.simulator.addServer({ ...late, created: new Date(mayfly.now()).toISOString() });
    await minutes(mayfly, 5);
    expect(servers(mayfly)).toHaveLength(1);
    await minutes(mayfly, 45);
    expect(servers(mayfly)).toEqual([]);
    expect((await mayfly.send("GET", "/v1/events?since=1h")).body).toMatchObject({
      events: [{ kind: "destroyed", reason: "expired" }, { kind: "adopted" }],
    });
  });

  it("and that was there all along is past its end by its labels and its age: it is destroyed", async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: "1d" });
    const { id } = await create(mayfly, "a");
    await minutes(mayfly, 2);
    const [server] = servers(mayfly);
    await destroy(mayfly, "a");
    await days(mayfly, 3);
    mayfly.simulator.addServer({ name: "a", created: server?.created ?? "", labels: server?.labels ?? {} });
    expect(server?.labels?.["mayfly-uid"]).toBe(id.slice(4));
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
  });
});

it("what is old is found by an index, without a scan or a sort", async () => {
  const plans: string[] = [];
  const explain = async ({ text, params }: Statement) => {
    const plan = await onD1(env.DB).rows({ text: `EXPLAIN QUERY PLAN ${text}`, params });
    plans.push(...plan.map(({ detail }) => String(detail)));
    return [];
  };
  const batch = (statements: readonly Statement[]) => Promise.all(statements.map(explain));
  const { history } = openStore(asD1({ rows: explain, batch }, env.DB), () => {});
  for (const forget of Object.values(history)) await forget({ before: NOW, now: NOW, limit: 9 });
  // Of reports the first hundred are read, by their numbers.
  const scans = plans.filter(
    (detail) => /^SCAN|TEMP B-TREE/.test(detail) && !/^SCAN (sweeps$|\(subquery)|GROUP BY/.test(detail),
  );
  expect(scans).toEqual([]);
  for (const index of ["machines_by_ending", "events_by_time", "resources_by_ending", "charges_by_day"])
    expect(plans.some((detail) => detail.includes(index))).toBe(true);
});
