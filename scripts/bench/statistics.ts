// Of several samples the median counts; how far they lie apart is told beside it.

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Throws for no samples: nothing was measured. */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const [min, median, max] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  if (min === undefined || median === undefined || max === undefined) throw new Error("no samples");
  return { min, median, max };
}

/** `1.02/1.10/1.31`: least, median, most. */
export const spreadText = ({ min, median, max }: Spread, digits: number): string =>
  [min, median, max].map((value) => value.toFixed(digits)).join("/");
