/** The most that an honest mayfly may reckon with: for each machine an hour more than it comes to, and whatever may be under way. */
import { chargesOf, hourOf, type ByMonth, type Order } from "./charges-by-hand.ts";
import type { Known } from "./register.ts";
import { HOUR, MAX_AGE } from "../world/settings.ts";
import { labelEnd } from "../world/truth.ts";
import type { Facts, Undecided, Whose } from "./sums.ts";

export function openMost({ market, machines, undecided }: Facts, endOf: (one: Known) => number) {
  const known = ({ account, except }: Whose): Known[] =>
    machines().filter((one) => one.id !== except && (account === null || one.account === account));
  const underWay = ({ account }: Whose): readonly Undecided[] =>
    undecided().filter((one) => one.orders.length > 0 && (account === null || one.account === account));
  /** Not proven to be gone, as far as can be told. */
  const isLive = ({ deletedAt, provenBy }: Known): boolean => deletedAt === null || provenBy === null;
  const dearest = (orders: readonly Order[]): number =>
    Math.max(...orders.map((order) => hourOf(order, market.highest)));

  function chargesOfOne(one: Known, now: number): ByMonth {
    const isMoving = undecided().some(({ key, orders }) => key === one.key && orders.length === 0);
    const end = isMoving ? one.bornAt + MAX_AGE : Math.max(endOf(one), one.server === null ? 0 : labelEnd(one.server));
    const until = isLive(one) ? Math.max(now, end) : (one.provenBy ?? now);
    return chargesOf(one.order, market.highest, one.bornAt, until + HOUR);
  }

  return {
    month(month: string, whose: Whose, now: number): number {
      const lives = known(whose).map((one) => chargesOfOne(one, now).get(month) ?? 0);
      const creates = underWay(whose).map(({ orders, since }) =>
        Math.max(
          ...orders.map((order) => chargesOf(order, market.highest, since, since + MAX_AGE + HOUR).get(month) ?? 0),
        ),
      );
      return [...lives, ...creates].reduce((sum, one) => sum + one, 0);
    },
    hour: (whose: Whose): number =>
      known(whose)
        .filter(isLive)
        .map(({ order }) => hourOf(order, market.highest))
        .concat(underWay(whose).map(({ orders }) => dearest(orders)))
        .reduce((sum, one) => sum + one, 0),
    count: (whose: Whose): number => known(whose).filter(isLive).length + underWay(whose).length,
  };
}
