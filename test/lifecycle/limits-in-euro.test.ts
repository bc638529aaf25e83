import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { PolicyEntry } from "../../src/auth/policy.ts";
import { monthsBetween, ratesOf, UNKNOWN_PRICES } from "../../src/machine/money.ts";
import { createMayfly, HOUR, machineIn, minutes, NOW, servers, type Answer, type Mayfly } from "../mayfly.ts";
import { putMachine } from "../store/tables.ts";

// An hour of cx23 in fsn1 costs 0.010472, of an IPv4 address 0.000952: together 0.011424.
const BODY = { server_type: "cx23", region: "fsn1" };
const HOURLY = 0.011424;

const refusal = z.object({
  code: z.literal("limit_money"),
  policy: z.string(),
  rule: z.string(),
  next: z.string(),
  figures: z.object({
    limit: z.number(),
    used: z.number(),
    asked: z.number(),
    unit: z.literal("EUR"),
    month: z.string().optional(),
  }),
  machines: z.array(
    z.object({ name: z.string(), owner: z.string(), expires_at: z.string(), cost_eur: z.number().nullable() }),
  ),
});
const told = ({ status, body }: Answer) => ({ status, ...refusal.parse(body) });
const put = (mayfly: Mayfly, name: string, token?: string, more: object = {}) =>
  mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ...more }, token);
/** With these policies, MAX_EUR_PER_MONTH as it is by default, and a catalogue that is known. */
async function limited(policies: readonly PolicyEntry[], settings: Record<string, string> = {}) {
  const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "", ...settings }, { policies });
  await mayfly.send("GET", "/v1/server_types");
  return mayfly;
}
/** The database is empty, and a while later new tokens are minted. */
async function loseD1<T>(mayfly: Mayfly, mint: () => Promise<T>): Promise<T> {
  await mayfly.bindings.DB.batch(
    ["machines", "tokens", "settings", "charges", "charged_months"].map((table) =>
      mayfly.bindings.DB.prepare(`DELETE FROM ${table}`),
    ),
  );
  await minutes(mayfly, 35);
  return mint();
}
/** The most whole cents that do not let so many hours through. */
const justUnder = (hours: number) => ((Math.ceil((hours * 11_424) / 10_000) - 1) / 100).toFixed(2);
/** What so many hours come to, as a limit that just lets them through. */
const eur = (hours: number) => Number((hours * HOURLY).toFixed(6));

describe("I6: an hour of an account's machines costs no more than its policy allows", () => {
  it("of twenty creates at once under a limit of two machines' price, two come to be, ten times", async () => {
    const mayfly = await limited([{ name: "two", eur_per_hour: eur(2) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "two" });
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 20 }, (_, index) => `r${round}-${index}`);
      const statuses = await Promise.all(names.map(async (name) => (await put(mayfly, name, alice)).status));
      expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 201, ...Array.from({ length: 18 }, () => 429)]);
      expect(servers(mayfly)).toHaveLength(2);
      await mayfly.send("POST", "/v1/teardown", {}, alice);
      await minutes(mayfly, 2);
      expect(servers(mayfly)).toHaveLength(0);
    }
  });

  it("is refused with the rule, the figures and the account's machines, and nobody is called", async () => {
    const mayfly = await limited([{ name: "one", eur_per_hour: eur(1.5) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "one" });
    await put(mayfly, "box", alice);
    const calls = mayfly.simulator.requests().length;
    const answer = await put(mayfly, "more", alice);
    expect(told(answer)).toMatchObject({
      status: 429,
      policy: "one",
      rule: "must not cost more an hour than the policy allows (eur_per_hour)",
      figures: { limit: eur(1.5), used: HOURLY, asked: HOURLY },
      machines: [{ name: "box", owner: "tok.alice", cost_eur: HOURLY }],
    });
    expect(answer.headers.get("Retry-After")).toBe("60");
    expect(mayfly.simulator.requests()).toHaveLength(calls);
    // Without an address it is cheaper, and a smaller sum may fit.
    expect((await put(mayfly, "more", alice, { enable_ipv4: false })).status).toBe(429);
  });

  it("does not send whoever has no machine to destroy one", async () => {
    const mayfly = await limited([{ name: "half", eur_per_hour: eur(0.5) }]);
    expect(told(await put(mayfly, "box", await mayfly.tokenOf("alice", { policy: "half" })))).toMatchObject({
      machines: [],
      next: "Ask for less (a shorter ttl, a cheaper type), or have an admin raise the limit.",
    });
  });

  it("counts the dearest of a create's candidates while it is being made", async () => {
    const mayfly = await limited([{ name: "one", eur_per_hour: eur(1) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "one" });
    const answer = await put(mayfly, "box", alice, { server_type: ["cx23", "cx33"] });
    expect(told(answer).figures.asked).toBeGreaterThan(HOURLY);
    expect((await put(mayfly, "box", alice, { server_type: ["cx23"] })).status).toBe(201);
  });

  it("does not bind the admin, nor another account", async () => {
    const mayfly = await limited([{ name: "one", eur_per_hour: eur(1) }]);
    const [alice, bob] = [
      await mayfly.tokenOf("alice", { policy: "one" }),
      await mayfly.tokenOf("bob", { policy: "one" }),
    ];
    expect((await put(mayfly, "a", alice)).status).toBe(201);
    expect((await put(mayfly, "b", alice)).status).toBe(429);
    expect((await put(mayfly, "b", bob)).status).toBe(201);
    expect((await put(mayfly, "b")).status).toBe(201);
  });
});

