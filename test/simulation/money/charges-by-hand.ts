/** What Hetzner charges, counted hour by hour: neither mayfly's arithmetic nor the simulator's, which it is held against. */
import { findServerType } from "../../simulator/catalogue.ts";
import type { Bill } from "../../simulator/bill.ts";
import type { PriceRow } from "../../simulator/prices.ts";
import { IPV4_PRICES } from "../../simulator/pricing.ts";
import { HOUR } from "../world/settings.ts";

/** What is ordered; `percent` of the catalogue's prices. */
export interface Order {
  readonly type: string;
  readonly region: string;
  readonly hasIpv4: boolean;
}

/** Micro-EUR by month, as `2026-11`. */
export type ByMonth = ReadonlyMap<string, number>;

interface Rate {
  readonly hour: number;
  readonly month: number;
}

function rateAt(prices: readonly PriceRow[], region: string, percent: number): Rate {
  const row = prices.find(({ location }) => location === region);
  if (row === undefined) throw new Error(`there is no price in ${region}`);
  const micro = (amount: string): number => Math.round(Number(amount) * 10_000 * percent);
  return { hour: micro(row.price_hourly.gross), month: micro(row.price_monthly.gross) };
}

function ratesOf({ type, region, hasIpv4 }: Order, percent: number): Rate[] {
  const server = rateAt(findServerType(type)?.prices ?? [], region, percent);
  return hasIpv4 ? [server, rateAt(IPV4_PRICES, region, percent)] : [server];
}

/** What an hour costs, its address included, micro-EUR. */
export const hourOf = (order: Order, percent: number): number =>
  ratesOf(order, percent).reduce((sum, { hour }) => sum + hour, 0);

/** What a life from `born` to `until`, unix milliseconds, comes to: an hour at least, and each in the month in which it begins. */
export function chargesOf(order: Order, percent: number, born: number, until: number): ByMonth {
  const hours = new Map<string, number>();
  for (let at = born; at === born || at < until; at += HOUR) {
    const month = monthOf(at);
    hours.set(month, (hours.get(month) ?? 0) + 1);
  }
  const rates = ratesOf(order, percent);
  return new Map(
    [...hours].map(([month, count]) => [
      month,
      rates.reduce((sum, rate) => sum + Math.min(count * rate.hour, rate.month), 0),
    ]),
  );
}

export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

/** What the simulator has billed for a server by now. */
export const billedOf = ({ months }: Bill["servers"][number]): ByMonth =>
  new Map(
    Object.entries(months).map(([month, { server_micro_eur, ipv4_micro_eur }]) => [
      month,
      server_micro_eur + ipv4_micro_eur,
    ]),
  );

export const total = (charges: ByMonth): number => [...charges.values()].reduce((sum, one) => sum + one, 0);
