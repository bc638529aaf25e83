import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { monthNamed } from "../../src/machine/money.ts";
import { spentIn } from "../../src/store/charges.ts";
import { openStore } from "../../src/store/store.ts";
import type { Statement } from "../../src/store/db.ts";
import { become, newDatabase } from "../simulation/world/copies.ts";
import { asD1, onD1 } from "../simulation/world/database.ts";
import { BODY, createMayfly, HOUR, machineIn, MINUTE, minutes, NOW, servers, type Mayfly } from "../mayfly.ts";

const DAY = 24 * HOUR;
/** cx23 in fsn1 with an IPv4 address, an hour, in micro-EUR; and cax11 in hel1. */
const [CX23, CAX11] = [11_424, 10_948];

const usageIn = (body: unknown) =>
  z
    .object({
      usage: z.looseObject({
        hours: z.int(),
        cost_eur: z.number().nullable(),
        estimated_eur: z.number().nullable(),
        reserved_eur: z.number().nullable(),
        machines_live: z.int(),
        entries: z.array(z.looseObject({ cost_eur: z.number().nullable() })),
        more_entries: z.int(),
      }),
    })
    .parse(body).usage;
const usage = async (mayfly: Mayfly, query = "", token?: string) =>
  usageIn((await mayfly.send("GET", `/v1/usage${query}`, undefined, token)).body);
const micro = (eur: number | null): number => Math.round((eur ?? NaN) * 1e6);
const create = async (mayfly: Mayfly, name: string, more: object = {}, token?: string) =>
  machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "20h", ...more }, token));

/** The bill of a month. */
const billOf = (mayfly: Mayfly, month: string): number =>
  mayfly.simulator
    .bill()
    .servers.map(({ months }) => months[month])
    .reduce((total, one) => total + (one ? one.server_micro_eur + one.ipv4_micro_eur : 0), 0);
async function expectAsBilled(mayfly: Mayfly, ...months: string[]): Promise<void> {
  for (const month of months)
    for (const by of ["owner", "day", "server_type"]) {
      const { cost_eur, entries } = await usage(mayfly, `?month=${month}&by=${by}`);
      const parts = entries.reduce((total, one) => total + micro(one.cost_eur), 0);
      expect([month, by, micro(cost_eur), parts]).toEqual([month, by, billOf(mayfly, month), billOf(mayfly, month)]);
    }
}

/** What limits are held against, which is worked out in SQL. */
async function expectAsLimited(mayfly: Mayfly, month: string): Promise<void> {
  const { cost_eur, reserved_eur } = await usage(mayfly, `?month=${month}`);
  const spent = await mayfly.bindings.DB.prepare(`SELECT ${spentIn(null)} AS micro FROM (SELECT ? AS value) AS month`)
    .bind(JSON.stringify({ ...monthNamed(month), now: mayfly.now() }))
    .first("micro");
  expect([month, micro(cost_eur) + micro(reserved_eur)]).toEqual([month, spent]);
}

