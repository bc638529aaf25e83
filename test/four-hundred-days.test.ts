import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { BODY, createMayfly, HOUR, machineIn, machinesIn, MINUTE, minutes, servers, type Mayfly } from "./mayfly.ts";
import { putResource } from "./store/tables.ts";
import { TABLES } from "./empty-database.ts";
import { counting } from "./rows.ts";

const DAY = 24 * HOUR;
const DAYS = 400;
/** Each real job stands for so many: once it is over its rows are copied, as if as many others had run beside it. */
const LIKE_IT = 150;
const JOBS_A_DAY = 2 * LIKE_IT;
const KEPT_DAYS = 30;
/** By then as much is forgotten each day as comes; how things stand is looked at here, and so often from here on. */
const STEADY_AFTER = 2 * KEPT_DAYS + 5;
const LOOK_EVERY = 67;
const OPEN = { rules: [{ direction: "in", protocol: "tcp", port: "22" }] };

/** The rows of jobs that are over, as often as `LIKE_IT` says. What stands for others has a `~` in its key. */
async function multiply(now: number): Promise<void> {
  const others = `WITH RECURSIVE other(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM other WHERE n < ${LIKE_IT - 1})`;
  const copyOf = async (table: string, key: string, changed: Record<string, string>, which: string) => {
    const { results } = await env.DB.prepare(`SELECT name FROM pragma_table_info('${table}')`).all<{ name: string }>();
    const columns = results.map(({ name }) => name).filter((name) => name !== "id");
    const values = columns.map((name) => changed[name] ?? `one.${name}`);
    return env.DB.prepare(
      `INSERT INTO ${table} (${columns.join(", ")}) ${others} SELECT ${values.join(", ")} FROM ${table} AS one, other
       WHERE one.${key} NOT LIKE '%~%' AND one.name IS NOT 'measured' AND ${which} AND NOT EXISTS (SELECT 1 FROM ${table} AS it WHERE it.${key} = one.${key} || '~1')`,
    );
  };
  const uid = "one.uid || '~' || n";
  const ended = "(SELECT destroyed_at FROM machines WHERE machines.uid = one.uid) IS NOT NULL";
  await env.DB.batch([
    await copyOf("events", "uid", { uid }, ended),
    await copyOf(
      "machines",
      "uid",
      {
        uid,
        name: "one.name || '-' || n",
        provider_name: uid,
        provider_id: "one.provider_id || '000' || n",
        booked_at: "NULL",
        booked_hours: "0",
      },
      "one.destroyed_at IS NOT NULL",
    ),
    await copyOf(
      "resources",
      "uid",
      { uid, name: "one.name || '-' || n", provider_name: uid },
      "one.deleted_at IS NOT NULL AND one.reason IS NOT 'given_up'",
    ),
    await copyOf("tombstones", "name", { name: "one.name || '~' || n" }, "true"),
    env.DB.prepare(
      `INSERT INTO deliveries (uid, hook, delivery, owner, name, act, rank, labels, state, received_at, finished_at)
       ${others} SELECT 'event-' || ?1 || '-' || n, 'ci', n, 'hook.ci', 'job', 'create', ?1, '{}', 'done', ?1, ?1 FROM other`,
    ).bind(now),
  ]);
}

/** A day: two jobs, one that its owner ends and one that is left to its lease, and the ticks that it takes to be done with all. */
async function live(mayfly: Mayfly, day: number, token: string): Promise<void> {
  for (const job of ["ended", "left"])
    machineIn(
      await mayfly.send("PUT", `/v1/machines/${job}-${day}`, { ...BODY, ttl: "20m", firewalls: [OPEN] }, token),
    );
  mayfly.advance(10 * MINUTE);
  await mayfly.send("DELETE", `/v1/machines/ended-${day}?tombstone=1h`, undefined, token);
  mayfly.advance(15 * MINUTE);
  await minutes(mayfly, 1);
  mayfly.advance(HOUR);
  await minutes(mayfly, 1);
  await multiply(mayfly.now());
  mayfly.advance(HOUR);
  await minutes(mayfly, 12);
  mayfly.advance(DAY - (mayfly.now() % DAY));
}

const rowsOf = async (): Promise<Record<string, number>> => {
  const counts = TABLES.map((table) => env.DB.prepare(`SELECT count(*) AS rows FROM ${table}`));
  const answers = await env.DB.batch<{ rows: number }>(counts);
  return Object.fromEntries(TABLES.map((table, index) => [table, answers[index]?.results[0]?.rows ?? 0]));
};

