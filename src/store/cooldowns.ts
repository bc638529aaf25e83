import * as z from "zod";
import type { Candidate } from "../machine/spec.ts";
import { parseRows, sql, type Sql } from "./db.ts";

const pair: z.ZodType<Candidate> = z
  .object({ server_type: z.string(), region: z.string() })
  .transform((row) => ({ serverType: row.server_type, region: row.region }));

/** The `cooldowns` table: pairs of server type and region that had no room a moment ago. */
export function createCooldownStore(db: Sql) {
  return {
    async add(provider: string, { serverType, region }: Candidate, until: number): Promise<void> {
      await db.rows(
        sql(
          `INSERT INTO cooldowns (provider, server_type, region, until) VALUES (?, ?, ?, ?)
           ON CONFLICT (provider, server_type, region) DO UPDATE SET until = excluded.until`,
          provider,
          serverType,
          region,
          until,
        ),
      );
    },

    async current(now: number): Promise<Candidate[]> {
      return parseRows(pair, await db.rows(sql("SELECT server_type, region FROM cooldowns WHERE until > ?", now)));
    },
  };
}
