import { describe, expect, it } from "vitest";
import * as z from "zod";
import { between } from "../behind.ts";
import { BODY, createMayfly, HOUR, machineIn, MINUTE, minutes, NOW, servers, type Mayfly } from "../mayfly.ts";

const create = async (mayfly: Mayfly, name: string, more: object = {}, token?: string) =>
  machineIn(await mayfly.send("PUT", `/v1/machines/${name}`, { ...BODY, ttl: "20h", ...more }, token));
const destroy = (mayfly: Mayfly, name: string) => mayfly.send("DELETE", `/v1/machines/${name}`);

const rowOf = async (mayfly: Mayfly, name: string) =>
  (await mayfly.store.machines.byName("admin", name)) ?? expect.fail(`there is no row of ${name}`);

/** What is booked: of each day, and of each month. */
async function booked(mayfly: Mayfly) {
  const { DB } = mayfly.bindings;
  const days = await DB.prepare("SELECT * FROM charges ORDER BY period, account, owner, server_type").all();
  const months = await DB.prepare("SELECT * FROM charged_months ORDER BY month, account").all();
  return { days: days.results, months: months.results };
}
const months = z.array(z.object({ micro_eur: z.int() }));
const sumOf = async (mayfly: Mayfly) =>
  months.parse((await booked(mayfly)).months).reduce((total, { micro_eur }) => total + micro_eur, 0);

/** Until what has ended is booked, however the quarter of an hour lies. */
const untilBooked = (mayfly: Mayfly) => minutes(mayfly, 16);
/** What a price counts as that nobody knows; a catalogue has it once it was read. */
const knowDearest = (mayfly: Mayfly, hour: number, ipv4: number) =>
  mayfly.bindings.DB.prepare("UPDATE catalogues SET dearest_micro_eur = ?, dearest_ipv4_micro_eur = ?")
    .bind(hour, ipv4)
    .run();

