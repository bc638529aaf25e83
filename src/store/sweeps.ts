import * as z from "zod";
import { intOf, jsonAs, type Row } from "./columns.ts";
import { sql } from "./db.ts";
import { parseFirst, selectPage } from "./rows.ts";
import { insertInto } from "./statements.ts";
import type { Db } from "./writer.ts";

export interface SweepRow {
  /** The number under which it held the lock: what it did is signed with that. */
  readonly id: number;
  readonly startedBy: "cron" | "admin" | "create";
  readonly dryRun: boolean;
  readonly scheduledAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly outcome: "ok" | "partial" | "failed";
  /** The report as JSON, in the words of the API. */
  readonly report: unknown;
}

/** One that cannot be read hides no other. */
const report = z.record(z.string(), z.unknown()).catch(() => ({}));
const sweepRow = (row: Row) => ({ id: intOf(row, "id"), report: jsonAs(row, "report", report) });

/** The `sweeps` table: reports. */
export function createSweepStore(db: Db) {
  return {
    /** Keeps a report; answers its id. */
    async insert(row: SweepRow): Promise<number> {
      const rows = await db.write(
        insertInto(
          "sweeps",
          {
            id: row.id,
            started_by: row.startedBy,
            dry_run: Number(row.dryRun),
            scheduled_at: row.scheduledAt,
            started_at: row.startedAt,
            finished_at: row.finishedAt,
            outcome: row.outcome,
            report: JSON.stringify(row.report),
          },
          { tail: "RETURNING id" },
        ),
      );
      return parseFirst((kept) => intOf(kept, "id"), rows) ?? 0;
    },

    /** One page, newest first. */
    list: (page: number, perPage: number) =>
      selectPage(db, sweepRow, { from: sql("sweeps"), order: "id DESC", page, perPage }),
  };
}
