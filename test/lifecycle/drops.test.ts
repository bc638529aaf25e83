import { describe, expect, it } from "vitest";
import { BODY, createMayfly, HOUR, MINUTE, type Mayfly, servers, minutes } from "../mayfly.ts";

/**
 * An invocation that the platform drops: its next await never settles, so that no catch and no finally runs. Every await of
 * the provider and of D1 passes `step`; which ones there are is counted, not listed.
 */
function interruptible(mayfly: Mayfly) {
  let steps = 0;
  let dropAt = Infinity;
  let isDead = false;
  let announce = () => {};
  let dropped = new Promise<void>(() => {});

  const step = async <T>(effect: () => Promise<T>): Promise<T> => {
    if (isDead) return new Promise<T>(() => {});
    const before = ++steps;
    if (before === dropAt) return die();
    const result = await effect();
    const after = ++steps;
    return after === dropAt ? die() : result;
  };
  const die = <T>(): Promise<T> => {
    isDead = true;
    announce();
    return new Promise<T>(() => {});
  };

  const { simulator, bindings } = mayfly;
  const fetch = simulator.fetch.bind(simulator);
  const database = bindings.DB;
  const wrapped = new Proxy(database, {
    get(target, key: keyof D1Database) {
      if (key === "prepare") return (text: string) => statement(target.prepare(text));
      if (key === "batch") return (list: Wrapped[]) => step(() => target.batch(list.map(({ real }) => real)));
      return target[key];
    },
  });
  interface Wrapped {
    real: D1PreparedStatement;
  }
  const statement = (real: D1PreparedStatement): Wrapped & Record<string, unknown> => ({
    real,
    bind: (...params: unknown[]) => statement(real.bind(...params)),
    all: () => step(() => real.all()),
    run: () => step(() => real.run()),
    first: () => step(() => real.first()),
  });

  return {
    /** Runs an invocation and drops it at that step; answers how many steps it had, and whether it came to its end. */
    async run(act: () => Promise<unknown>, at: number): Promise<{ steps: number; ended: boolean }> {
      steps = 0;
      dropAt = at;
      isDead = false;
      dropped = new Promise((resolve) => (announce = resolve));
      mayfly.configure({ DB: wrapped });
      simulator.fetch = (request) => step(() => fetch(request));
      const ended = await Promise.race([act().then(() => true), dropped.then(() => false)]);
      mayfly.configure({ DB: database });
      simulator.fetch = fetch;
      return { steps, ended };
    },
  };
}

const put = (mayfly: Mayfly, name = "box", ttl = "2h") => mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl });

/** Rows that hold a name, and so quota. */
const liveRows = async (mayfly: Mayfly) =>
  (await mayfly.store.machines.list({ owner: null, statuses: [], labels: [], page: 1, perPage: 50 })).rows;

/** At most one machine, and then under a row of its own with owner and lease; or none and no row that holds anything. */
async function expectWhole(mayfly: Mayfly, what: string) {
  const rows = await liveRows(mayfly);
  const machines = servers(mayfly);
  expect(machines.length, what).toBeLessThanOrEqual(1);
  expect(rows.length, what).toBe(machines.length);
  const [row] = rows;
  const [machine] = machines;
  if (row === undefined || machine === undefined) return;
  expect(row, what).toMatchObject({ phase: "active", owner: "admin", providerId: String(machine.id) });
  expect(machine.labels, what).toMatchObject({
    "mayfly-uid": row.uid,
    "mayfly-owner": "admin",
    "mayfly-expires": String(Math.floor(row.expiresAt / 1000)),
  });
}

const STEPS_EXPECTED_AT_LEAST = 8;

