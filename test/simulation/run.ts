/** Many histories from one seed, and what is to be said of them. */
import fc from "fast-check";
import { vi } from "vitest";
import { openBooks, type Books } from "./judge/books.ts";
import type { Database } from "./world/database.ts";
import { tell, type History } from "./history.ts";
import type { Kind } from "./kinds/kind.ts";
import type { Transaction } from "./world/sim-db.ts";
import type { Order, Result, Tally } from "./order.ts";
import { play } from "./play.ts";

export async function runHistories(
  database: Database,
  kind: Kind,
  { seed, runs, path, isFirstEnough }: Order,
  transaction: Transaction = (act) => act(),
): Promise<Result> {
  const tally: Tally = {
    histories: 0,
    ticks: 0,
    answers: 0,
    born: 0,
    died: 0,
    longestOverstay: 0,
    strikes: {},
    money: {},
    late: {},
    health: {},
    served: {},
  };
  const property = fc.asyncProperty(kind.history, async (whole) => {
    const books = openBooks();
    try {
      await transaction(() => withFakeTimers(() => play(database, kind, whole, books)));
    } finally {
      add(tally, books);
    }
  });
  const details = await fc.check(property, {
    seed,
    numRuns: runs,
    endOnFailure: isFirstEnough ?? path !== undefined,
    ...(path === undefined ? {} : { path }),
  });
  return { tally, failure: details.failed ? failureOf(details) : null };
}

/** An isolate may hold ten thousand timers, and each call that a death leaves hanging keeps one. */
export async function withFakeTimers(act: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await act();
  } finally {
    vi.useRealTimers();
  }
}

function add(tally: Tally, books: Books): void {
  tally.histories += 1;
  tally.ticks += books.ticks;
  tally.answers += books.answers;
  tally.born += books.born.size;
  tally.died += books.died;
  tally.longestOverstay = Math.max(tally.longestOverstay, books.longestOverstay);
  for (const [who, times] of books.served) tally.served[who] = (tally.served[who] ?? 0) + times;
  for (const [what, times] of books.money) tally.money[what] = (tally.money[what] ?? 0) + times;
  for (const [what, times] of books.late) tally.late[what] = (tally.late[what] ?? 0) + times;
  for (const [what, times] of books.health) tally.health[what] = (tally.health[what] ?? 0) + times;
  for (const [what, times] of books.strikes) tally.strikes[what] = (tally.strikes[what] ?? 0) + times;
}

type Details = fc.RunDetails<[History]>;

function failureOf({ counterexample, counterexamplePath, errorInstance, seed, numShrinks }: Details): string {
  const { minutesLeft, steps } = counterexample?.[0] ?? { minutesLeft: 0, steps: [] };
  const why = errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : "nothing was thrown";
  return [
    why,
    `after ${numShrinks} shrinks the history, which begins ${minutesLeft} min before a month's end, is`,
    ...steps.map((step, index) => `${String(index + 1).padStart(3)} ${tell(step)}`),
    `again: npm run simulate -- --seed ${seed} --path ${counterexamplePath}`,
  ].join("\n");
}
