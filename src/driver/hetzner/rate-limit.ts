import { DriverError } from "../driver.ts";

/** What an answer's headers said of the project's hourly budget, and when. */
export interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The share of the budget that requests leave to deletes and sweeps: an expired machine must die though everybody is asking. */
const RESERVED_SHARE = 0.1;
const HOUR_SECONDS = 3600;

/** Reads the headers of any answer; null where they are missing or no numbers. The limit is a project's own (3600, 7200, …). */
export function readRate(headers: Headers, now: number): Rate | null {
  const number = (name: string): number | null => {
    const text = headers.get(name) ?? "";
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  };
  const limit = number("RateLimit-Limit");
  const remaining = number("RateLimit-Remaining");
  return limit === null || limit === 0 || remaining === null ? null : { limit, remaining, at: now };
}

/** How many calls are missing until there are more than the reserve; none or fewer than none where there are. */
function missingCalls(rate: Rate, now: number): number {
  const refilled = (Math.max(0, now - rate.at) / 1000) * (rate.limit / HOUR_SECONDS);
  return rate.limit * RESERVED_SHARE - Math.min(rate.limit, rate.remaining + refilled);
}

/** Whether more is left than the reserve; also where nothing is known. */
export const hasReserve = (rate: Rate | undefined, now: number): boolean =>
  rate === undefined || missingCalls(rate, now) <= 0;

/**
 * Throws `rate_limited`, before any call, while only the reserve for deletes is left, with the seconds until there is more:
 * the budget is refilled evenly over the hour.
 */
export function checkReserve(rate: Rate | undefined, now: number): void {
  if (rate === undefined || hasReserve(rate, now)) return;
  throw new DriverError("rate_limited", "what is left of the provider's rate limit is kept for deleting", {
    retryable: true,
    retryAfter: Math.max(1, Math.ceil(missingCalls(rate, now) / (rate.limit / HOUR_SECONDS))),
  });
}