/** Drops `act` at every one of its steps in turn, each time in a world of its own that `prepare` has set up. */
async function dropEverywhere(
  prepare: (mayfly: Mayfly) => Promise<unknown>,
  act: (mayfly: Mayfly) => Promise<unknown>,
  check: (mayfly: Mayfly, what: string) => Promise<void>,
): Promise<void> {
  for (let at = 1; ; at++) {
    const mayfly = createMayfly();
    const { DB } = mayfly.bindings;
    const tables = ["machines", "events", "sweeps", "reap_failures", "tombstones"];
    await DB.batch([
      ...tables.map((table) => DB.prepare(`DELETE FROM ${table}`)),
      DB.prepare("UPDATE locks SET held_until = 0"),
    ]);
    await prepare(mayfly);
    const { steps, ended } = await interruptible(mayfly).run(() => act(mayfly), at);
    // Past the last step there is nothing left to drop; fewer than these would mean that they are not counted.
    if (ended && steps >= STEPS_EXPECTED_AT_LEAST && at === steps + 1) return;
    if (ended) throw new Error(`it came to its end in ${steps} steps, though it was to be dropped at step ${at}`);
    await check(mayfly, `dropped at step ${at}`);
  }
}

describe("the Worker dropped at any await, before or after its effect", () => {
  it("of a create: after the next sweeps one machine under its lease, or none and no row", async () => {
    await dropEverywhere(
      async () => {},
      (mayfly) => put(mayfly),
      async (mayfly, what) => {
        await minutes(mayfly, 20);
        await expectWhole(mayfly, what);
        expect([200, 201]).toContain((await put(mayfly)).status);
        await minutes(mayfly, 1);
        await expectWhole(mayfly, `${what}, then repeated`);
        expect(servers(mayfly)).toHaveLength(1);
      },
    );
  });

  it("of a create that its caller repeats at once: one machine", async () => {
    await dropEverywhere(
      async () => {},
      (mayfly) => put(mayfly),
      async (mayfly, what) => {
        expect([200, 201], what).toContain((await put(mayfly)).status);
        mayfly.advance(MINUTE);
        expect([200, 201], what).toContain((await put(mayfly)).status);
        await minutes(mayfly, 1);
        await expectWhole(mayfly, what);
        expect(servers(mayfly), what).toHaveLength(1);
      },
    );
  });

  it("of a renew: the lease is the old or the new one, the label follows, and it ends with it", async () => {
    await dropEverywhere(
      (mayfly) => put(mayfly, "box", "10m"),
      (mayfly) => mayfly.send("POST", "/v1/machines/box/renew", { ttl: "1h" }),
      async (mayfly, what) => {
        await minutes(mayfly, 5);
        await expectWhole(mayfly, what);
        expect(servers(mayfly), what).toHaveLength(1);
        mayfly.advance(HOUR);
        await minutes(mayfly, 2);
        expect(servers(mayfly), what).toEqual([]);
        expect(await liveRows(mayfly), what).toEqual([]);
      },
    );
  });

  it("of a destroy: the machine lives on untouched, or is gone with its row", async () => {
    await dropEverywhere(
      (mayfly) => put(mayfly),
      (mayfly) => mayfly.send("DELETE", "/v1/machines/box"),
      async (mayfly, what) => {
        await minutes(mayfly, 3);
        await expectWhole(mayfly, what);
        expect((await mayfly.send("DELETE", "/v1/machines/box")).status, what).toBe(200);
        await minutes(mayfly, 2);
        expect([servers(mayfly), await liveRows(mayfly)], what).toEqual([[], []]);
      },
    );
  });

  it("of a sweep: what is due dies with the next ones, once, and nothing else does", async () => {
    await dropEverywhere(
      async (mayfly) => {
        await put(mayfly, "due", "60s");
        await put(mayfly, "box", "4h");
        mayfly.advance(2 * MINUTE);
      },
      (mayfly) => mayfly.tick(),
      async (mayfly, what) => {
        await minutes(mayfly, 4);
        await expectWhole(mayfly, what);
        expect(servers(mayfly)[0]?.labels, what).toMatchObject({ "mayfly-name": "box" });
      },
    );
  });
});
