import type { Candidate } from "../machine/spec.ts";
import { textOf, type Reader } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

const pair: Reader<Candidate> = (row) => ({ serverType: textOf(row, "server_type"), region: textOf(row, "region") });

/** The `cooldowns` table: pairs of server type and region that had no room a moment ago. */
export function createCooldownStore(db: Db) {
  return {
    async add(provider: string, { serverType, region }: Candidate, until: number): Promise<void> {
      const tail = "ON CONFLICT (provider, server_type, region) DO UPDATE SET until = excluded.until";
      await db.write(insertInto("cooldowns", { provider, server_type: serverType, region, until }, { tail }));
    },

    async current(now: number): Promise<Candidate[]> {
      return parseRows(pair, await db.read(query("SELECT server_type, region FROM cooldowns WHERE until > ?", now)));
    },
  };
}
