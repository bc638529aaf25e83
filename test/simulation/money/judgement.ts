/** Whether a call was rightly let through, or rightly refused, by what machines come to (I6). */
import { hourOf, type ByMonth, type Order } from "./charges-by-hand.ts";
import { limitsOfOwner, MOST_OF_ALL } from "../world/limits.ts";
import { meet } from "../tally.ts";
import { openMost } from "./most.ts";
import { ALL, NONE, openSums, type Facts, type Moment, type Tolerance } from "./sums.ts";

type Allowed = ReadonlySet<Tolerance>;

/** What was asked, and by whom. */
interface Asked {
  /** In words, for whoever reads that it was wrong. */
  readonly what: string;
  readonly owner: string;
  /** The machine's id where it is there already: then it is one more in no count. */
  readonly id?: number;
}

/** A machine as it is to be from now on. */
export interface Wanted extends Asked {
  /** The months in which it costs more than before. */
  readonly months: readonly string[];
  /** What it comes to by month; micro-EUR. */
  readonly charges: (allowed: Allowed) => ByMonth;
  /** What an hour costs; micro-EUR. */
  readonly hour: (allowed: Allowed) => number;
}

/** A refused call, whichever of its orders it would have become. */
export interface Refused extends Asked {
  readonly orders: readonly Order[];
  readonly charges: (order: Order) => ByMonth;
}

interface Limit {
  /** Null = all. */
  readonly account: string | null;
  readonly machines: number | null;
  readonly perHour: number | null;
  readonly perMonth: number | null;
}
const limitsFor = (owner: string): Limit[] => [limitsOfOwner(owner), { account: null, perHour: null, ...MOST_OF_ALL }];

/** What a run must have met, or it would show nothing. */
export const JUDGED = [
  "creates let through",
  "creates refused: limit_count",
  "creates refused: limit_money",
  "renewals let through",
  "renews refused: limit_money",
  "refusals judged",
];

export function openJudgement(facts: Facts) {
  const { books, market } = facts;
  const sums = openSums(facts);
  const most = openMost(facts, sums.latestOf);
  const count = (what: string): void => meet(books.money, what);

  /** Whether what must be known is within a limit; what is only tolerated is counted. */
  function hold(what: string, limit: number | null, value: (allowed: Allowed) => number): void {
    if (limit === null || value(NONE) <= limit) return;
    if (value(ALL) > limit) {
      books.broken.push(`I6: ${what}: ${value(ALL)} of ${limit}`);
      return;
    }
    const needed = [...ALL].filter((one) => value(new Set([...ALL].filter((other) => other !== one))) > limit);
    for (const one of needed) count(`tolerated: ${one}`);
    if (needed.length === 0) count("tolerated: any of several");
  }

  return {
    sums,
    count,

    letThrough(wanted: Wanted, moment: Moment): void {
      const { what, owner, id } = wanted;
      const isNew = id === undefined;
      count(isNew ? "creates let through" : "renewals let through");
      for (const { account, machines, perHour, perMonth } of limitsFor(owner)) {
        const whose = isNew ? { account } : { account, except: id };
        const told = `${what} was let through, with which ${account ?? "all"} come to`;
        for (const month of wanted.months)
          hold(
            `${told} too much in ${month}`,
            perMonth,
            (allowed) => sums.month(month, whose, moment, allowed) + (wanted.charges(allowed).get(month) ?? 0),
          );
        if (!isNew) continue;
        hold(`${told} too much an hour`, perHour, (allowed) => sums.hour(whose, allowed) + wanted.hour(allowed));
        hold(`${told} too many`, machines, (allowed) => sums.count(whose, allowed) + 1);
      }
    },

    /** While no fault is about: whether one of the limits may have been met. */
    refused({ what, owner, id, orders, charges }: Refused, now: number): void {
      // What these make fills limits too, and when they are carried out nobody here knows.
      if (books.areEventsSent) {
        count("refusals beside events");
        return;
      }
      count("refusals judged");
      const isBeyond = ({ account, machines, perHour, perMonth }: Limit): boolean => {
        const whose = id === undefined ? { account } : { account, except: id };
        const isIn = (month: string, own: number) =>
          perMonth !== null && most.month(month, whose, now) + own > perMonth;
        if (orders.some((order) => [...charges(order)].some(([month, own]) => isIn(month, own)))) return true;
        if (id !== undefined) return false;
        if (machines !== null && most.count(whose) + 1 > machines) return true;
        const hours = orders.map((order) => most.hour(whose) + hourOf(order, market.highest));
        return perHour !== null && Math.max(...hours) > perHour;
      };
      if (!limitsFor(owner).some(isBeyond)) books.broken.push(`I6: ${what} was refused within every limit`);
    },
  };
}