describe("what has ended is booked", () => {
  it("by the day in which its hours began, account, owner and type, and by month and account: just what the provider charges", async () => {
    const mayfly = createMayfly({ MAX_AGE: "48h" });
    const alice = await mayfly.tokenOf("alice");
    mayfly.advance(17 * MINUTE);
    await create(mayfly, "a", { ttl: "40h" });
    await create(mayfly, "b", { ttl: "40h", enable_ipv4: false });
    await create(mayfly, "c", { ttl: "40h", region: "hel1", server_type: "cax11" }, alice);
    // The month ends twelve hours after NOW.
    mayfly.advance(15 * HOUR);
    await destroy(mayfly, "a");
    await destroy(mayfly, "b");
    await mayfly.send("DELETE", "/v1/machines/c", undefined, alice);
    expect((await booked(mayfly)).days).toEqual([]);
    await untilBooked(mayfly);
    const zero = { estimated_micro_eur: 0 };
    const [admin, owner] = ["admin", "tok.alice"];
    const [cx23, cax11] = [11_424 + 10_472, 9996 + 952];
    expect(await booked(mayfly)).toEqual({
      days: [
        {
          period: "2026-11-30",
          account: admin,
          owner: admin,
          server_type: "cx23",
          hours: 24,
          micro_eur: 12 * cx23,
          ...zero,
        },
        {
          period: "2026-11-30",
          account: owner,
          owner,
          server_type: "cax11",
          hours: 12,
          micro_eur: 12 * cax11,
          ...zero,
        },
        {
          period: "2026-12-01",
          account: admin,
          owner: admin,
          server_type: "cx23",
          hours: 6,
          micro_eur: 3 * cx23,
          ...zero,
        },
        { period: "2026-12-01", account: owner, owner, server_type: "cax11", hours: 3, micro_eur: 3 * cax11, ...zero },
      ],
      months: [
        { month: "2026-11", account: admin, micro_eur: 12 * cx23 },
        { month: "2026-11", account: owner, micro_eur: 12 * cax11 },
        { month: "2026-12", account: admin, micro_eur: 3 * cx23 },
        { month: "2026-12", account: owner, micro_eur: 3 * cax11 },
      ],
    });
    expect(await sumOf(mayfly)).toBe(mayfly.simulator.bill().total_micro_eur);
  });

  it("once, however often it is looked for", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await destroy(mayfly, "a");
    await untilBooked(mayfly);
    await create(mayfly, "b");
    await destroy(mayfly, "b");
    await minutes(mayfly, 60);
    expect(await sumOf(mayfly)).toBe(2 * 11_424);
  });

  it("of many that ended at once fifty a tick, one tick after the other", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await destroy(mayfly, "a");
    const { DB } = mayfly.bindings;
    const columns = z
      .array(z.object({ name: z.string() }))
      .parse((await DB.prepare("SELECT name FROM pragma_table_info('machines')").all()).results)
      .map(({ name }) => name)
      .filter((name) => name !== "uid")
      .join(", ");
    await DB.exec(
      `INSERT INTO machines (uid, ${columns}) SELECT 'copy ' || value, ${columns} FROM machines, json_each('[${Array.from({ length: 119 }, (_, index) => index).join()}]')`,
    );
    const left: number[] = [];
    mayfly.advance(14 * MINUTE);
    for (let tick = 0; tick < 4; tick++) {
      await minutes(mayfly, 1);
      const rows = await DB.prepare("SELECT uid FROM machines WHERE booked_at IS NULL").all();
      left.push(rows.results.length);
    }
    expect(left).toEqual([70, 20, 0, 0]);
    expect(await sumOf(mayfly)).toBe(120 * 11_424);
  });

  it("at nothing where it never was at the provider", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.fault({ method: "POST", path: "/servers$", status: 422, code: "invalid_input", times: 9 });
    expect((await mayfly.send("PUT", "/v1/machines/a", BODY)).status).toBe(422);
    await untilBooked(mayfly);
    expect(await booked(mayfly)).toEqual({ days: [], months: [] });
    const [row] = (await mayfly.bindings.DB.prepare("SELECT phase, booked_at, booked_hours FROM machines").all())
      .results;
    expect(row).toMatchObject({ phase: "failed", booked_hours: 0 });
    expect(row?.["booked_at"]).not.toBeNull();
  });

  it("from when it was asked for where nobody knows when it was made", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    mayfly.advance(2 * HOUR);
    await mayfly.bindings.DB.exec("UPDATE machines SET created_at = NULL");
    mayfly.simulator.fault({ method: "GET", path: "/servers/\\d+$", status: 404, code: "not_found", times: 9 });
    await destroy(mayfly, "a");
    await untilBooked(mayfly);
    expect(await sumOf(mayfly)).toBe(2 * 11_424);
  });

  it("at the dearest known price where its own is unknown, which the sums tell apart; and while there is none it waits, and keeps no other from it", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "known");
    await create(mayfly, "unknown");
    await create(mayfly, "address");
    const { DB } = mayfly.bindings;
    await DB.exec("UPDATE machines SET price_micro_eur = NULL, price_month_micro_eur = NULL WHERE name = 'unknown'");
    await DB.exec("UPDATE machines SET ipv4_micro_eur = NULL WHERE name = 'address'");
    await DB.exec("DELETE FROM catalogues");
    mayfly.simulator.fault({ method: "GET", path: "/(pricing|server_types)$", status: 503, times: 99 });
    for (const name of ["unknown", "address", "known"]) await destroy(mayfly, name);
    await untilBooked(mayfly);
    expect((await booked(mayfly)).days).toMatchObject([{ hours: 1, micro_eur: 11_424, estimated_micro_eur: 0 }]);
    mayfly.simulator.clearFaults();
    await mayfly.send("GET", "/v1/server_types");
    await knowDearest(mayfly, 500_000, 2000);
    await untilBooked(mayfly);
    const [estimated, micro_eur] = [500_000 + 2000, 11_424 + 500_952 + 12_472];
    expect((await booked(mayfly)).days).toMatchObject([{ hours: 3, micro_eur, estimated_micro_eur: estimated }]);
    expect((await booked(mayfly)).months).toMatchObject([{ month: "2026-11", micro_eur }]);
  });
});

