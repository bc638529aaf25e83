/** What a history has to be judged by: what went wrong when, how often, and what is broken. */
import { LABEL } from "../../../src/machine/labels.ts";
import type { LogEvent } from "../../../src/log.ts";
import { meet, type Met } from "../tally.ts";

export interface Books {
  /** What has machines looked after later, or health red, though nothing is wrong. */
  readonly excuses: Set<string>;
  /** What has health red for as long as it likes, though nothing is wrong and nothing late. */
  readonly doubts: Set<string>;
  /** Servers that were not given all that they were made with, or from which a person took it: the firewalls that they are to have. */
  readonly unfinished: Map<number, readonly number[]>;
  /** When mayfly was last at work while the provider did not show a server, by its id. */
  readonly unseenAt: Map<number, number>;
  /** How often each fault struck, by what it is. */
  readonly strikes: Map<string, number>;
  /** What of this tick concerned more than one machine, by what it is. */
  readonly wide: Set<string>;
  /** Those of it that the end of a machine may wait for. */
  readonly near: Set<string>;
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
  unfinished: new Map(),
  unseenAt: new Map(),
  strikes: new Map(),
  wide: new Set(),
  near: new Set(),
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

/** A fault met a call that was not about one server alone. What a list of certain machines answers, their ends wait for; what else is listed, made or taken away they do not. */
export function noteWide(books: Books, what: string, request: Request): void {
  books.wide.add(what);
  const url = new URL(request.url);
  const isOfServers = url.pathname === "/v1/servers" && request.method === "GET";
  const isApart = isOfServers
    ? !(url.searchParams.get("label_selector") ?? "").includes(LABEL.uid)
    : !url.pathname.startsWith("/v1/servers/");
  if (!isApart || CONCERNS_ALL.has(what)) books.near.add(what);
}

/** Whoever meets one of these need not try anything else. */
export const CONCERNS_ALL: ReadonlySet<string> = new Set(["rate_limited", "unauthorized"]);

export function strike(books: Books, what: string, now: number, times = 1): void {
  meet(books.strikes, what, times);
  books.struckAt = now;
}
