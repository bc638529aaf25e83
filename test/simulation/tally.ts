/** Counts over histories: the one thing that a run says of itself, and that runs side by side are added up to. */
export interface Tally {
  /** Those that only made a failing one smaller too. */
  histories: number;
  ticks: number;
  answers: number;
  born: number;
  died: number;
  /** Good ticks that a machine lived on past its end: the longest. */
  longestOverstay: number;
  /** How often what happened, by what it is: see `Met`. */
  readonly met: Record<string, number>;
}

/**
 * What is counted of a history. Faults stand as they are called; all else has a word before it: `step create`, `code limit_count` of an
 * answer, `struck create` of
 * the calls that faults met, `reason expired` of an end, `report destroyed expired` of a sweep, `served tok.ann`, `judged …` by the judge of money.
 */
export type Met = Map<string, number>;

export const openTally = (): Tally => ({
  histories: 0,
  ticks: 0,
  answers: 0,
  born: 0,
  died: 0,
  longestOverstay: 0,
  met: {},
});

export const meet = (met: Met, what: string, times = 1): void => void met.set(what, (met.get(what) ?? 0) + times);

export function addTally(into: Tally, one: Tally): void {
  into.histories += one.histories;
  into.ticks += one.ticks;
  into.answers += one.answers;
  into.born += one.born;
  into.died += one.died;
  into.longestOverstay = Math.max(into.longestOverstay, one.longestOverstay);
  for (const [what, times] of Object.entries(one.met)) into.met[what] = (into.met[what] ?? 0) + times;
}

/** Which of these words no history has met. */
export const neverMet = ({ met }: Pick<Tally, "met">, words: readonly string[]): string[] =>
  words.filter((what) => (new Map(Object.entries(met)).get(what) ?? 0) === 0);
