import * as fc from "fast-check";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { MachineRow } from "../../src/machine/machine.ts";
import { chargesByMonth, monthsBetween, reservedUntil } from "../../src/machine/money.ts";
import { isLive } from "../../src/machine/machine.ts";
import { HOUR, NOW } from "../mayfly.ts";
import { machineRowOf, putMachine, store } from "./tables.ts";

const DAY = 24 * HOUR;
const around = (from: number, until: number) => fc.integer({ min: NOW + from, max: NOW + until });
const price = fc.option(fc.integer({ min: 1, max: 50_000 }), { freq: 5 });
const priced = fc.record({
  priceMicroEur: fc.integer({ min: 1, max: 50_000 }),
  priceMonthMicroEur: price.map((one) => one && one * 600),
  ipv4MicroEur: fc.integer({ min: 1, max: 2000 }),
  ipv4MonthMicroEur: price.map((one) => one && one * 30),
  hasIpv4: fc.boolean(),
});
/** Lives on either side of two months' ends, living and gone, seen and not seen yet. */
const life = fc
  .record({
    priced,
    account: fc.constantFrom("tok.a", "tok.b"),
    phase: fc.constantFrom("requested" as const, "active" as const, "destroying" as const, "destroyed" as const),
    requestedAt: around(-40 * DAY, 0),
    isSeen: fc.boolean(),
    expiresAt: around(-2 * DAY, 35 * DAY),
    destroyedAt: around(-3 * DAY, 0),
    bookedHours: fc.nat({ max: 900 }),
    isBooked: fc.boolean(),
  })
  .map(
    ({ priced: rates, isSeen, destroyedAt, ...one }): { row: MachineRow; bookedHours: number; isBooked: boolean } => {
      const isGone = one.phase === "destroyed";
      const row = machineRowOf({
        ...rates,
        account: one.account,
        phase: one.phase,
        requestedAt: one.requestedAt,
        createdAt: isSeen ? one.requestedAt + 1500 : null,
        providerId: isSeen ? "1" : null,
        expiresAt: Math.max(one.requestedAt + 1, one.expiresAt),
        maxUntil: NOW + 99 * DAY,
        destroyedAt: isGone ? Math.max(destroyedAt, one.requestedAt + 1500) : null,
      });
      return { row, bookedHours: one.bookedHours, isBooked: isGone && one.isBooked };
    },
  );

/** The same in plain sums: what is charged in a month beyond the hours that were booked. */
function chargeOf(
  { row, bookedHours, isBooked }: { row: MachineRow; bookedHours: number; isBooked: boolean },
  month: string,
): number {
  if (isBooked || (row.phase === "destroyed" && row.createdAt === null)) return 0;
  const since = row.createdAt ?? row.requestedAt;
  const until = isLive(row) ? reservedUntil(row.expiresAt, NOW) : (row.destroyedAt ?? 0);
  const sumTo = (end: number): number =>
    chargesByMonth(since, end, row)
      .filter((one) => one.month === month)
      .reduce((sum, one) => sum + (one.serverMicroEur ?? 0) + (one.ipv4MicroEur ?? 0), 0);
  return sumTo(until) - (bookedHours === 0 ? 0 : sumTo(since + bookedHours * HOUR));
}

describe("what a month comes to, in SQL", () => {
  it("is what the rule of money says, of one account and of all, whatever lives there are", async () => {
    const months = monthsBetween(NOW - 40 * DAY, NOW + 40 * DAY).map(({ month, begins, ends }) => ({
      month,
      begins,
      ends,
      now: NOW,
      account: null,
      installation: null,
    }));
    expect(months.map(({ month }) => month)).toEqual(["2026-10", "2026-11", "2026-12", "2027-01"]);
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 6 }), async (lives) => {
        await env.DB.batch(["machines", "charged_months"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
        for (const [index, { row, bookedHours, isBooked }] of lives.entries()) {
          await putMachine({ ...row, uid: `m${index}`, name: `m${index}` });
          await env.DB.prepare("UPDATE machines SET booked_hours = ?, booked_at = ? WHERE uid = ?")
            .bind(bookedHours, isBooked ? NOW : null, `m${index}`)
            .run();
        }
        await env.DB.exec("INSERT INTO charged_months VALUES ('2026-11', 'tok.a', 700), ('2026-12', 'tok.b', 80)");
        const booked = (month: string, account: string) =>
          (month === "2026-11" && account === "tok.a" ? 700 : 0) +
          (month === "2026-12" && account === "tok.b" ? 80 : 0);
        const spent = await store.limits.spent("tok.a", months);
        for (const one of spent) {
          const { month } = one;
          const sumOf = (account: string) =>
            lives
              .filter(({ row }) => row.account === account)
              .reduce((sum, gone) => sum + chargeOf(gone, month), booked(month, account));
          expect(one).toEqual({
            month,
            account: sumOf("tok.a"),
            installation: sumOf("tok.a") + sumOf("tok.b"),
          });
        }
        expect(spent).toHaveLength(4);
      }),
      { numRuns: 150 },
    );
  });

  it("counts an unknown price as the dearest of its provider's catalogue, and beyond all limits while there is none", async () => {
    const unknown = { priceMicroEur: null, priceMonthMicroEur: null, ipv4MicroEur: null, ipv4MonthMicroEur: null };
    await putMachine({ ...unknown, account: "tok.a", providerId: "1", createdAt: NOW, expiresAt: NOW + HOUR / 2 });
    const [month] = monthsBetween(NOW, NOW);
    const months = month ? [{ ...month, now: NOW, account: null, installation: null }] : [];
    expect((await store.limits.spent("tok.a", months))[0]?.account).toBeGreaterThan(999_999_990_000);
    await env.DB.exec(
      "INSERT INTO catalogues (provider, server_types, fetched_at, dearest_micro_eur, dearest_ipv4_micro_eur) VALUES ('hetzner', '[]', 0, 500, 7)",
    );
    expect(await store.limits.spent("tok.a", months)).toEqual([{ month: "2026-11", account: 507, installation: 507 }]);
    expect(await store.limits.perHour("tok.a")).toBe(507);
  });
});
