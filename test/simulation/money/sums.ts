/**
 * What the machines of an account, or of all, come to: as it is, or as much of it as an honest mayfly must know. What it may not know is
 * tolerated, each kind by itself, so that it can be told which of them excused something.
 */
import type { Books } from "../judge/books.ts";
import type { Leases } from "../judge/leases.ts";
import { leastOf, mostOf } from "../judge/life.ts";
import type { Rules } from "../kinds/kind.ts";
import { chargesOf, hourOf, type ByMonth, type Order } from "./charges-by-hand.ts";
import type { Clock } from "../world/provider.ts";
import type { Known } from "./register.ts";
import { HOUR } from "../world/settings.ts";
import { mayDie } from "../judge/watch.ts";

export const TOLERATED = {
  d1_lost: "what was gone when D1 was lost or set back, and what was there until it is found again",
  unseen: "a machine that lists did not show for a while, or that landed after nobody waited for it",
  taken: "a machine whose labels a person has taken off",
  by_hand: "a later end that a person wrote on a label",
  clocks: "one started hour a machine, where the provider's clock or a sweep's was not ours",
  prices: "prices that have changed, until they are asked for again",
  overstayed: "what others lived past their ends while a call was under way",
  ending: "the rest of a lease whose end has been decided early",
} as const;
export type Tolerance = keyof typeof TOLERATED;
export const ALL: ReadonlySet<Tolerance> = new Set(Object.keys(TOLERATED).filter((word) => isTolerance(word)));
export const NONE: ReadonlySet<Tolerance> = new Set();
function isTolerance(word: string): word is Tolerance {
  return word in TOLERATED;
}

/** A create whose answer was cut off: mayfly cannot know whether it has landed, and keeps what it may cost. */
export interface Pending {
  readonly owner: string;
  readonly key: string;
  readonly account: string;
  readonly order: Order;
  readonly percent: number;
  readonly askedAt: number;
  readonly promised: number;
}

/** What has become of time and prices. */
export interface Market {
  /** New orders cost so many percent of the catalogue's prices; the lowest and highest that ever did. */
  percent: number;
  lowest: number;
  highest: number;
  /** Whether the provider's clock, or a sweep's, ever differed from ours. */
  hasOtherClocks: boolean;
}

/** When a call is judged, and when what it is judged by may have been decided. */
export interface Moment {
  readonly now: number;
  readonly since: number;
}

/** A call whose answer was lost, or that goes on: what it wanted may have been decided, from `since` on. */
export interface Undecided {
  readonly key: string;
  readonly account: string;
  readonly since: number;
  /** One of these is made; none where an end is moved. */
  readonly orders: readonly Order[];
}

export interface Facts {
  readonly books: Books;
  readonly leases: Leases;
  readonly rules: Rules;
  readonly clock: Clock;
  readonly market: Market;
  readonly machines: () => readonly Known[];
  readonly pending: () => readonly Pending[];
  readonly undecided: () => readonly Undecided[];
}

/** One account's, or everybody's where that is null; without the machine of an id. */
export interface Whose {
  readonly account: string | null;
  readonly except?: number;
}

type Allowed = ReadonlySet<Tolerance>;

export type Sums = ReturnType<typeof openSums>;

export function openSums({ books, leases, rules, clock, market, machines, pending }: Facts) {
  const percentOf = ({ percent }: { readonly percent: number }, allowed: Allowed): number =>
    allowed.has("prices") ? Math.min(percent, market.lowest) : percent;

  const isKnown = (one: Known, { account, except }: Whose, allowed: Allowed): boolean =>
    one.id !== except &&
    (account === null || one.account === account) &&
    ![...one.doubts].some((doubt) => allowed.has(doubt));
  const known = (whose: Whose, allowed: Allowed) => machines().filter((one) => isKnown(one, whose, allowed));
  const underWay = ({ account }: Whose) => pending().filter((one) => account === null || one.account === account);

  /** By our clock. */
  function endOf(one: Known, allowed: Allowed): number {
    const life = leases.of(one.uid);
    if (life === undefined) return one.promised;
    return leastOf(allowed.has("by_hand") ? { ...life, byHand: null } : life);
  }

  function untilOf(one: Known, { now, since }: Moment, allowed: Allowed): number {
    const decided = allowed.has("overstayed") ? since : now;
    const isEnding = allowed.has("ending") && one.server !== null && mayDie(one.server, { books, leases, rules }, now);
    const reserved = (isEnding ? decided : Math.max(decided, endOf(one, allowed))) + clock.skew;
    if (one.deletedAt === null) return reserved;
    return allowed.has("overstayed") ? Math.min(one.deletedAt, reserved) : one.deletedAt;
  }

  /** What a life comes to, as far as clocks are to be believed. */
  function chargesUntil(order: Order, percent: number, born: number, until: number, allowed: Allowed): ByMonth {
    const isDoubtful = allowed.has("clocks") && market.hasOtherClocks;
    return chargesOf(order, percent, born, isDoubtful ? until - HOUR : until);
  }

  /** The latest end that it may have. */
  function latestOf(one: Known): number {
    const life = leases.of(one.uid);
    return life === undefined ? one.promised : mostOf(life);
  }

  return {
    endOf,
    latestOf,
    percentOf,
    chargesUntil,

    /** What a month comes to with the ends as they are promised, micro-EUR. */
    month(month: string, whose: Whose, moment: Moment, allowed: Allowed): number {
      const lives = known(whose, allowed).map((one) =>
        chargesUntil(one.order, percentOf(one, allowed), one.bornAt, untilOf(one, moment, allowed), allowed),
      );
      const reserved = underWay(whose).map((one) =>
        chargesUntil(one.order, percentOf(one, allowed), one.askedAt, one.promised, allowed),
      );
      return [...lives, ...reserved].reduce((sum, charges) => sum + (charges.get(month) ?? 0), 0);
    },

    /** What an hour of live machines costs, micro-EUR. */
    hour: (whose: Whose, allowed: Allowed): number =>
      [...known(whose, allowed).filter(({ deletedAt }) => deletedAt === null), ...underWay(whose)].reduce(
        (sum, one) => sum + hourOf(one.order, percentOf(one, allowed)),
        0,
      ),

    /** How many there are. */
    count: (whose: Whose, allowed: Allowed): number =>
      known(whose, allowed).filter(({ deletedAt }) => deletedAt === null).length + underWay(whose).length,
  };
}
