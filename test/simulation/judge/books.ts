/** What a history has to be judged by: what owners were told and asked for, what went wrong when, and what is broken. */
import type { ServerState } from "../../simulator/simulator.ts";
import type { LogEvent } from "../../../src/log.ts";
import type { Met } from "../tally.ts";

export interface Books {
  /** The end that the owner was told, by uid; unix milliseconds. */
  readonly told: Map<string, number>;
  /** The later end that a person wrote on the label, by uid, while nobody has written another. */
  readonly lengthened: Map<string, number>;
  /** Uids whose end their owner has asked for. */
  readonly asked: Set<string>;
  /** (owner, name) whose end is being asked for right now. */
  readonly asking: Set<string>;
  /** How often each fault struck, by what it is. */
  readonly strikes: Map<string, number>;
  /** What of this tick concerned more than one machine, by what it is. */
  readonly wide: Set<string>;
  /** Servers that a call of this tick was about when a fault met it. */
  readonly hit: Set<number>;
  /** Words about all of which something is so that was asked for by then. */
  readonly words: { readonly which: (server: ServerState) => boolean; readonly at: number }[];
  /** Why machines are looked after later for now, though nothing is wrong. */
  readonly excuses: Set<string>;
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
  told: new Map(),
  lengthened: new Map(),
  asked: new Set(),
  asking: new Set(),
  strikes: new Map(),
  wide: new Set(),
  hit: new Set(),
  words: [],
  excuses: new Set(),
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