/** What the usual calls and a tick read. */
async function readsOf(mayfly: Mayfly, token: string): Promise<Record<string, number>> {
  const { db, rows } = counting(env.DB);
  const read: Record<string, number> = {};
  const measure = async (what: string, act: () => Promise<unknown>) => {
    const before = rows.read;
    await act();
    read[what] = rows.read - before;
  };
  // The night was silent: whoever creates first would sweep.
  await minutes(mayfly, 1);
  mayfly.configure({ DB: db });
  await measure("GET", () => mayfly.send("GET", "/v1/machines/measured", undefined, token));
  await measure("list", () => mayfly.send("GET", "/v1/machines", undefined, token));
  await measure("create", () => mayfly.send("PUT", "/v1/machines/measured", BODY, token));
  await measure("destroy", () => mayfly.send("DELETE", "/v1/machines/measured", undefined, token));
  await measure("tick", () => minutes(mayfly, 1));
  mayfly.configure({ DB: env.DB });
  return read;
}

/** All that is charged of an owner in a year and a half, in started hours. */
async function hoursOf(mayfly: Mayfly, owner: string): Promise<number> {
  const usage = z.object({ usage: z.object({ hours: z.int() }) });
  let hours = 0;
  for (let month = 0; month < 18; month++) {
    const named = new Date(Date.UTC(2026, 10 + month, 1)).toISOString().slice(0, 7);
    hours += usage.parse((await mayfly.send("GET", `/v1/usage?month=${named}&owner=${owner}`)).body).usage.hours;
  }
  return hours;
}

it(
  "over 400 days of 300 jobs a day rows and reads stay as they were, and nothing that lives or is to be remembered is lost",
  { timeout: 900_000 },
  async () => {
    const mayfly = createMayfly({ KEEP_HISTORY: `${KEPT_DAYS}d`, MAX_AGE: "30d" });
    mayfly.advance(DAY - (mayfly.now() % DAY));
    // What was given up stands at the provider, and is known by its row alone.
    await putResource({
      uid: "given-up",
      owner: "tok.bob",
      phase: "failed",
      reason: "given_up",
      deletedAt: mayfly.now(),
    });
    const looks: Look[] = [];
    const tokens = new Map<string, string>();
    let stays = "";
    for (let day = 0; day < DAYS; day++) {
      if (day % KEPT_DAYS === 0) {
        for (const owner of ["alice", "bob"]) tokens.set(owner, await mayfly.tokenOf(owner));
        stays = `stays-${day}`;
        machineIn(
          await mayfly.send(
            "PUT",
            `/v1/machines/${stays}`,
            { ...BODY, ttl: "29d", firewalls: [OPEN] },
            tokens.get("bob"),
          ),
        );
      }
      await live(mayfly, day, tokens.get("alice") ?? "");
      if (day >= STEADY_AFTER && (day - STEADY_AFTER) % LOOK_EVERY === 0)
        looks.push({ rows: await rowsOf(), reads: await readsOf(mayfly, tokens.get("alice") ?? "") });
    }

    const [steady, ...later] = looks;
    expect(later.length).toBeGreaterThan(0);
    for (const look of later)
      expect(look).toEqual({ rows: atMost({ ...steady?.rows, ...SUMS }), reads: atMost(steady?.reads) });
    // A machine of every day, those of a month.
    expect(await rowsSince("machines", "destroyed_at", mayfly.now() - KEPT_DAYS * DAY)).toBeGreaterThanOrEqual(
      (KEPT_DAYS - 1) * JOBS_A_DAY,
    );
    expect(await hoursOf(mayfly, "tok.alice")).toBe(DAYS * JOBS_A_DAY + looks.length);
    const alive = machinesIn(await mayfly.send("GET", "/v1/machines", undefined, tokens.get("bob")));
    expect([alive.map(({ name }) => name), servers(mayfly).length]).toEqual([[stays], 1]);
    expect((await mayfly.send("GET", `/v1/events?machine=${stays}`, undefined, tokens.get("bob"))).body).toMatchObject({
      events: [{ kind: "created" }, { kind: "requested" }],
    });
    expect(await rowsSince("resources", "requested_at", 0, "reason = 'given_up'")).toBe(1);
  },
);

interface Look {
  readonly rows: Readonly<Record<string, number>>;
  readonly reads: Readonly<Record<string, number>>;
}

/** Two owners' days of two months, and the months of two owners, which stay. */
const SUMS = { charges: 2 * 62 + 2 * 14, charged_months: 3 * 14 };
/** A few more, of what happened to come together on that day. */
const atMost = (counts: Look["rows"] = {}) =>
  Object.fromEntries(
    Object.entries(counts).map(([what, count]) => [
      what,
      expect.toSatisfy((now: number) => now <= count * 1.02 + 10, `at most about ${count}`),
    ]),
  );

const rowsSince = async (table: string, column: string, since: number, which = "true"): Promise<number> =>
  z
    .int()
    .parse(
      await env.DB.prepare(`SELECT count(*) AS rows FROM ${table} WHERE ${column} >= ? AND ${which}`)
        .bind(since)
        .first("rows"),
    );
