/** Conditions that several statements share. The partial indexes are by just these words. */

/** The phases in which a machine may exist. */
export const LIVE_MACHINE = "phase IN ('requested', 'active', 'destroying')";

/** A provider's id in the order of an inventory's pages, which its text alone is not in. As the index `machines_by_provider_id` has it. */
export const idOrder = (id: string): string => `printf('%03d', length(${id})) || ${id}`;

/** The others. */
export const ENDED_MACHINE = "phase IN ('destroyed', 'failed', 'disowned')";

/** The phases in which a firewall, a network or a key may exist. */
export const LIVE_RESOURCE = "phase IN ('requested', 'active', 'deleting')";
/** The others. */
export const ENDED_RESOURCE = "phase IN ('deleted', 'failed')";

/** Says nothing, and leads to an owner's live ones by the index of their names, which begins with the kind. */
export const OF_ANY_KIND = "kind IN ('firewall', 'network', 'ssh_key')";

/** Nobody is trying, nothing backs off; `?1` is now. A day is longer than any back-off, so a later mark is a clock's mistake. */
export const FREE = "(next_try_at IS NULL OR next_try_at <= ?1 OR next_try_at > ?1 + 86400000)";

/** Closed only because nobody saw the machine. As the index `machines_ended_for_absence` has it. */
export const ENDED_FOR_ABSENCE =
  "phase IN ('destroyed', 'failed') AND reason IN ('lost', 'never_seen', 'gone') AND destroy_requested_at IS NULL";

/** Finds the minted token of an id where it has been revoked; `id` is how a statement names that parameter. */
export const revoked = (id: `?${number | ""}`): string =>
  `SELECT 1 FROM tokens WHERE tokens.id = ${id} AND revoked_at IS NOT NULL`;

/** Rows with something under way. As the index `machines_unsettled` has it. */
export const UNSETTLED = `(phase IN ('requested', 'destroying')
  OR (phase = 'active' AND (status = 'creating' OR label_expires_at IS NOT expires_at OR attachments IS NOT NULL)))`;

/** A machine that is known and whose label does not tell its lease's end. */
export const LABEL_BEHIND = `${UNSETTLED} AND phase = 'active' AND provider_id IS NOT NULL AND label_expires_at IS NOT expires_at`;
