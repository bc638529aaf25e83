const HOUR_MS = 3_600_000;

/** What one request did to the bucket. */
export interface Quota {
  allowed: boolean;
  headers: Record<string, string>;
}

/**
 * The project's request bucket: holds an hour's worth and refills continuously by the simulator's clock.
 * Source: Hetzner API, Rate Limiting.
 */
export class RateLimit {
  readonly limit: number;
  private tokens: number;
  private refilled_at_ms: number;

  /** Full, unless so many requests are said to be left. */
  constructor(limit: number, now_ms: number, left = limit) {
    this.limit = limit;
    this.tokens = left;
    this.refilled_at_ms = now_ms;
  }

  /** Takes one request out of the bucket, if there is one. */
  take(now_ms: number): Quota {
    this.refill(now_ms);
    const allowed = this.tokens >= 1;
    if (allowed) this.tokens -= 1;
    // The reset is the moment when the bucket is full again, not when the next request is allowed.
    const full_at_ms = now_ms + ((this.limit - this.tokens) * HOUR_MS) / this.limit;
    return {
      allowed,
      headers: {
        "RateLimit-Limit": String(this.limit),
        "RateLimit-Remaining": String(Math.floor(this.tokens)),
        "RateLimit-Reset": String(Math.ceil(full_at_ms / 1000)),
      },
    };
  }

  /** Whole requests left. */
  remaining(now_ms: number): number {
    this.refill(now_ms);
    return Math.floor(this.tokens);
  }

  private refill(now_ms: number): void {
    // A clock set back must not drain the bucket.
    const elapsed_ms = Math.max(0, now_ms - this.refilled_at_ms);
    this.tokens = Math.min(this.limit, this.tokens + (elapsed_ms * this.limit) / HOUR_MS);
    this.refilled_at_ms = now_ms;
  }
}
