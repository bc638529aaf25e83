/** Conditions that several statements share. The partial indexes are by just these words. */

/** The phases in which a machine may exist. */
export const LIVE_MACHINE = "phase IN ('requested', 'active', 'destroying')";

/** The phases in which a firewall, a network or a key may exist. */
export const LIVE_RESOURCE = "phase IN ('requested', 'active', 'deleting')";

/** Nobody is trying, nothing backs off; `?1` is now. A day is longer than any back-off, so a later mark is a clock's mistake. */
export const FREE = "(next_try_at IS NULL OR next_try_at <= ?1 OR next_try_at > ?1 + 86400000)";