describe("GET /v1/usage", () => {
  it("says what machines have cost this month: live ones, ended ones, booked ones, by day, type and owner", async () => {
    const mayfly = createMayfly();
    const alice = await mayfly.tokenOf("alice");
    await create(mayfly, "a");
    await create(mayfly, "b", { region: "hel1", server_type: "cax11" }, alice);
    mayfly.advance(2 * HOUR + MINUTE);
    await mayfly.send("DELETE", "/v1/machines/a");
    for (const wait of [0, 16]) {
      await minutes(mayfly, wait);
      const [cost_eur, hours] = [(3 * (CX23 + CAX11)) / 1e6, 6];
      expect(await usage(mayfly)).toEqual({
        month: "2026-11",
        account: null,
        owner: null,
        currency: "EUR",
        hours,
        cost_eur,
        estimated_eur: 0,
        // The month ends twelve hours after NOW; three of them are over.
        reserved_eur: (9 * CAX11) / 1e6,
        machines_live: 1,
        entries: [{ day: "2026-11-30", hours, cost_eur }],
        more_entries: 0,
      });
      const [dearest, other] = [(3 * CX23) / 1e6, (3 * CAX11) / 1e6];
      expect((await usage(mayfly, "?by=server_type")).entries).toEqual([
        { server_type: "cx23", hours: 3, cost_eur: dearest },
        { server_type: "cax11", hours: 3, cost_eur: other },
      ]);
      expect((await usage(mayfly, "?by=owner")).entries).toEqual([
        { owner: "admin", hours: 3, cost_eur: dearest },
        { owner: "tok.alice", hours: 3, cost_eur: other },
      ]);
      expect(await usage(mayfly, "?account=tok.alice")).toMatchObject({ cost_eur: other, account: "tok.alice" });
      expect(await usage(mayfly, "?owner=tok.alice")).toMatchObject({ cost_eur: other, owner: "tok.alice" });
      expect(await usage(mayfly, "?month=2026-12")).toMatchObject({ cost_eur: 0, machines_live: 1, entries: [] });
    }
    await expectAsBilled(mayfly, "2026-11");
  });

  it("is the bill to the micro-EUR over a month's end and at a month's price, with renewals, without IPv4, and of what was adopted", async () => {
    const mayfly = createMayfly({ MAX_AGE: "30d" });
    await create(mayfly, "long", { ttl: "30d" });
    await create(mayfly, "bare", { ttl: "30d", enable_ipv4: false });
    await create(mayfly, "renewed", { ttl: "2d" });
    await create(mayfly, "lost", { ttl: "29d" });
    mayfly.advance(DAY);
    await mayfly.send("POST", "/v1/machines/renewed/renew", { ttl: "3d" });
    await mayfly.bindings.DB.exec("DELETE FROM machines WHERE name = 'lost'");
    await minutes(mayfly, 20);
    await expectAsBilled(mayfly, "2026-11", "2026-12");
    for (let days = 0; days < 32; days++) {
      mayfly.advance(DAY);
      await minutes(mayfly, 2);
    }
    expect(servers(mayfly)).toEqual([]);
    await expectAsBilled(mayfly, "2026-11", "2026-12");
    // What is left of December's price at its end is no whole day.
    const { entries } = await usage(mayfly, "?month=2026-12");
    expect(micro(entries.at(-1)?.cost_eur ?? null)).toBeLessThan(24 * CX23);
  });

  it("is no limit's business where nobody knows a price: null, and where others are known the dearest of them", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await create(mayfly, "b");
    const { DB } = mayfly.bindings;
    await DB.exec("UPDATE machines SET price_micro_eur = NULL, price_month_micro_eur = NULL WHERE name = 'b'");
    await DB.exec("UPDATE catalogues SET dearest_micro_eur = NULL");
    expect(await usage(mayfly, "?by=owner")).toMatchObject({
      hours: 2,
      cost_eur: null,
      estimated_eur: null,
      reserved_eur: null,
      entries: [{ owner: "admin", hours: 2, cost_eur: null }],
    });
    await mayfly.send("GET", "/v1/server_types");
    await DB.exec("UPDATE catalogues SET dearest_micro_eur = 500000");
    expect(await usage(mayfly)).toMatchObject({ cost_eur: 0.512_376, estimated_eur: 0.5 });
  });

  it("counts a create whose end nobody has seen as nothing so far, and as reserved until its end", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.fault({ method: "POST", path: "/servers$", drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "/servers$", status: 503 });
    await mayfly.send("PUT", "/v1/machines/a", { ...BODY, ttl: "2h" });
    // Two hours, and what a sweep may be late.
    const reserved_eur = (3 * CX23) / 1e6;
    expect(await usage(mayfly)).toMatchObject({ hours: 0, cost_eur: 0, machines_live: 1, reserved_eur });
  });

  it("tells 500 owners of many, the dearest, and how many more there are", async () => {
    const mayfly = createMayfly();
    const numbers = `[${Array.from({ length: 503 }, (_, index) => index + 1).join()}]`;
    await mayfly.bindings.DB.exec(
      `INSERT INTO charges SELECT '2026-11-30', 'a', 'tok.' || value, 'cx23', 1, value, 0 FROM json_each('${numbers}')`,
    );
    const { entries, more_entries, hours } = await usage(mayfly, "?by=owner");
    expect([entries.length, more_entries, hours]).toEqual([500, 3, 503]);
    expect([entries[0], entries[499]]).toMatchObject([{ owner: "tok.503" }, { owner: "tok.4" }]);
  });

  it("of more machines than a call can count asks for an account or an owner", async () => {
    const mayfly = createMayfly();
    const { id } = await create(mayfly, "a");
    const { DB } = mayfly.bindings;
    await DB.prepare("UPDATE machines SET booked_at = NULL WHERE uid = ?").bind(id.slice(4)).run();
    const columns =
      "account, provider, provider_name, installation, credential, phase, status, spec_sha256, server_type, region, image, requested_at, expires_at, max_until, price_micro_eur, ipv4_micro_eur, created_at";
    await DB.exec(
      `INSERT INTO machines (uid, owner, name, ${columns}) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 'copy ' || i, 'tok.many', 'copy ' || i, ${columns} FROM n, machines WHERE name = 'a'`,
    );
    expect((await mayfly.send("GET", "/v1/usage")).body).toMatchObject({
      status: 422,
      field: "account",
      rule: "must be said: there are more than 5000 machines to be counted",
    });
    expect((await mayfly.send("GET", "/v1/usage?account=admin")).body).toMatchObject({ status: 422, field: "owner" });
    expect(await usage(mayfly, "?owner=tok.many")).toMatchObject({ machines_live: 5000 });
  });

  it.each([
    ["?month=2026-13", "month"],
    ["?month=2026-1", "month"],
    ["?month=november", "month"],
    ["?month=0001-01", "month"],
    ["?by=region", "by"],
    ["?account=Nobody!", "account"],
    ["?since=1d", "since"],
  ])("%s is refused by name", async (query, field) => {
    const mayfly = createMayfly();
    expect((await mayfly.send("GET", `/v1/usage${query}`)).body).toMatchObject({ status: 422, field });
  });
});

