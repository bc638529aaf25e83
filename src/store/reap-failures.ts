import { intOf, textOf, type Reader } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { change, query } from "./statements.ts";
import type { Db } from "./writer.ts";

export interface ReapFailure {
  readonly providerId: string;
  readonly attempts: number;
  readonly nextTryAt: number;
}

/** One that has just failed, and how. */
export interface FailedReap extends ReapFailure {
  readonly error: string;
}

const reapFailureRow: Reader<ReapFailure> = (row) => ({
  providerId: textOf(row, "provider_id"),
  attempts: intOf(row, "attempts"),
  nextTryAt: intOf(row, "next_try_at"),
});

/** The `reap_failures` table: which machines reap leaves alone for a while. */
export function createReapFailureStore(db: Db) {
  return {
    /** Those among these machines that failed before. */
    async of(providerIds: readonly string[]): Promise<ReapFailure[]> {
      const rows = await db.read(
        query(
          "SELECT * FROM reap_failures WHERE provider_id IN (SELECT value FROM json_each(?))",
          JSON.stringify(providerIds),
        ),
      );
      return parseRows(reapFailureRow, rows);
    },

    /** Writes down who failed again, and until when each is left alone; forgets those that are gone. */
    async record(failed: readonly FailedReap[], gone: readonly string[]): Promise<void> {
      if (failed.length + gone.length === 0) return;
      await db.batch([
        change(
          {
            head: `INSERT INTO reap_failures (provider_id, attempts, next_try_at, last_error)
              SELECT value ->> 'providerId', value ->> 'attempts', value ->> 'nextTryAt', value ->> 'error'
              FROM json_each(?)`,
            where: "true",
            tail: `ON CONFLICT (provider_id) DO UPDATE SET attempts = excluded.attempts,
              next_try_at = excluded.next_try_at, last_error = excluded.last_error`,
          },
          JSON.stringify(failed),
        ),
        change(
          { head: "DELETE FROM reap_failures", where: "provider_id IN (SELECT value FROM json_each(?))" },
          JSON.stringify(gone),
        ),
      ]);
    },

    /** Forgets those that were to be tried before then, and were not: they are gone. */
    async forgetBefore(triedBefore: number): Promise<void> {
      await db.write(change({ head: "DELETE FROM reap_failures", where: "next_try_at <= ?1" }, triedBefore));
    },
  };
}