describe("I6: a month of an account's machines costs no more than its policy allows", () => {
  it("of twenty creates at once under a limit of two leases, two come to be, ten times, and what was spent stays spent", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(20) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 20 }, (_, index) => `r${round}-${index}`);
      // A lease of an hour may reach into a second one by the time that a sweep has ended it: each fits once.
      const ttl = round < 9 ? `${9 - round}h` : "30m";
      const statuses = await Promise.all(names.map(async (name) => (await put(mayfly, name, alice, { ttl })).status));
      expect(statuses.filter((status) => status === 201)).toHaveLength(2);
      expect(servers(mayfly)).toHaveLength(2);
      await mayfly.send("POST", "/v1/teardown", {}, alice);
      await minutes(mayfly, 2);
      expect(mayfly.simulator.bill().total_micro_eur).toBeLessThanOrEqual(20 * 11_424);
    }
    // Each of the twenty has cost an hour.
    expect(mayfly.simulator.bill().total_micro_eur).toBe(20 * 11_424);
    expect(told(await put(mayfly, "last", alice, { ttl: "5m" })).figures).toMatchObject({
      used: eur(20),
      asked: HOURLY,
    });
  });

  it("of twenty creates at once of two accounts and the admin no more come to be than MAX_EUR_PER_MONTH lets, ten times, with the database lost in between", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: 9, machines: 99 }]);
    const mint = async () => [
      await mayfly.tokenOf("alice", { policy: "some" }),
      await mayfly.tokenOf("bob", { policy: "some" }),
      undefined,
    ];
    let tokens = await mint();
    let spent = 0;
    for (let round = 0; round < 10; round++) {
      // Four more than what was spent, and a rest that is too little for a fifth.
      mayfly.configure({ MAX_EUR_PER_MONTH: justUnder(spent + 5) });
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          put(mayfly, `r${round}-${index}`, tokens[(index + round) % 3], { ttl: "50m" }),
        ),
      );
      expect(all.filter(({ status }) => status === 201)).toHaveLength(4);
      if (round === 4) {
        tokens = await loseD1(mayfly, mint);
        // What was spent by machines that are gone is lost with it.
        spent = 0;
      }
      // Those that live still fill what they filled.
      mayfly.configure({ MAX_EUR_PER_MONTH: justUnder(spent + 5) });
      expect((await put(mayfly, "more", tokens[0], { ttl: "5m" })).body).toMatchObject({ code: "limit_money" });
      for (const token of tokens) await mayfly.send("POST", "/v1/teardown", {}, token);
      await minutes(mayfly, 2);
      expect(servers(mayfly)).toHaveLength(0);
      spent += 4;
    }
  });

  it("of all machines names the setting and the figures, and of the machines only the account's own", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: 1 }], { MAX_EUR_PER_MONTH: "0.05" });
    const tokens = [await mayfly.tokenOf("alice", { policy: "some" }), await mayfly.tokenOf("bob", { policy: "some" })];
    for (const [index, token] of [...tokens, undefined, undefined].entries())
      expect((await put(mayfly, `m${index}`, token, { ttl: "30m" })).status).toBe(201);
    expect(told(await put(mayfly, "more", tokens[1], { ttl: "30m" }))).toMatchObject({
      rule: "must not cost more in 2026-11 than all machines together may (MAX_EUR_PER_MONTH)",
      figures: { limit: 0.05, used: eur(4), asked: HOURLY, month: "2026-11" },
      machines: [{ owner: "tok.bob" }],
    });
  });

  it("is 100 EUR of all machines, and of each account, where nothing is set", async () => {
    const mayfly = await limited([], { MAX_AGE: "30d", MAX_MACHINES: "99999" });
    const alice = await mayfly.tokenOf("alice");
    // Twelve hours before the month's end: the next month is what fills up, at its price of 6.53 + 0.60.
    const statuses: number[] = [];
    for (let index = 0; index < 16; index++)
      statuses.push((await put(mayfly, `m${index}`, alice, { ttl: "30d" })).status);
    expect(statuses).toEqual([...Array.from({ length: 14 }, () => 201), 429, 429]);
    expect(told(await put(mayfly, "more", alice, { ttl: "30d" })).figures).toMatchObject({
      limit: 100,
      month: "2026-12",
    });
    expect((await put(mayfly, "short", alice, { ttl: "1h" })).status).toBe(201);
  });

  it("counts the hours of a lease in the month in which each begins, so that each month is held against its own sum", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(10) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    mayfly.advance(3 * HOUR);
    // Nine of its hours begin in this month, and one more than its lease has by the time that a sweep has ended it.
    expect(told(await put(mayfly, "a", alice, { ttl: "20h" })).figures).toMatchObject({
      asked: eur(12),
      month: "2026-12",
    });
    expect(told(await put(mayfly, "a", alice, { ttl: "1139m" })).figures).toMatchObject({
      asked: eur(11),
      month: "2026-12",
    });
    expect((await put(mayfly, "a", alice, { ttl: "1130m" })).status).toBe(201);
    expect(told(await put(mayfly, "b", alice, { ttl: "2h" })).figures).toMatchObject({
      used: eur(9),
      month: "2026-11",
    });
    expect((await put(mayfly, "b", alice, { ttl: "50m" })).status).toBe(201);
  });

  it("is not passed by a renewal: the end stays where it was, and who asks is told", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(4) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    const { expires_at } = machineIn(await put(mayfly, "box", alice, { ttl: "150m" }));
    const renew = (ttl: string) => mayfly.send("POST", "/v1/machines/box/renew", { ttl }, alice);
    expect(told(await renew("5h"))).toMatchObject({
      rule: "must not cost more in 2026-11 than the policy allows (eur_per_month)",
      figures: { limit: eur(4), used: eur(3), asked: eur(3) },
    });
    expect(machineIn(await mayfly.send("GET", "/v1/machines/box", undefined, alice)).expires_at).toBe(expires_at);
    expect((await renew("210m")).status).toBe(200);
    // Within the same started hour it costs nothing more.
    expect((await renew("220m")).status).toBe(200);
    expect((await renew("270m")).status).toBe(429);
    expect((await renew("1h")).status).toBe(200);
  });

  it("is passed by one of two renewals at once, not by both", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(3) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    for (const name of ["a", "b"]) await put(mayfly, name, alice, { ttl: "30m" });
    const renewed = await Promise.all(
      ["a", "b"].map((name) => mayfly.send("POST", `/v1/machines/${name}/renew`, { ttl: "90m" }, alice)),
    );
    expect(renewed.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 429]);
  });

  it("is not passed by a machine that was to be kept after its job failed: it is destroyed, and the answer says why", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(4) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    await put(mayfly, "box", alice, { ttl: "30m", keep_on_failure: "5h" });
    const answer = await mayfly.send("DELETE", "/v1/machines/box?outcome=failure", undefined, alice);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      machine: { status: "destroyed" },
      not_kept: {
        code: "limit_money",
        rule: "must not cost more in 2026-11 than the policy allows (eur_per_month)",
        figures: { limit: eur(4), used: HOURLY, asked: eur(5) },
      },
    });
    await put(mayfly, "other", alice, { ttl: "30m", keep_on_failure: "90m" });
    const kept = await mayfly.send("DELETE", "/v1/machines/other?outcome=failure", undefined, alice);
    expect(kept.body).toHaveProperty("kept_until");
    expect(kept.body).not.toHaveProperty("not_kept");
  });
});

