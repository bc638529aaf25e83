/** What machines have cost in a month: what the ledger says, and the rows that it does not tell of yet. */
import { chargedSoFar, chargesUntil, type RowCharge, type Unbooked } from "./ledger.ts";
import { minus, plus, reservedUntil } from "./money.ts";

/** By what usage is divided. */
export const USAGE_PARTS = ["owner", "day", "server_type"] as const;
export type UsagePart = (typeof USAGE_PARTS)[number];

/** So much; null = unknown, because of a machine without any known price: never free. */
interface Sum {
  readonly hours: number;
  readonly microEur: number | null;
  readonly estimatedMicroEur: number | null;
}

/** The sum of one owner, day or server type; of days that were folded into their month `key` is that: `2026-11`. */
export interface UsageEntry extends Sum {
  readonly key: string;
}

/** A month's sum. `estimatedMicroEur` is what of it was counted at the dearest known price. */
export interface Usage extends Sum {
  readonly liveMachines: number;
  /** What live machines will have cost beyond that, within the month, when they end as promised. */
  readonly reservedMicroEur: number | null;
  /** The dearest first; days in their order. */
  readonly entries: readonly UsageEntry[];
}

const add = (a: Sum, b: Sum): Sum => ({
  hours: a.hours + b.hours,
  microEur: plus(a.microEur, b.microEur),
  estimatedMicroEur: plus(a.estimatedMicroEur, b.estimatedMicroEur),
});
const NOTHING: Sum = { hours: 0, microEur: 0, estimatedMicroEur: 0 };
const sumOf = (charges: readonly Sum[]): Sum => charges.reduce(add, NOTHING);

/**
 * The usage of `month`, as `2026-11`, by `now`, unix milliseconds: `booked` is what the ledger says of it, by `part`, and `rows` are those whose
 * hours are not all in it.
 */
export function usageOf(
  { month, part, now }: { readonly month: string; readonly part: UsagePart; readonly now: number },
  booked: readonly UsageEntry[],
  rows: readonly Unbooked[],
): Usage {
  const inMonth = (charges: readonly RowCharge[]) => charges.filter(({ day }) => day.startsWith(month));
  const soFar = rows.map((row) => ({ row, charges: inMonth(chargedSoFar(row, now)) }));
  const entries = new Map<string, Sum>();
  const count = (key: string, sum: Sum) => entries.set(key, add(entries.get(key) ?? NOTHING, sum));
  for (const { key, ...sum } of booked) count(key, sum);
  for (const { row, charges } of soFar) for (const charge of charges) count(keyOf(part, row, charge), charge);
  const live = soFar.filter(({ row }) => row.destroyedAt === null);
  const reserved = live.map(({ row, charges }) => {
    const promised = sumOf(inMonth(chargesUntil(row, reservedUntil(row.expiresAt, now))));
    return minus(promised.microEur, sumOf(charges).microEur);
  });
  return {
    ...sumOf([...entries.values()]),
    liveMachines: live.length,
    reservedMicroEur: reserved.reduce(plus, 0),
    entries: Array.from(entries, ([key, sum]) => ({ key, ...sum })).toSorted(part === "day" ? byKey : byCost),
  };
}

const keyOf = (part: UsagePart, row: Unbooked, { day }: RowCharge): string =>
  part === "day" ? day : part === "owner" ? row.owner : row.serverType;

const byKey = (a: UsageEntry, b: UsageEntry): number => (a.key < b.key ? -1 : 1);
/** What nobody knows may be the dearest. */
const costOf = ({ microEur }: UsageEntry): number => microEur ?? Number.MAX_SAFE_INTEGER;
const byCost = (a: UsageEntry, b: UsageEntry): number => costOf(b) - costOf(a) || byKey(a, b);
