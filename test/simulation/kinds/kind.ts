/** A kind of histories: what its world is like, what may happen there, and what a run of it must have met to have shown anything. */
import type fc from "fast-check";
import type { History } from "../history.ts";
import { HOUR, MINUTE } from "../world/settings.ts";
import type { KindName } from "./shares.ts";

/** What mayfly is set to, as the judge knows it; milliseconds. */
export interface Rules {
  readonly maxAge: number;
  readonly launchDeadline: number;
  /** At least so many machines die in one tick of this plan. */
  readonly capacity: number;
  /** Of machines. */
  readonly names: readonly string[];
}

/** All but the names, where a history is to reach the greatest age: shorter than by default. */
export const SHORT_LIVED = { maxAge: 4 * HOUR, launchDeadline: 15 * MINUTE, capacity: 30 } as const;

export interface Kind {
  readonly name: KindName;
  readonly rules: Rules;
  /** What its bindings say otherwise than those of all. */
  readonly bindings: Readonly<Record<string, string>>;
  /** What of it is otherwise in that history. */
  readonly under?: (history: History) => Pick<Kind, "rules" | "bindings">;
  readonly history: fc.Arbitrary<History>;
  /** Whether what machines cost is judged: that judge knows the small world alone. */
  readonly isMoneyJudged: boolean;
  /** Whether what a month is told to have cost is held against the bill at the end. */
  readonly isCostSummed?: true;
  /** Whether other people have things in the project from the beginning. */
  readonly hasStrangers?: true;
  /** So many histories must have met all of `mustMeet`; a test run plays as many. */
  readonly enough: number;
  /** As `Met` counts them. */
  readonly mustMeet: readonly string[];
}