describe("I6: what sweeps find is never refused and always counted", () => {
  const MOST = { name: "shared", eur_per_month: eur(10), account: "policy" } as const;
  const isFull = async (mayfly: Mayfly, token: string, used: number) =>
    expect(told(await put(mayfly, "more", token, { ttl: "30m" })).figures).toMatchObject({
      limit: eur(10),
      used: eur(used),
    });

  it("adopted machines, after the loss of D1, by the account that their label tells", async () => {
    const mayfly = await limited([MOST]);
    const tokenOf = (owner: string) => mayfly.tokenOf(owner, { policy: "shared" });
    for (const owner of ["alice", "bob"])
      expect((await put(mayfly, "box", await tokenOf(owner), { ttl: "290m" })).status).toBe(201);
    await isFull(mayfly, await tokenOf("carol"), 10);
    await mayfly.bindings.DB.batch(
      ["machines", "tokens", "settings", "catalogues"].map((table) =>
        mayfly.bindings.DB.prepare(`DELETE FROM ${table}`),
      ),
    );
    await minutes(mayfly, 35);
    await isFull(mayfly, await tokenOf("carol"), 10);
  });

  it("a machine that was given up as lost, and is seen again", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "590m" });
    const [server] = servers(mayfly);
    await mayfly.bindings.DB.prepare(
      "UPDATE machines SET phase = 'destroyed', status = 'destroyed', reason = 'lost', destroyed_at = ?",
    )
      .bind(mayfly.now())
      .run();
    expect((await put(mayfly, "more", alice, { ttl: "30m" })).status).toBe(201);
    await mayfly.send("DELETE", "/v1/machines/more", undefined, alice);
    await minutes(mayfly, 35);
    expect(servers(mayfly)).toEqual([expect.objectContaining({ id: server?.id })]);
    await isFull(mayfly, alice, 11);
  });

  it("a second machine of one uid, that somebody made by hand from the first one's labels", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "290m" });
    const [server] = servers(mayfly);
    await mayfly.simulator.fetch(
      new Request("https://api.hetzner.cloud/v1/servers", {
        method: "POST",
        headers: { Authorization: `Bearer ${mayfly.bindings.HCLOUD_TOKEN}`, "Content-Type": "application/json" },
        body: JSON.stringify({
          name: "twin",
          server_type: "cx23",
          location: "fsn1",
          image: "debian-12",
          labels: server?.labels,
        }),
      }),
    );
    expect(servers(mayfly)).toHaveLength(2);
    await minutes(mayfly, 35);
    await isFull(mayfly, alice, 10);
  });

  it("a machine past its end that the provider does not let go, hour by hour", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    await put(mayfly, "box", alice, { ttl: "30m" });
    mayfly.simulator.fault({ method: "DELETE", path: "^/v1/servers/", status: 503, times: 999 });
    const used = async () => (await mayfly.store.limits.spent("pol.shared", monthsOf(mayfly)))[0]?.account;
    const hours: unknown[] = [await used()];
    for (let hour = 0; hour < 3; hour++) {
      mayfly.advance(HOUR);
      await mayfly.tick();
      hours.push(await used());
    }
    expect(hours).toEqual([1, 2, 3, 4].map((count) => count * 11_424));
    expect(mayfly.simulator.bill().total_micro_eur).toBe(3 * 11_424);
  });

  it("a machine that is being made, though nobody has heard of it", async () => {
    const mayfly = await limited([MOST]);
    const alice = await mayfly.tokenOf("alice", { policy: "shared" });
    mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 9 });
    expect((await put(mayfly, "box", alice, { ttl: "590m" })).status).toBe(503);
    await isFull(mayfly, alice, 10);
  });
});
const monthsOf = (mayfly: Mayfly) =>
  monthsBetween(mayfly.now(), mayfly.now()).map(({ month, begins, ends }) => ({
    month,
    begins,
    ends,
    now: mayfly.now(),
    account: null,
    installation: null,
  }));

