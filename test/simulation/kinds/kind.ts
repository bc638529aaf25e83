/** A kind of histories: what its world is like, what may happen there, and what a run of it must have met to have shown anything. */
import type fc from "fast-check";
import type { History } from "../history.ts";

/** What mayfly is set to, as the judge knows it; milliseconds. */
export interface Rules {
  readonly maxAge: number;
  readonly launchDeadline: number;
  /** At least so many machines die in one tick of this plan. */
  readonly capacity: number;
  /** Of machines. */
  readonly names: readonly string[];
}

export interface Kind {
  readonly name: string;
  readonly rules: Rules;
  /** What its bindings say otherwise than those of all. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly history: fc.Arbitrary<History>;
  /** Whether what machines cost is judged: that judge knows the small world alone. */
  readonly isMoneyJudged: boolean;
  /** Whether other people have things in the project from the beginning. */
  readonly hasStrangers?: true;
  /** How many of a run of two thousand are of this kind. */
  readonly share: number;
  /** What each run that is long enough must have met: acts, faults, reasons, report codes, as they are counted. */
  readonly mustMeet: readonly string[];
}
