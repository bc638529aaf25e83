/** Many histories from one seed, and what is to be said of them. */
import fc from "fast-check";
import { vi } from "vitest";
import { tell, parseHistory, type History } from "./history.ts";
import { openBooks } from "./judge/books.ts";
import type { Kind } from "./kinds/kind.ts";
import { tallyOf } from "./met.ts";
import type { Order, Result } from "./order.ts";
import { play } from "./play.ts";
import { leaveOut, type Smallest } from "./shrink.ts";
import { addTally, openTally } from "./tally.ts";
import type { Database } from "./world/database.ts";
import type { Transaction } from "./world/sim-db.ts";

/** Plays an order's histories of that kind. */
export async function runHistories(
  database: Database,
  kind: Kind,
  order: Omit<Order, "kind">,
  transaction: Transaction = (act) => act(),
): Promise<Result> {
  const tally = openTally();
  const playOne = async (whole: History): Promise<void> => {
    const books = openBooks();
    try {
      await withFakeTimers(() => play(database, kind, whole, books, transaction));
    } finally {
      addTally(tally, tallyOf(books));
    }
  };
  const failure = await firstFailure(kind, order, playOne);
  return { kind: kind.name, tally, mustMeet: { enough: kind.enough, words: kind.mustMeet }, failure };
}

type Play = (whole: History) => Promise<void>;

async function firstFailure(
  kind: Kind,
  { seed, runs, path, history, isFirstEnough }: Omit<Order, "kind">,
  playOne: Play,
): Promise<string | null> {
  const whyOf = (whole: History): Promise<string | null> => playOne(whole).then(() => null, whyIn);
  if (history !== undefined) return whyOf(parseHistory(history));
  const isOver = isFirstEnough ?? path !== undefined;
  const details = await fc.check(fc.asyncProperty(kind.history, playOne), {
    seed,
    numRuns: runs,
    endOnFailure: isOver,
    ...(path === undefined ? {} : { path }),
  });
  if (!details.failed) return null;
  const { counterexample, counterexamplePath, errorInstance, numShrinks } = details;
  const why = whyIn(errorInstance);
  if (counterexample === null) return why;
  const [whole] = counterexample;
  const smallest = isOver ? { history: whole, why, leftOut: 0 } : await leaveOut(whole, why, whyOf);
  return [
    ...toldBy(smallest, numShrinks),
    `again: npm run simulate -- --kind ${kind.name} --history '${JSON.stringify(smallest.history)}'`,
    `or, before steps were left out: npm run simulate -- --kind ${kind.name} --seed ${seed} --path ${counterexamplePath}`,
  ].join("\n");
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

const whyIn = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : "nothing was thrown";

const toldBy = ({ history, why, leftOut }: Smallest, shrinks: number): string[] => [
  why,
  `after ${shrinks} shrinks, and ${leftOut} steps left out, the history, which begins ${history.minutesLeft} min before a month's end, is`,
  ...history.steps.map((step, index) => `${String(index + 1).padStart(3)} ${tell(step)}`),
];
