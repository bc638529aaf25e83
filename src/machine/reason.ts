/** Why the decision table says what it says. Stable: reports, rows and people go by these words. */
const REASONS = [
  "foreign",
  "provider_protected",
  "dying",
  "identity_mismatch",
  "unreadable",
  "unattributed",
  "duplicate",
  "late_landing",
  "reappeared",
  "requested",
  "expired",
  "launch_failed",
  "attach_failed",
  "live",
  "max_age",
  "young",
  "no_row",
  "unknown_age",
  "gone",
  "lost",
  "never_seen",
  "not_seen",
  "other_credential",
  "inventory_untrusted",
] as const;
export type Reason = (typeof REASONS)[number];

/** For which a machine may die before its promised end; a sweep takes such deaths from an allowance. */
const EARLY_DEATHS = ["late_landing", "launch_failed", "attach_failed"] as const;
export type EarlyDeath = (typeof EARLY_DEATHS)[number];
export const isEarlyDeath = (reason: string | null): reason is EarlyDeath => EARLY_DEATHS.some((one) => one === reason);

/**
 * Why absence proves nothing: the row was made under another credential of the provider, which may show another project; or the
 * last inventory lacked more machines at once than can be believed. Each is released by itself.
 */
export type Doubt = Extract<Reason, "other_credential" | "inventory_untrusted">;

/** Why a use case did not do what it was asked: what its caller is told, and the row of a create that failed. */
const REFUSAL_CODES = [
  "invalid_input",
  "forbidden",
  "limit_lease",
  "limit_rate",
  "limit_count",
  "limit_money",
  "spec_mismatch",
  "name_taken",
  "releasing",
  "released",
  "expired",
  "not_found",
  "identity_mismatch",
  "provider_protected",
  "capacity",
  "provider_quota",
  "provider_unauthorized",
  "provider_unavailable",
  "creates_off",
  "installation_changed",
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** Why a firewall, a network or a key is deleted, kept or closed. */
const RESOURCE_REASONS = [
  "requested",
  "expired",
  "gone",
  "not_seen",
  "unreadable",
  "identity_mismatch",
  "no_row",
  "duplicate",
  "late_landing",
  /** Past its end at the first look; the second one deletes it. */
  "idle",
  "in_use",
  /** Another row stands for the same key. */
  "shared",
  /** A key that was there before us. */
  "not_ours",
  "disowned",
  /** The provider refused its deletion too often. It is there still, and nobody looks after it. */
  "given_up",
  /** The provider has no such kind. */
  "not_offered",
] as const;
export type ResourceReason = (typeof RESOURCE_REASONS)[number];

/** Why a row ended, or is about to. `unknown` is a word of another version. */
export const ROW_REASONS = [...REASONS, ...REFUSAL_CODES, ...RESOURCE_REASONS, "unknown"] as const;
export type RowReason = (typeof ROW_REASONS)[number];
