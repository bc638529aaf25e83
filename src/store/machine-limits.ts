import * as z from "zod";
import type { MachineRow } from "../machine/machine.ts";
import { LIVE_MACHINE } from "./conditions.ts";
import { machineRow } from "./machine-row.ts";
import { parseRows } from "./rows.ts";
import { query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** How many machines there may be, live ones counted: all that is not confirmed gone. Of an account null = no limit of its own. */
export interface CountLimits {
  readonly account: number | null;
  readonly installation: number;
}

/**
 * Finds something where one more machine, `new`, would be beyond a limit; its two parameters are {@link CountLimits}. Decided in the insert
 * itself, so that of many creates at once only as many as fit are written.
 */
export const BEYOND_COUNT = `SELECT 1 WHERE
  (SELECT count(*) FROM machines WHERE account = new.account AND ${LIVE_MACHINE}) >= ?
  UNION ALL SELECT 1 WHERE (SELECT count(*) FROM machines WHERE ${LIVE_MACHINE}) >= ?`;

/** So many machines a refusal names. */
const MOST_NAMED = 25;

const counted = z.object({ account: z.int(), installation: z.int() });

/** What the limits of an account are held against. */
export function createMachineLimits(db: Db) {
  return {
    /** How many live machines there are, of the account and of all. */
    async count(account: string): Promise<{ account: number; installation: number }> {
      const rows = await db.read(
        query(
          `SELECT (SELECT count(*) FROM machines WHERE account = ? AND ${LIVE_MACHINE}) AS account,
            (SELECT count(*) FROM machines WHERE ${LIVE_MACHINE}) AS installation`,
          account,
        ),
      );
      return counted.parse(rows[0]);
    },

    /** An account's live machines, those that end first before the others; at most 25. */
    async ofAccount(account: string): Promise<MachineRow[]> {
      const rows = await db.read(
        query(
          `SELECT * FROM machines WHERE account = ? AND ${LIVE_MACHINE} ORDER BY expires_at, uid LIMIT ${MOST_NAMED}`,
          account,
        ),
      );
      return parseRows(machineRow, rows);
    },
  };
}