describe("a booking", () => {
  it("adds nothing of a row that was booked, opened again or ended otherwise since it was read", async () => {
    const mayfly = createMayfly();
    for (const name of ["booked", "open", "other", "same"]) await create(mayfly, name);
    for (const name of ["booked", "open", "other", "same"]) await destroy(mayfly, name);
    const { DB } = mayfly.bindings;
    const { ledger } = mayfly.store;
    const bookings = (await ledger.toBook(9)).map(({ uid, bookedHours }) => ({
      uid,
      bookedHours,
      destroyedAt: NOW,
      hours: 1,
      charges: [{ day: "2026-11-30", hours: 1, microEur: 7, estimatedMicroEur: 0 }],
    }));
    expect(bookings).toHaveLength(4);
    await DB.exec("UPDATE machines SET destroyed_at = " + NOW);
    await DB.exec("UPDATE machines SET booked_at = 1 WHERE name = 'booked'");
    await DB.exec("UPDATE machines SET destroyed_at = NULL, phase = 'active' WHERE name = 'open'");
    await DB.exec("UPDATE machines SET destroyed_at = destroyed_at + 1 WHERE name = 'other'");
    await ledger.book(bookings, NOW);
    await ledger.book(bookings, NOW);
    expect((await booked(mayfly)).days).toMatchObject([{ hours: 1, micro_eur: 7 }]);
    const marked = await DB.prepare("SELECT name FROM machines WHERE booked_at = ?").bind(NOW).all();
    expect(marked.results).toEqual([{ name: "same" }]);
  });

  it("that fails halfway adds nothing and marks nothing, and comes a tick later; the sweep tells it and does the rest", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await destroy(mayfly, "a");
    mayfly.advance(16 * MINUTE);
    await mayfly.bindings.DB.exec(
      "CREATE TRIGGER no_marks BEFORE UPDATE OF booked_at ON machines BEGIN SELECT raise(ABORT, 'no'); END",
    );
    const report = await mayfly.tick();
    expect(report?.phases.at(-1)).toMatchObject({ phase: "history", failure: "the database does not answer" });
    expect(await booked(mayfly)).toEqual({ days: [], months: [] });
    await mayfly.bindings.DB.exec("DROP TRIGGER no_marks");
    await minutes(mayfly, 1);
    expect(await sumOf(mayfly)).toBe(11_424);
  });

  it("is made by no dry run", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    await destroy(mayfly, "a");
    mayfly.advance(16 * MINUTE);
    await mayfly.tick(mayfly.now(), true);
    expect(await booked(mayfly)).toEqual({ days: [], months: [] });
    await mayfly.tick();
    expect(await sumOf(mayfly)).toBe(11_424);
  });
});

