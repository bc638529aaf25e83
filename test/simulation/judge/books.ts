/** What a history has to be judged by: what went wrong when, how often, and what is broken. */
import type { LogEvent } from "../../../src/log.ts";
import type { Met } from "../tally.ts";

export interface Books {
  /** What has machines looked after later, or health red, though nothing is wrong. */
  readonly excuses: Set<string>;
  /** What has health red for as long as it likes, though nothing is wrong and nothing late. */
  readonly doubts: Set<string>;
  /** Servers, some action of whose creation has failed. */
  readonly unfinished: Set<number>;
  /** When mayfly was last at work while the provider did not show a server, by its id. */
  readonly unseenAt: Map<number, number>;
  /** How often each fault struck, by what it is. */
  readonly strikes: Map<string, number>;
  /** What of this tick concerned more than one machine, by what it is. */
  readonly wide: Set<string>;
  /** Servers that a call of this tick was about when a fault met it. */
  readonly hit: Set<number>;
  /** How often a fault has met a call about a server. */
  readonly hits: Map<number, number>;
  /** Whether D1 has refused something in what is going on. */
  isD1Refusing: boolean;
  /** When something last went wrong; unix milliseconds. */
  struckAt: number;
  /** Promises that did not hold, in words. */
  readonly broken: string[];
  /** What happened, in the order it happened: equal for equal histories. */
  readonly trace: string[];
  readonly logs: LogEvent[];
  readonly born: Map<number, number>;
  died: number;
  answers: number;
  /** What else has happened, as a run's tally counts it. */
  readonly met: Met;
  /** How often the judge of money was asked, and what it tolerated. */
  readonly money: Map<string, number>;
  /** How often each caller got what it asked for. */
  readonly served: Map<string, number>;
  /** Whether signed events have asked for machines, which are in no order that the judge of money keeps. */
  areEventsSent: boolean;
  ticks: number;
  /** Good ticks that a machine lived on past its end: the longest. */
  longestOverstay: number;
}

export const openBooks = (): Books => ({
  excuses: new Set(),
  doubts: new Set(),
  unfinished: new Set(),
  unseenAt: new Map(),
  strikes: new Map(),
  wide: new Set(),
  hit: new Set(),
  hits: new Map(),
  isD1Refusing: false,
  struckAt: 0,
  broken: [],
  trace: [],
  logs: [],
  born: new Map(),
  died: 0,
  answers: 0,
  met: new Map(),
  money: new Map(),
  served: new Map(),
  areEventsSent: false,
  ticks: 0,
  longestOverstay: 0,
});

export function strike(books: Books, what: string, now: number, times = 1): void {
  books.strikes.set(what, (books.strikes.get(what) ?? 0) + times);
  books.struckAt = now;
}
