import * as z from "zod";
import type { Candidate } from "../machine/spec.ts";
import { parseRows } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

const pair: z.ZodType<Candidate & { readonly until: number }> = z
  .object({ server_type: z.string(), region: z.string(), until: z.int() })
  .transform((row) => ({ serverType: row.server_type, region: row.region, until: row.until }));

/** The database leaves out what is over by the minute, so that one question stands for a while; the rest is left out here. */
const MINUTE_MS = 60_000;

/** The `cooldowns` table: pairs of server type and region that had no room a moment ago. */
export function createCooldownStore(db: Db) {
  return {
    async add(provider: string, { serverType, region }: Candidate, until: number): Promise<void> {
      const tail = "ON CONFLICT (provider, server_type, region) DO UPDATE SET until = excluded.until";
      await db.write(insertInto("cooldowns", { provider, server_type: serverType, region, until }, { tail }));
    },

    async current(now: number): Promise<Candidate[]> {
      const asked = query("SELECT server_type, region, until FROM cooldowns WHERE until > ?", now - (now % MINUTE_MS));
      return parseRows(pair, await db.read(asked)).filter(({ until }) => until > now);
    },
  };
}
