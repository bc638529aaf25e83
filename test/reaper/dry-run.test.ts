import fc from "fast-check";
import { expect, it } from "vitest";
import { BODY, createMayfly, HOUR, MINUTE, NOW, OURS } from "../mayfly.ts";

/** What one machine of a random fleet is like. */
const member = fc.record({
  /** With a row, made through the API; else only at the provider. */
  leased: fc.boolean(),
  ttlMinutes: fc.constantFrom(1, 5, 30, 60),
  ageHours: fc.constantFrom(0, 1, 23, 25, 48),
  labels: fc.constantFrom<Record<string, string> | null>(
    OURS,
    { ...OURS, "mayfly-installation": "sibling" },
    { ...OURS, "mayfly-expires": String((NOW + 2 * HOUR) / 1000), "mayfly-max": String((NOW + 3 * HOUR) / 1000) },
    {},
    null,
  ),
  protectedBy: fc.boolean(),
  /** Something happened to it behind our back. */
  fate: fc.constantFrom("none", "none", "none", "deleted", "unlabelled", "dying"),
  created: fc.constantFrom("known", "known", "missing"),
});

const decided = (report: Awaited<ReturnType<ReturnType<typeof createMayfly>["tick"]>>) =>
  report?.phases.map(({ phase, items, failure }) => ({
    phase,
    failure,
    items: items.map(({ providerId, outcome, reason }) => `${providerId} ${outcome} ${reason}`),
  }));

it("a dry run and the sweep after it name the same machines with the same reasons, and the dry run changes nothing", async () => {
  const property = fc.asyncProperty(
    fc.array(member, { maxLength: 70 }),
    fc.constantFrom(2, 20, 90),
    async (fleet, minutes) => {
      const mayfly = createMayfly();
      const { DB } = mayfly.bindings;
      await DB.batch(
        ["machines", "events", "sweeps", "reap_failures"].map((table) => DB.prepare(`DELETE FROM ${table}`)),
      );
      await DB.prepare("UPDATE locks SET held_until = 0").run();
      for (const [index, one] of fleet.entries()) {
        if (one.leased) await mayfly.send("PUT", `/v1/machines/m${index}`, { ...BODY, ttl: `${one.ttlMinutes}m` });
        else
          mayfly.simulator.addServer({
            name: `s${index}`,
            labels: one.labels,
            status: one.fate === "dying" ? "deleting" : "running",
            protection: { delete: one.protectedBy, rebuild: one.protectedBy },
            created: one.created === "missing" ? null : new Date(NOW - one.ageHours * HOUR).toISOString(),
          });
      }
      mayfly.advance(minutes * MINUTE);
      const before = JSON.stringify(mayfly.simulator.state().servers);
      const rows = async () => JSON.stringify((await DB.prepare("SELECT * FROM machines ORDER BY uid").all()).results);
      const rowsBefore = await rows();
      const dry = await mayfly.tick(mayfly.now(), true);
      expect(JSON.stringify(mayfly.simulator.state().servers)).toBe(before);
      expect(await rows()).toBe(rowsBefore);
      const real = await mayfly.tick();
      expect(decided(real)).toEqual(decided(dry));
      expect(real?.fetches).toBe(dry?.fetches);
    },
  );
  await fc.assert(property, { numRuns: 25 });
});
