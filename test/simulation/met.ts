/** What a history has met, counted where it can be seen: in answers, in the reports of sweeps, and in what D1 tells at the end. */
import * as z from "zod";
import { sql } from "../../src/store/db.ts";
import type { Books } from "./judge/books.ts";
import { meet, type Met, type Tally } from "./tally.ts";
import type { Database } from "./world/database.ts";
import type { Answer, Installation } from "./world/installation.ts";

const problem = z.object({ code: z.string() });

function codeOf({ status, text }: Answer): string {
  const { data } = status < 400 ? { data: undefined } : problem.safeParse(JSON.parse(text === "" ? "null" : text));
  return data?.code ?? String(status);
}

/** The same mayfly, each of whose answers and reports is counted. */
export const counted = (mayfly: Installation, met: Met): Installation => ({
  async send(circumstances, call) {
    const answer = await mayfly.send(circumstances, call);
    meet(met, `code ${answer === undefined ? "none" : codeOf(answer)}`);
    return answer;
  },
  async tick(circumstances, off) {
    const report = await mayfly.tick(circumstances, off);
    for (const { phase, items, failure } of report?.phases ?? []) {
      for (const { outcome, reason } of items) meet(met, `report ${outcome} ${reason}`);
      if (failure !== null) meet(met, `report failed ${phase}`);
    }
    return report;
  },
  configure: (changed) => mayfly.configure(changed),
});

const ending = z.object({ reason: z.string().nullable(), times: z.number() });

/** For which reasons machines have ended, by those events that D1 still has. */
export async function countEndings(database: Database, met: Met): Promise<void> {
  const rows = await database.rows(
    sql(
      `SELECT reason, count(*) AS times FROM events WHERE event IN ('destroyed', 'failed', 'disowned') GROUP BY reason`,
    ),
  );
  for (const { reason, times } of z.array(ending).parse(rows)) meet(met, `reason ${reason ?? "none"}`, times);
}

/** All that a history has met. */
export function tallyOf(books: Books): Tally {
  const met: Met = new Map([...books.strikes, ...books.met]);
  for (const [what, times] of books.money) meet(met, `judged ${what}`, times);
  for (const [what, times] of books.served) meet(met, `served ${what}`, times);
  const { ticks, answers, born, died, longestOverstay } = books;
  return { histories: 1, ticks, answers, born: born.size, died, longestOverstay, met: Object.fromEntries(met) };
}
