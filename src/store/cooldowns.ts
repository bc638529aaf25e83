import type { Candidate } from "../machine/spec.ts";
import { intOf, textOf, type Reader } from "./columns.ts";
import { parseRows } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A pair that had no room a moment ago, and until when it is tried after the others; unix milliseconds. */
export interface Cooldown extends Candidate {
  readonly until: number;
}

const pair: Reader<Cooldown> = (row) => ({
  serverType: textOf(row, "server_type"),
  region: textOf(row, "region"),
  until: intOf(row, "until"),
});

/** The database leaves out what is over by the minute, so that one question stands for a while; the rest is left out here. */
const MINUTE_MS = 60_000;

/** The `cooldowns` table: pairs of server type and region that had no room a moment ago. */
export function createCooldownStore(db: Db) {
  return {
    async add(provider: string, { serverType, region }: Candidate, until: number): Promise<void> {
      const tail = "ON CONFLICT (provider, server_type, region) DO UPDATE SET until = excluded.until";
      await db.write(insertInto("cooldowns", { provider, server_type: serverType, region, until }, { tail }));
    },

    async current(now: number): Promise<Cooldown[]> {
      const asked = query("SELECT server_type, region, until FROM cooldowns WHERE until > ?", now - (now % MINUTE_MS));
      return parseRows(pair, await db.read(asked)).filter(({ until }) => until > now);
    },
  };
}
