import { describe, expect, it } from "vitest";
import { readSweepConfig } from "../../src/config.ts";
import { openInvocation, openSweep, runSweep } from "../../src/invocation.ts";
import { createProviders } from "../../src/providers.ts";
import { behind, between, held, watchFlight, type Flight } from "../behind.ts";
import {
  BODY,
  createMayfly,
  HOUR,
  minutes,
  MINUTE,
  NOW,
  OURS,
  refusing,
  SECOND,
  servers,
  type Mayfly,
} from "../mayfly.ts";

const SSH = { direction: "in", protocol: "tcp", port: "22" };
const PAID = { PLAN: "paid" };
const put = (mayfly: Mayfly, name: string, ttl = "60s") => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl });

/** So many machines, the first of which ends first; all are past their end. */
async function due(count: number, settings: Record<string, string> = {}): Promise<Mayfly> {
  const mayfly = createMayfly(settings);
  for (let number = 0; number < count; number++) {
    await put(mayfly, `m${number}`);
    mayfly.advance(100);
  }
  mayfly.advance(2 * MINUTE);
  return mayfly;
}

const idsOf = (mayfly: Mayfly): number[] => servers(mayfly).map(({ id }) => id);
const itemsOf = (report: Awaited<ReturnType<Mayfly["tick"]>>, phase = "expire") =>
  report?.phases.find((one) => one.phase === phase)?.items ?? [];
const names = (count: number): string[] => Array.from({ length: count }, (_, number) => `m${number}`);
const those = ({ begun }: Flight, pattern: RegExp): string[] => begun.filter((call) => pattern.test(call));
/** Calls that end in another order than they came in. */
const disordered = (call: number): number => (call * 7) % 11;

