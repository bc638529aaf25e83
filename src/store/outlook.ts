import type { MachineRow } from "../machine/machine.ts";
import { intOf, type Row } from "./columns.ts";
import { TO_CARRY_OUT } from "./deliveries.ts";
import { machineRow } from "./machine-row.ts";
import { dueMachines, TO_SETTLE } from "./machine-work.ts";
import { TO_END } from "./resource-endings.ts";
import { parseFirst, parseRows } from "./rows.ts";
import { query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What there is to do for a sweep. */
export interface Outlook {
  /** The first rows whose end has come. */
  readonly due: readonly MachineRow[];
  /** Whether there are machines to settle, resources to end, deliveries to carry out. */
  readonly has: Readonly<Record<Work, boolean>>;
}
export type Work = "unsettled" | "ended" | "pending";

const isThere = (row: Row, what: Work): boolean => intOf(row, what) === 1;
const work = (row: Row): Outlook["has"] => ({
  unsettled: isThere(row, "unsettled"),
  ended: isThere(row, "ended"),
  pending: isThere(row, "pending"),
});
const HAS = `SELECT EXISTS (SELECT 1 FROM machines WHERE ${TO_SETTLE}) AS unsettled,
  EXISTS (SELECT 1 FROM resources WHERE ${TO_END}) AS ended,
  EXISTS (SELECT 1 FROM deliveries WHERE ${TO_CARRY_OUT}) AS pending` as const;

/** What the phases of a sweep begin with, in one trip to the database. */
export function createOutlook(db: Db) {
  return {
    /** As it is now; of what is due at most so many. */
    async read(now: number, limit: number): Promise<Outlook> {
      const [due = [], has = []] = await db.batch([dueMachines(now, limit, null), query(HAS, now)]);
      return {
        due: parseRows(machineRow, due),
        has: parseFirst(work, has) ?? { unsettled: true, ended: true, pending: true },
      };
    },
  };
}
