/** Why the decision table says what it says. Stable: reports, rows and people go by these words. */
export type Reason =
  | "foreign"
  | "provider_protected"
  | "dying"
  | "identity_mismatch"
  | "unreadable"
  | "unattributed"
  | "duplicate"
  | "late_landing"
  | "requested"
  | "expired"
  | "launch_failed"
  | "attach_failed"
  | "live"
  | "max_age"
  | "young"
  | "no_row"
  | "unknown_age"
  | "gone"
  | "lost"
  | "never_seen"
  | "not_seen"
  | "other_credential"
  | "inventory_untrusted";

/**
 * Why absence proves nothing: the row was made under another credential of the provider, which may show another project; or the
 * last inventory lacked more machines at once than can be believed. Each is released by itself.
 */
export type Doubt = Extract<Reason, "other_credential" | "inventory_untrusted">;

/** Why a firewall, a network or a key is deleted, kept or closed. */
export type ResourceReason =
  | Extract<
      Reason,
      | "requested"
      | "expired"
      | "gone"
      | "not_seen"
      | "unreadable"
      | "identity_mismatch"
      | "no_row"
      | "duplicate"
      | "late_landing"
    >
  /** Past its end at the first look; the second one deletes it. */
  | "idle"
  | "in_use"
  /** Another row stands for the same key. */
  | "shared"
  /** A key that was there before us. */
  | "not_ours"
  | "disowned"
  /** The provider has no such kind. */
  | "not_offered";