describe("under way at once are five calls, and never six", () => {
  it("where expire deletes and proves: the first to end goes first, and each is told in that order", async () => {
    const mayfly = await due(12, PAID);
    const ids = idsOf(mayfly);
    const flight = watchFlight(mayfly, disordered);
    const report = await mayfly.tick();
    expect(flight.most).toBe(5);
    expect(those(flight, /^DELETE/)).toEqual(ids.map((id) => `DELETE servers/${id}`));
    expect(flight.ended).not.toEqual(flight.begun);
    expect(itemsOf(report).map(({ name, outcome }) => [name, outcome])).toEqual(
      names(12).map((name) => [name, "destroyed"]),
    );
    expect(servers(mayfly)).toEqual([]);
    const { begun } = flight;
    const lastDelete = begun.findLastIndex((call) => call.startsWith("DELETE"));
    expect(lastDelete).toBeLessThan(begun.findIndex((call) => /^GET servers\/\d/.test(call)));
  });

  it("where settle looks at what the provider agreed to delete", async () => {
    const mayfly = await due(9);
    mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/\\d+$", times: 9, status: 503 });
    expect(itemsOf(await mayfly.tick()).map(({ outcome }) => outcome)).toEqual(Array(9).fill("accepted"));
    mayfly.simulator.clearFaults();
    mayfly.advance(MINUTE);
    const flight = watchFlight(mayfly, disordered);
    const report = await mayfly.tick();
    expect([flight.most, those(flight, /^GET servers\/\d/).length]).toEqual([5, 9]);
    expect(itemsOf(report, "settle").map(({ name, outcome }) => [name, outcome])).toEqual(
      names(9).map((name) => [name, "destroyed"]),
    );
  });

  it.each([3600, 50])(
    "where labels follow their leases, with %i calls left of the provider's rate limit",
    async (left) => {
      const mayfly = createMayfly(PAID);
      for (const name of names(7)) await put(mayfly, name, "1h");
      await minutes(mayfly, 1);
      mayfly.simulator.fault({ method: "PUT", path: "^/v1/servers/", times: 7, status: 503 });
      for (const name of names(7)) await mayfly.send("POST", `/v1/machines/${name}/renew`, { ttl: "9h" });
      between(mayfly, async (request, real) => {
        const answer = await real(request);
        answer.headers.set("RateLimit-Remaining", String(left));
        return answer;
      });
      await mayfly.send("POST", "/v1/machines/m0/renew", { ttl: "9h" });
      mayfly.advance(MINUTE);
      const flight = watchFlight(mayfly);
      await mayfly.tick();
      expect([flight.most, those(flight, /^PUT servers/).length]).toEqual([5, 7]);
      expect(servers(mayfly).map(({ labels }) => Number(labels?.["mayfly-expires"]) > NOW / 1000 + 8 * 3600)).toEqual(
        Array(7).fill(true),
      );
    },
  );

  it.each(["with D1", "without D1"])(
    "where reap reads again and deletes, %s: each read comes before its delete",
    async (how) => {
      const mayfly = createMayfly(PAID);
      if (how === "without D1") mayfly.configure({ DB: refusing(mayfly.bindings.DB, /./) });
      for (let number = 0; number < 12; number++)
        mayfly.simulator.addServer({
          name: `m${number}`,
          labels: { ...OURS, "mayfly-name": `m${number}` },
          created: new Date(NOW - 30 * HOUR + number * SECOND).toISOString(),
        });
      const ids = idsOf(mayfly);
      const flight = watchFlight(mayfly, disordered);
      const report = await mayfly.tick();
      expect(flight.most).toBe(5);
      expect(servers(mayfly)).toEqual([]);
      const reads = those(flight, /^GET servers\/\d/);
      expect(reads.filter((call, index) => reads.indexOf(call) === index)).toEqual(
        ids.map((id) => `GET servers/${id}`),
      );
      for (const id of ids)
        expect(flight.begun.indexOf(`DELETE servers/${id}`)).toBeGreaterThan(flight.ended.indexOf(`GET servers/${id}`));
      expect(itemsOf(report, "reap").map(({ name, outcome }) => [name, outcome])).toEqual(
        names(12).map((name) => [name, "destroyed"]),
      );
    },
  );

  it("where an inventory pass looks by id at what was absent before", async () => {
    const mayfly = createMayfly(PAID);
    for (const name of names(32)) await put(mayfly, name, "9h");
    await minutes(mayfly, 16);
    for (const id of idsOf(mayfly).slice(0, 6)) await behind(mayfly, "DELETE", `/servers/${id}`);
    await minutes(mayfly, 17);
    const flight = watchFlight(mayfly, disordered);
    await minutes(mayfly, 16);
    expect([flight.most, those(flight, /^GET servers\/\d/).length]).toEqual([5, 6]);
  });

  it("where it destroys what landed late, of which the blast cap lets the first five die", async () => {
    const mayfly = createMayfly(PAID);
    for (const name of names(8)) await put(mayfly, name, "9h");
    await mayfly.bindings.DB.prepare("UPDATE machines SET phase='failed', status='destroyed', provider_id=NULL").run();
    const ids = idsOf(mayfly);
    const flight = watchFlight(mayfly, disordered);
    mayfly.advance(16 * MINUTE);
    const report = await mayfly.tick();
    expect(flight.most).toBe(5);
    expect(idsOf(mayfly)).toEqual(ids.slice(5));
    expect(itemsOf(report, "reconcile").map(({ name, outcome, reason }) => [name, outcome, reason])).toEqual([
      ...names(5).map((name) => [name, "destroyed", "late_landing"]),
      ...names(8)
        .slice(5)
        .map((name) => [name, "alert", "held"]),
    ]);
  });

  it("where firewalls go that nobody uses", async () => {
    const mayfly = createMayfly(PAID);
    for (const name of names(7)) await mayfly.send("POST", "/v1/firewalls", { name, rules: [SSH], ttl: "5m" });
    await minutes(mayfly, 5);
    const flight = watchFlight(mayfly, disordered);
    await minutes(mayfly, 1);
    expect([flight.most, those(flight, /^DELETE firewalls/).length]).toEqual([5, 7]);
    expect(held(mayfly)).toEqual([0, 0, 0, 0]);
  });

  it("where an owner ends several by their labels", async () => {
    const mayfly = createMayfly();
    for (const name of names(5))
      await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "1h", labels: { run: "7" } });
    await minutes(mayfly, 1);
    const flight = watchFlight(mayfly);
    expect((await mayfly.send("DELETE", "/v1/machines?label_selector=run%3D7")).status).toBe(202);
    expect(flight.most).toBe(5);
    expect(servers(mayfly)).toEqual([]);
  });
});