describe("whose usage a caller sees", () => {
  const CONFIGURATION = { policies: [{ name: "team", account: "policy" as const }] };

  it("its account's sum, against which its limits are held, its own, and nobody else's, owner by owner", async () => {
    const mayfly = createMayfly({}, CONFIGURATION);
    const [alice, bob] = await Promise.all(["alice", "bob"].map((name) => mayfly.tokenOf(name, { policy: "team" })));
    const carol = await mayfly.tokenOf("carol");
    await create(mayfly, "a", {}, alice);
    await create(mayfly, "b", { server_type: "cx33" }, bob);
    await create(mayfly, "c", {}, carol);
    const all = await usage(mayfly, "?account=pol.team");
    const own = CX23 / 1e6;
    expect(all.cost_eur).toBeGreaterThan(own);
    for (const query of ["", "?account=pol.team"])
      expect(await usage(mayfly, query, alice)).toMatchObject({
        account: "pol.team",
        owner: null,
        cost_eur: all.cost_eur,
      });
    expect((await usage(mayfly, "?by=owner", alice)).entries).toEqual([
      { owner: "tok.alice", hours: 1, cost_eur: own },
    ]);
    for (const query of ["?owner=tok.alice", "?owner=tok.alice&account=pol.team"])
      expect(await usage(mayfly, query, alice)).toMatchObject({ owner: "tok.alice", cost_eur: own, machines_live: 1 });
    for (const [query, field] of [
      ["?owner=tok.bob", "owner"],
      ["?account=tok.carol", "account"],
      ["?account=admin", "account"],
    ])
      expect((await mayfly.send("GET", `/v1/usage${query}`, undefined, alice)).body).toMatchObject({
        status: 403,
        field,
      });
    expect(await usage(mayfly, "", carol)).toMatchObject({ account: "tok.carol", cost_eur: own });
  });
});

it("an owner with tokens of two policies is told of all that it has, and by account of what it has under each", async () => {
  const mayfly = createMayfly({}, { policies: [{ name: "team", account: "policy" as const }] });
  const plain = await mayfly.tokenOf("alice");
  await create(mayfly, "a", {}, plain);
  await create(mayfly, "b", {}, await mayfly.tokenOf("alice", { policy: "team" }));
  expect((await usage(mayfly, "?owner=tok.alice", plain)).machines_live).toBe(2);
  for (const query of ["", "?account=tok.alice", "?owner=tok.alice&account=tok.alice"])
    expect((await usage(mayfly, query, plain)).machines_live).toBe(1);
});

