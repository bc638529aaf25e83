/** What the decision depends on besides the two facts. */
export interface Rules {
  /** Whose machines are ours: the current installation first, then those it took over from. */
  readonly installations: readonly string[];
  readonly maxAgeMs: number;
  /** Younger than this a create may still be in flight. */
  readonly graceMs: number;
  readonly launchDeadlineMs: number;
}

const LOOKS_APART_MS = 60_000;

/** One odd look may be a stale answer; only another, an interval after the first, is believed. */
export const isSecondLook = (since: number | null, now: number): boolean =>
  since !== null && now - since >= LOOKS_APART_MS;
