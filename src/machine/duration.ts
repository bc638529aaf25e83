const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export const DURATION_RULE = 'must be a whole number and a unit, like "90s", "30m", "2h" or "1d"';

/**
 * Reads `^\d+[smhd]$` as milliseconds. Null for anything else, and for a length no date could hold.
 * One spelling only, so that `1.5h`, `-5m` and ` 5m` are errors and never surprises.
 */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const seconds = SECONDS_PER_UNIT[match?.[2] ?? ""];
  if (match?.[1] === undefined || seconds === undefined) return null;
  const milliseconds = Number(match[1]) * seconds * 1000;
  return milliseconds <= 100 * 365 * 86_400_000 ? milliseconds : null;
}

/** The shortest exact spelling of a length in milliseconds: `86400000` is `1d`, `5400000` is `90m`. */
export function formatDuration(milliseconds: number): string {
  const total = Math.max(0, Math.round(milliseconds / 1000));
  for (const unit of ["d", "h", "m"] as const) {
    const size = SECONDS_PER_UNIT[unit] ?? 1;
    if (total >= size && total % size === 0) return `${total / size}${unit}`;
  }
  return `${total}s`;
}
