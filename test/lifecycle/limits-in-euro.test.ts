import { describe, expect, it } from "vitest";
import { HOUR, machineIn, minutes, servers } from "../mayfly.ts";
import { eur, HOURLY, justUnder, limited, loseD1, put, told, tenTimesTwenty, TWO_EACH } from "./limited.ts";

describe("I6: an hour of an account's machines costs no more than its policy allows", () => {
  it("of twenty creates at once under a limit of two machines' price, two come to be, ten times", async () => {
    const mayfly = await limited([{ name: "two", eur_per_hour: eur(2) }]);
    const alice = await mayfly.tokenOf("alice", { policy: "two" });
    expect(await tenTimesTwenty(mayfly, alice, (name) => put(mayfly, name, alice))).toEqual(TWO_EACH);
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
