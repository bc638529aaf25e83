export const LONGEST_BACK_OFF_MS = 15 * 60_000;

/**
 * How long to leave a machine alone after one more failure, `attempts` of them before: longer than a tick from the first on, so
 * that others come first, and a quarter of an hour at most.
 */
export const backOffMs = (attempts: number): number =>
  Math.min(90_000 * 2 ** Math.min(attempts, 10), LONGEST_BACK_OFF_MS);
