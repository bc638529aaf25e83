// Amounts of money, and what becomes of the catalogue's when Hetzner changes what new orders cost.
import type { Price } from "./resources.ts";

/** What something costs at one place. */
export interface PriceRow {
  location: string;
  price_hourly: Price;
  price_monthly: Price;
}

/** A net amount with its gross at 19 % VAT: exact, so two digits longer, as at Hetzner. */
export function price(net: string): Price {
  return { net, gross: percentOf(net, 119) };
}

/** Prices as they are at so many percent of the catalogue's. */
export function atPercent<Row extends PriceRow>(rows: Row[], percent: number): Row[] {
  if (percent === 100) return rows;
  const changed = ({ net }: Price): Price => price(percentOf(net, percent));
  return rows.map((row) => ({
    ...row,
    price_hourly: changed(row.price_hourly),
    price_monthly: changed(row.price_monthly),
  }));
}

/** The same thing with its prices at so many percent. */
export function priced<Thing extends { prices: PriceRow[] }>(thing: Thing, percent: number): Thing {
  return percent === 100 ? thing : { ...thing, prices: atPercent(thing.prices, percent) };
}

/** So many percent of a decimal amount, exactly: two digits longer. */
function percentOf(amount: string, percent: number): string {
  const [whole = "0", fraction = ""] = amount.split(".");
  const digits = fraction.length + 2;
  const scaled = (BigInt(whole + fraction) * BigInt(percent)).toString().padStart(digits + 1, "0");
  return `${scaled.slice(0, -digits)}.${scaled.slice(-digits)}`;
}
