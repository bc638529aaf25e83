import { invalidInput } from "../driver.ts";
import { timeoutOf, type Client, type ClientOptions, type RateMemory } from "./client.ts";
import { pricingAnswer } from "./schema.ts";
import type { PriceRows } from "./server.ts";

export const DEFAULT_CURRENCY = "EUR";

export interface HetznerOptions extends ClientOptions {
  /** What is known of the account behind the token; kept by whoever outlives one driver, so that it is asked once. */
  readonly account?: Account;
  /** What prices are told in; what the project pays in another is not told, nor where this is null. EUR, if it is not said. */
  readonly currency?: string | null;
}

/** What was learnt; each undefined until then. */
export interface Account extends RateMemory {
  /** What `GET /pricing` said. */
  currency?: string;
  /** What the same answer said of a primary IPv4, location by location: no other answer does. */
  ipv4Prices?: PriceRows;
}

/** `GET /pricing`, from which the account's currency and the price of an IPv4 address are learnt (S68). */
export async function askPricing(call: Client, account: Account, timeoutMs?: number) {
  const request = { method: "GET", path: "/pricing", answer: pricingAnswer } as const;
  const { pricing } = await call({ ...request, ...timeoutOf(timeoutMs) });
  account.currency = pricing.currency;
  account.ipv4Prices = pricing.primary_ips.find((entry) => entry?.type === "ipv4")?.prices ?? [];
  return pricing;
}

/** An id that is safe in a path: without this check `""` would ask to delete the collection (S51, P8). */
export function checkId(id: string, field = "provider_id"): string {
  if (!/^[1-9]\d{0,15}$/.test(id) || !Number.isSafeInteger(Number(id)))
    throw invalidInput({ field, rule: "must be a Hetzner id: a whole number from 1 to 2^53-1" });
  return id;
}