/** How D1 goes about it. */
async function planOf(filter: { account: string | null; owner: string | null }): Promise<string> {
  const plans: string[] = [];
  const explain = async ({ text, params }: Statement) => {
    plans.push(JSON.stringify(await onD1(env.DB).rows({ text: `EXPLAIN QUERY PLAN ${text}`, params })));
    return [];
  };
  const batch = (statements: readonly Statement[]) => Promise.all(statements.map(explain));
  const store = openStore(asD1({ rows: explain, batch }, env.DB), () => {});
  await store.ledger.ofMonth({ ...filter, month: "2026-11", ends: NOW, part: "day" }, 9);
  await store.ledger.toBook(9);
  return plans.join();
}

it.each([
  { account: null, owner: null },
  { account: "a", owner: null },
  { account: null, owner: "o" },
  { account: "a", owner: "o" },
])("reads no more than a month's sums and the rows that are not booked: %j", async (filter) => {
  const plan = await planOf(filter);
  expect(plan).toMatch(/SEARCH charges USING PRIMARY KEY \(period>\? AND period<\?\)/);
  expect(plan).toContain("machines_unbooked");
  expect(plan).toContain("machines_to_book");
  expect(plan).not.toMatch(/SCAN (charges|machines)(?! USING INDEX)/);
});

type Act =
  | { readonly kind: "create"; readonly ttl: number; readonly isBare: boolean; readonly region: string }
  | { readonly kind: "renew" | "destroy" | "lose" | "forget"; readonly which: number }
  | { readonly kind: "wait"; readonly minutes: number };
const which = fc.nat(5);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    kind: fc.constant("create" as const),
    ttl: fc.integer({ min: 1, max: 40 }),
    isBare: fc.boolean(),
    region: fc.constantFrom("fsn1", "hel1"),
  }),
  fc.record({ kind: fc.constantFrom("renew" as const, "destroy" as const, "lose" as const, "forget" as const), which }),
  fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 1, max: 15 * 60 }) }),
);

/** One step of a history; `lose` closes a row as a look does that misses its machine, `forget` books all that has ended. */
async function play(mayfly: Mayfly, one: Act, number: number): Promise<void> {
  if (one.kind === "create")
    return void (await create(mayfly, `m${number}`, {
      ttl: `${one.ttl}h`,
      enable_ipv4: !one.isBare,
      region: one.region,
    }));
  if (one.kind === "wait") {
    mayfly.advance(one.minutes * MINUTE);
    // An inventory pass sees the machines, and then the rows.
    return minutes(mayfly, 3);
  }
  if (one.kind === "forget") return minutes(mayfly, 16);
  const live = (await mayfly.store.machines.list({ owner: null, labels: [], statuses: [], page: 1, perPage: 50 })).rows;
  const row = live[one.which % Math.max(1, live.length)];
  if (row === undefined) return;
  if (one.kind === "renew") await mayfly.send("POST", `/v1/machines/mch_${row.uid}/renew`, { ttl: "30h" });
  else if (one.kind === "destroy") await mayfly.send("DELETE", `/v1/machines/mch_${row.uid}`);
  else await mayfly.store.endings.close([{ uid: row.uid, reason: "lost", phase: "destroyed" }], mayfly.now());
}

it("whatever lives machines have, and whenever their ends are booked: the sums come to the bill", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 14 }), async (history) => {
      await become(onD1(env.DB), newDatabase(NOW));
      const mayfly = createMayfly({ MAX_AGE: "72h" });
      for (const [number, one] of history.entries()) await play(mayfly, one, number);
      for (const month of ["2026-11", "2026-12"]) await expectAsLimited(mayfly, month);
      // All are found again, end, and are proven gone.
      for (let round = 0; round < 6; round++) {
        mayfly.advance(15 * HOUR);
        await minutes(mayfly, 3);
      }
      await minutes(mayfly, 20);
      expect(servers(mayfly)).toEqual([]);
      await expectAsBilled(mayfly, "2026-11", "2026-12");
    }),
    { numRuns: 12 },
  );
});