describe("I6: an unknown price is never free", () => {
  const hidden = async (policies: readonly PolicyEntry[]) => {
    const mayfly = await limited(policies);
    await mayfly.bindings.DB.exec(
      "UPDATE catalogues SET server_types = replace(server_types, '\"priceEurPerHour\":0.010472', '\"priceEurPerHour\":null')",
    );
    return mayfly;
  };

  it("what has none is refused under a limit in euro, whatever the limit, and no row is written", async () => {
    const mayfly = await hidden([{ name: "default", eur_per_month: 999_999 }]);
    const answer = await put(mayfly, "box", await mayfly.tokenOf("alice"));
    expect(answer.body).toMatchObject({
      code: "limit_money",
      rule: "must have a known price (unknown_price)",
      machines: [],
    });
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([429, "60"]);
    expect(await mayfly.store.machines.byName("tok.alice", "box")).toBeNull();
  });

  it("is asked for where the catalogue is not known yet", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    expect((await put(mayfly, "box")).status).toBe(201);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    mayfly.simulator.fault({ method: "GET", path: "/server_types", status: 503, times: 9 });
    expect((await put(mayfly, "other")).body).toMatchObject({ code: "limit_money" });
    expect(servers(mayfly)).toHaveLength(1);
  });

  it("counts as the dearest that is known, where a policy lets it pass", async () => {
    const mayfly = await hidden([{ name: "default", eur_per_month: 999, unknown_price: true }]);
    const alice = await mayfly.tokenOf("alice");
    const { dearestMicroEur: hour, dearestIpv4MicroEur: ipv4 } = await mayfly.store.limits.dearest("hetzner");
    expect(hour ?? 0).toBeGreaterThan(100_000);
    mayfly.configure({ MAX_EUR_PER_MONTH: ((1.5 * ((hour ?? 0) + (ipv4 ?? 0))) / 1e6).toFixed(2) });
    expect((await put(mayfly, "box", alice, { ttl: "90m" })).status).toBe(429);
    expect((await put(mayfly, "box", alice, { ttl: "30m" })).status).toBe(201);
  });

  it("refuses in the words of the limit, however many there are and while no price at all is known", async () => {
    const mayfly = await limited([], { MAX_AGE: "30d" });
    const month = { createdAt: NOW, expiresAt: NOW + 720 * HOUR, maxUntil: NOW + 720 * HOUR };
    for (let id = 1; id <= 10; id++)
      await putMachine({
        uid: `unpriced ${id}`,
        account: "tok.alice",
        providerId: `${id}`,
        ...ratesOf(UNKNOWN_PRICES),
        ...month,
      });
    await mayfly.bindings.DB.exec("UPDATE catalogues SET dearest_micro_eur = NULL, dearest_ipv4_micro_eur = NULL");
    const answer = await put(mayfly, "box", await mayfly.tokenOf("alice"), { ttl: "29d" });
    expect(told(answer).figures.used).toBeGreaterThan(1_000_000);
  });

  it("is no matter where nothing limits money", async () => {
    const mayfly = await hidden([]);
    mayfly.configure({ MAX_EUR_PER_MONTH: "off" });
    expect((await put(mayfly, "box", await mayfly.tokenOf("alice"))).status).toBe(201);
  });

  it("of a project that pays in another currency is a wrong setting, until CURRENCY names it", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    mayfly.simulator.reset({ currency: "USD" });
    const answer = await put(mayfly, "box");
    const rule = "must be USD, which the provider's project pays in: limits go by it";
    expect(answer).toMatchObject({ status: 503, body: { code: "misconfigured", field: "CURRENCY", rule } });
    expect(servers(mayfly)).toHaveLength(0);
    mayfly.configure({ CURRENCY: "USD", MAX_EUR_PER_MONTH: "0.02" });
    mayfly.advance(11 * 60_000);
    expect(machineIn(await put(mayfly, "box", undefined, { ttl: "30m" })).price_eur_per_hour).toBe(HOURLY);
    const refused = await put(mayfly, "other", undefined, { ttl: "30m" });
    expect(refused.body).toMatchObject({ code: "limit_money", figures: { limit: 0.02, unit: "USD" } });
  });
});

