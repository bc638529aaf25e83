/** What is asked of a run of histories, and what it answers: all that passes between the command and the Worker. */
export interface Order {
  readonly seed: number;
  readonly runs: number;
  /** Of one history: where it stands among all of the seed. */
  readonly path?: string;
  /** A history that breaks a promise ends the run, and is not made smaller. */
  readonly isFirstEnough?: true;
}

/** Counts over all histories that were played, those that only made a failing one smaller too. */
export interface Tally {
  histories: number;
  ticks: number;
  answers: number;
  born: number;
  died: number;
  longestOverstay: number;
  strikes: Record<string, number>;
  /** What creates and renewals the judge of money was asked about, and what it tolerated. */
  money: Record<string, number>;
  /** How often a machine was late, by what excused that, and how often health had to be what. */
  late: Record<string, number>;
  health: Record<string, number>;
  /** Calls that were answered with 2xx, by who called. */
  served: Record<string, number>;
}

export interface Result {
  readonly tally: Tally;
  /** The smallest history that breaks a promise, and how to play it again; null when all hold. */
  readonly failure: string | null;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Undefined where nobody asked: a short run. */
    histories: Order | undefined;
  }
  interface TaskMeta {
    histories?: Result;
  }
}