describe("each is paid for before it begins", () => {
  /** A sweep in an invocation that has spent so many calls already. */
  async function sweepAfter(mayfly: Mayfly, fetches: number) {
    const { runtime, bindings } = mayfly;
    const invocation = openInvocation(runtime, createProviders(), bindings.DB);
    const context = openSweep(invocation, readSweepConfig(bindings), mayfly.now());
    context.meter.fetches = fetches;
    return runSweep(runtime, context, { startedBy: "cron", dryRun: false });
  }

  const endedIn = (report: Awaited<ReturnType<Mayfly["tick"]>>, phase: string) =>
    itemsOf(report, phase).filter(({ outcome }) => /^(accepted|destroyed)$/.test(outcome)).length;

  it("whatever calls are left to expire: none too many, and whatever was begun is told and written down", async () => {
    // The list is asked for whatever is left.
    for (let left = 2; left <= 18; left++) {
      const mayfly = await due(6, PAID);
      const flight = watchFlight(mayfly, disordered);
      const report = await sweepAfter(mayfly, 500 - left);
      expect(flight.begun.length, `${left} calls left`).toBeLessThanOrEqual(left);
      // Eight are for the phases behind, a list takes one, and one is kept for a look: as many die as one after the other would.
      const deletes = Math.min(6, Math.max(0, left - 8 - 1 - 1));
      expect(those(flight, /^DELETE/), `${left} calls left`).toHaveLength(deletes);
      expect(endedIn(report, "expire"), `${left} calls left`).toBe(deletes);
      const { results } = await mayfly.bindings.DB.prepare(
        "SELECT count(*) AS open FROM machines WHERE phase = 'destroying' AND delete_accepted_at IS NULL",
      ).all();
      expect(results, `${left} calls left`).toEqual([{ open: 0 }]);
      await reset(mayfly);
    }
  });

  it("whatever calls are left to reap, likewise", async () => {
    for (let left = 1; left <= 24; left++) {
      const mayfly = createMayfly(PAID);
      const old = { labels: OURS, created: new Date(NOW - 30 * HOUR).toISOString() };
      for (const name of names(8)) mayfly.simulator.addServer({ name, ...old });
      const flight = watchFlight(mayfly, disordered);
      const report = await sweepAfter(mayfly, 500 - left);
      expect(flight.begun.length, `${left} calls left`).toBeLessThanOrEqual(left);
      // Four are for the phases behind, a list takes one; each asks for three, and takes two.
      const deletes = Math.min(8, Math.max(0, Math.floor((left - 4 - 1 - 3) / 2) + 1));
      expect(those(flight, /^DELETE/), `${left} calls left`).toHaveLength(deletes);
      expect(endedIn(report, "reap"), `${left} calls left`).toBe(deletes);
      await reset(mayfly);
    }
  });
});

async function reset({ bindings: { DB } }: Mayfly): Promise<void> {
  await DB.batch([DB.prepare("DELETE FROM machines"), DB.prepare("DELETE FROM reap_failures")]);
}