describe("I6: a CURRENCY that was wrong and is put right", () => {
  it("is none from then on: prices are asked for anew", async () => {
    const mayfly = createMayfly({ MAX_EUR_PER_MONTH: "" });
    mayfly.simulator.reset({ currency: "USD" });
    expect((await put(mayfly, "box")).body).toMatchObject({ code: "misconfigured" });
    mayfly.configure({ CURRENCY: "USD" });
    expect((await put(mayfly, "box")).status).toBe(201);
  });

  it("has cost no sweep the prices that were known, as far as a create can tell", async () => {
    const mayfly = await limited([]);
    mayfly.configure({ CURRENCY: "euro" });
    mayfly.advance(HOUR);
    await minutes(mayfly, 2);
    mayfly.configure({ CURRENCY: "EUR" });
    expect((await put(mayfly, "box")).status).toBe(201);
  });
});

describe("I10: the limits of an account that a machine's owner has left", () => {
  const POLICIES: PolicyEntry[] = [
    { name: "team", account: "policy" },
    { name: "alone", eur_per_month: eur(14) },
  ];
  async function left(mayfly: Mayfly, act: (alice: string) => Promise<unknown>) {
    const alice = await mayfly.tokenOf("alice", { policy: "team" });
    expect((await put(mayfly, "secret", await mayfly.tokenOf("bob", { policy: "team" }), { ttl: "11h" })).status).toBe(
      201,
    );
    await act(alice);
    return mayfly.tokenOf("alice", { policy: "alone" });
  }

  it("still bind its renewal, and the refusal names none of the others that are there", async () => {
    const mayfly = await limited(POLICIES);
    const alone = await left(mayfly, (alice) => put(mayfly, "mine", alice));
    const renew = (token?: string) => mayfly.send("POST", "/v1/machines/mine/renew", { ttl: "11h" }, token);
    expect(told(await renew(alone)).machines).toMatchObject([{ name: "mine", owner: "tok.alice" }]);
    mayfly.configure({ MAX_EUR_PER_MONTH: "0.16" });
    const byAdmin = await mayfly.send("POST", "/v1/machines/mine/renew?owner=tok.alice", { ttl: "11h" });
    expect(told(byAdmin).machines).toHaveLength(2);
  });

  it("are what a create is refused by that is tried again at a higher price", async () => {
    const mayfly = await limited(POLICIES);
    const alone = await left(mayfly, async (alice) => {
      mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 1 });
      expect((await put(mayfly, "mine", alice, { ttl: "90m" })).status).toBe(503);
    });
    mayfly.simulator.setPrices(400);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    expect(told(await put(mayfly, "mine", alone, { ttl: "90m" })).figures).toMatchObject({ used: eur(14) });
    expect(servers(mayfly)).toHaveLength(1);
  });
});

describe("I6: a create that is tried again", () => {
  it("at a higher price is held against the limits anew, and refused where it no longer fits", async () => {
    const mayfly = await limited([{ name: "some", eur_per_month: eur(3) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "some" });
    const fault = () => mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 503, times: 1 });
    fault();
    expect((await put(mayfly, "box", alice, { ttl: "90m" })).status).toBe(503);
    mayfly.simulator.setPrices(200);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    const answer = await put(mayfly, "box", alice, { ttl: "90m" });
    expect(told(answer).figures).toMatchObject({ limit: eur(3), used: eur(2), asked: eur(2) });
    expect(servers(mayfly)).toHaveLength(0);
    mayfly.simulator.setPrices(150);
    await mayfly.bindings.DB.exec("DELETE FROM catalogues");
    await mayfly.context().driver.priceEurPerHour("fsn1", "cx23");
    expect(machineIn(await put(mayfly, "box", alice, { ttl: "90m" })).price_eur_per_hour).toBe(0.017136);
  });
});