describe("a machine that outlives the end of its row", () => {
  /** Closes the row of a machine, which lives on, as a look does that misses it. */
  async function lose(mayfly: Mayfly, name: string, phase: "destroyed" | "disowned" = "destroyed") {
    const row = await rowOf(mayfly, name);
    const reason = phase === "disowned" ? "identity_mismatch" : "lost";
    await mayfly.store.endings.close([{ uid: row.uid, reason, phase }], mayfly.now());
    await untilBooked(mayfly);
    return row;
  }
  /** The look that is to prove the next deletion is answered with nothing. */
  function failLookAfterDelete(mayfly: Mayfly): void {
    let isDeleted = false;
    between(mayfly, async (request, real) => {
      const isProof = isDeleted && request.method === "GET";
      isDeleted = request.method === "DELETE";
      return isProof ? new Response(null, { status: 503 }) : real(request);
    });
  }
  const bill = (mayfly: Mayfly) => mayfly.simulator.bill().total_micro_eur;

  it("is charged to its own end once it is seen again, also for the time in between, and nothing of it twice", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    mayfly.advance(3 * HOUR + 10 * MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, "a");
    expect(await sumOf(mayfly)).toBe(4 * 11_424);
    mayfly.advance(5 * HOUR);
    mayfly.simulator.clearFaults();
    await minutes(mayfly, 20);
    expect((await mayfly.send("GET", "/v1/machines/a")).body).toMatchObject({ machine: { status: "running" } });
    mayfly.advance(6 * HOUR);
    await destroy(mayfly, "a");
    await untilBooked(mayfly);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
    expect(bill(mayfly)).toBe(15 * 11_424);
  });

  it("and gets a row of its own, because another has its name by then, is charged from where the first row ended; and so is the first row when it has it again", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    mayfly.advance(2 * HOUR + MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    const first = await lose(mayfly, "a");
    mayfly.simulator.clearFaults();
    await create(mayfly, "b");
    await mayfly.bindings.DB.exec("UPDATE machines SET name = 'a' WHERE name = 'b'");
    mayfly.advance(2 * HOUR);
    await minutes(mayfly, 20);
    const rows = await mayfly.bindings.DB.prepare("SELECT name, booked_hours FROM machines WHERE label_uid = ?")
      .bind(first.uid)
      .all();
    expect(rows.results).toMatchObject([{ booked_hours: 3 }]);
    mayfly.advance(HOUR);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, String(rows.results[0]?.["name"]));
    expect(await sumOf(mayfly)).toBe(6 * 11_424);
    mayfly.simulator.clearFaults();
    await destroy(mayfly, "a");
    mayfly.advance(HOUR);
    await minutes(mayfly, 20);
    expect((await mayfly.store.machines.byUid(first.uid))?.phase).toBe("active");
    mayfly.advance(HOUR);
    await destroy(mayfly, "a");
    await untilBooked(mayfly);
    expect(servers(mayfly)).toEqual([]);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
  });

  it("is charged nothing twice either when its first row takes it up after a second one has ended, to destroy it", async () => {
    const mayfly = createMayfly();
    const { id } = await create(mayfly, "a");
    mayfly.advance(2 * HOUR + MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, "a");
    mayfly.simulator.clearFaults();
    await create(mayfly, "b", { ttl: "4h" });
    await mayfly.bindings.DB.exec("UPDATE machines SET name = 'a' WHERE name = 'b'");
    mayfly.advance(2 * HOUR);
    await minutes(mayfly, 20);
    const second = await mayfly.bindings.DB.prepare("SELECT name FROM machines WHERE label_uid = ?")
      .bind(id.slice(4))
      .first("name");
    mayfly.advance(HOUR);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, String(second));
    mayfly.simulator.clearFaults();
    mayfly.advance(20 * HOUR);
    await untilBooked(mayfly);
    expect(servers(mayfly)).toEqual([]);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
  });

  it.each([
    ["past what it was promised", 5 * HOUR],
    ["past MAX_AGE", 30 * HOUR],
  ])("%s is deleted, and charged until then, and its end is told, though the proof comes later", async (_, wait) => {
    const mayfly = createMayfly();
    await create(mayfly, "a", { ttl: "2h" });
    mayfly.advance(HOUR + MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    const { uid } = await lose(mayfly, "a");
    mayfly.simulator.clearFaults();
    failLookAfterDelete(mayfly);
    mayfly.advance(wait);
    for (let minute = 0; minute < 40 && servers(mayfly).length > 0; minute++) await minutes(mayfly, 1);
    const ended = bill(mayfly);
    expect((await mayfly.store.machines.byUid(uid))?.phase).toBe("destroying");
    await untilBooked(mayfly);
    expect(await sumOf(mayfly)).toBe(ended);
    expect((await mayfly.send("GET", "/v1/events?kind=destroyed")).body).toMatchObject({
      events: [{ reason: "expired", cost_eur: ended / 1e6 }, { reason: "lost" }],
    });
  });

  it("on its owner's word is charged until it is proven gone", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    mayfly.advance(HOUR + MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, "a");
    await destroy(mayfly, "a");
    expect(await sumOf(mayfly)).toBe(2 * 11_424);
    mayfly.simulator.clearFaults();
    mayfly.advance(4 * HOUR);
    await minutes(mayfly, 40);
    expect(servers(mayfly)).toEqual([]);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
    expect(bill(mayfly)).toBe(6 * 11_424);
  });

  it("though it never seemed to come to be, is charged from its creation", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    mayfly.simulator.fault({ method: "POST", path: "/servers$", drop: "after" });
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await mayfly.send("PUT", "/v1/machines/a", BODY);
    const row = await mayfly.store.machines.byName("admin", "a");
    await mayfly.store.endings.fail([{ uid: row?.uid ?? "", reason: "capacity" }], mayfly.now());
    await untilBooked(mayfly);
    expect(await sumOf(mayfly)).toBe(0);
    mayfly.simulator.clearFaults();
    mayfly.advance(HOUR);
    await minutes(mayfly, 40);
    expect(servers(mayfly)).toEqual([]);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
    expect(bill(mayfly)).toBe(2 * 11_424);
  });

  it("that landed when its end was booked already, and could not be looked at then, is charged until it is gone", async () => {
    const mayfly = createMayfly();
    await mayfly.send("GET", "/v1/server_types");
    let phase: string | null = null;
    between(mayfly, async (request, real) => {
      if (request.method === "POST" && phase === null) {
        await destroy(mayfly, "box");
        await minutes(mayfly, 40);
        ({ phase } = await rowOf(mayfly, "box"));
        mayfly.simulator.fault({ method: "GET", path: "^/v1/servers/", times: 1, status: 503, code: "unavailable" });
      }
      return real(request);
    });
    expect((await mayfly.send("PUT", "/v1/machines/box", BODY)).status).toBe(409);
    expect(phase).toBe("destroyed");
    expect(servers(mayfly)).toHaveLength(1);
    mayfly.advance(2 * HOUR);
    await minutes(mayfly, 2);
    expect(servers(mayfly)).toEqual([]);
    await untilBooked(mayfly);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
    expect(bill(mayfly)).toBe(3 * 11_424);
  });

  it("that was given up is charged until then, and from then on when it is ours again", async () => {
    const mayfly = createMayfly();
    await create(mayfly, "a");
    mayfly.advance(2 * HOUR + MINUTE);
    mayfly.simulator.fault({ method: "GET", path: "/servers", status: 503, times: 99 });
    await lose(mayfly, "a", "disowned");
    expect(await sumOf(mayfly)).toBe(3 * 11_424);
    mayfly.simulator.clearFaults();
    mayfly.advance(2 * HOUR);
    await minutes(mayfly, 20);
    await destroy(mayfly, "a");
    await untilBooked(mayfly);
    expect(servers(mayfly)).toEqual([]);
    expect(await sumOf(mayfly)).toBe(bill(mayfly));
  });
});