describe("what goes wrong in the middle", () => {
  it("with one machine is told of that one alone", async () => {
    const mayfly = await due(8);
    const stuck = idsOf(mayfly)[2];
    mayfly.simulator.fault({ method: "DELETE", path: `^/v1/servers/${stuck}$`, status: 423, code: "locked" });
    watchFlight(mayfly, disordered);
    const told = itemsOf(await mayfly.tick()).map(({ name, outcome, reason }) => [name, outcome, reason]);
    expect(told).toEqual(
      names(8).map((name) => (name === "m2" ? [name, "error", "locked"] : [name, "destroyed", "expired"])),
    );
    expect(idsOf(mayfly)).toEqual([stuck]);
  });

  it("with all, a 429, begins no more: what is under way ends, is told and is written down", async () => {
    const mayfly = await due(12);
    const refused = idsOf(mayfly)[2];
    const flight = watchFlight(mayfly, (call) => (call === 4 ? 0 : 5));
    mayfly.simulator.fault({
      method: "DELETE",
      path: `^/v1/servers/${refused}$`,
      status: 429,
      code: "rate_limit_exceeded",
    });
    const report = await mayfly.tick();
    expect(those(flight, /^DELETE/)).toHaveLength(5);
    expect(itemsOf(report).map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ["accepted", "expired"],
      ["accepted", "expired"],
      ["error", "rate_limited"],
      ["accepted", "expired"],
      ["accepted", "expired"],
      ...Array.from({ length: 7 }, () => ["remaining", "refused"]),
    ]);
    expect(report?.phases[0]?.failure).toContain("429");
    const { results } = await mayfly.bindings.DB.prepare(
      "SELECT name FROM machines WHERE delete_accepted_at IS NOT NULL OR phase = 'destroyed' ORDER BY expires_at",
    ).all();
    expect(results.map(({ name }) => name)).toEqual(["m0", "m1", "m3", "m4"]);
  });

  it("with the lock: who has lost it begins no more, tells what was under way, and writes nothing over the other's", async () => {
    const mayfly = await due(12, PAID);
    const ids = idsOf(mayfly);
    let calls = 0;
    let other: Awaited<ReturnType<Mayfly["tick"]>> = null;
    between(mayfly, async (request, real) => {
      if (request.method !== "DELETE") return real(request);
      calls += 1;
      if (calls !== 5) {
        // The other four end after the fifth, in which another sweep does all that there is to do.
        if (calls < 5) await until(() => other !== null);
        return real(request);
      }
      mayfly.advance(91 * SECOND);
      other = await mayfly.tick();
      return real(request);
    });
    const report = await mayfly.tick();
    expect(itemsOf(other).map(({ outcome }) => outcome)).toEqual(Array(12).fill("destroyed"));
    expect(itemsOf(report).map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ...Array.from({ length: 5 }, () => ["accepted", "expired"]),
      ...Array.from({ length: 7 }, () => ["remaining", "lock_lost"]),
    ]);
    const { results } = await mayfly.bindings.DB.prepare(
      "SELECT provider_id, count(*) AS times FROM events JOIN machines USING (uid) WHERE event = 'destroyed' GROUP BY 1",
    ).all();
    expect(results).toEqual(ids.map((id) => ({ provider_id: String(id), times: 1 })));
  });

  it.each([
    ["the results", /delete_accepted_at = \?2|ending\.value/, 0],
    ["the lock's renewal", /UPDATE locks SET held_until/, 6],
  ])("with D1, which refuses %s: what was done is told, and not done again", async (what, pattern, seconds) => {
    const mayfly = await due(8);
    const { DB } = mayfly.bindings;
    mayfly.configure({ DB: refusing(DB, pattern) });
    let isFirst = true;
    const flight = watchFlight(mayfly, disordered);
    between(mayfly, async (request, real) => {
      if (request.method === "DELETE" && isFirst) {
        isFirst = false;
        mayfly.advance(seconds * SECOND);
      }
      return real(request);
    });
    const report = await mayfly.tick();
    expect(report?.phases[0]?.failure).toBe("the database does not answer");
    const deleted = those(flight, /^DELETE/);
    expect(deleted.length, what).toBeGreaterThanOrEqual(1);
    const told = itemsOf(report).filter(({ outcome }) => /accepted|destroyed/.test(outcome));
    expect(told.map(({ providerId }) => `DELETE servers/${providerId}`)).toEqual(deleted.slice(0, told.length));
    expect(told.length).toBeGreaterThanOrEqual(1);
    mayfly.configure({ DB });
    await minutes(mayfly, 3);
    expect(servers(mayfly)).toEqual([]);
    const all = those(flight, /^DELETE/);
    expect(new Set(all).size).toBe(all.length);
    const { results } = await DB.prepare("SELECT count(*) AS live FROM machines WHERE phase <> 'destroyed'").all();
    expect(results).toEqual([{ live: 0 }]);
  });
});

/** Lets turns of the event loop pass until something has happened. */
async function until(has: () => boolean): Promise<void> {
  while (!has()) await scheduler.wait(1);
}

it("the blast cap counts one after the other, though five are looked at at once", async () => {
  const mayfly = createMayfly(PAID);
  for (const name of names(9)) await put(mayfly, name, "9h");
  mayfly.advance(MINUTE);
  for (const id of idsOf(mayfly)) await behind(mayfly, "POST", `/servers/${id}/actions/poweroff`);
  mayfly.advance(20 * MINUTE);
  watchFlight(mayfly, disordered);
  const report = await mayfly.tick();
  expect(itemsOf(report, "settle").map(({ name, reason }) => [name, reason])).toEqual(
    names(9).map((name, index) => [name, index < 5 ? "launch_failed" : "held"]),
  );
  expect(servers(mayfly)).toHaveLength(4);
});
