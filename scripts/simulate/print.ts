/** What a run says of itself. */
import { type Tally, neverMet } from "../../test/simulation/tally.ts";
import type { Result } from "../../test/simulation/order.ts";

/** In this order; faults have no word of their own. */
const GROUPS = ["step", "fault", "struck", "reason", "code", "report", "served", "judged", "late", "health"] as const;

const groupOf = (what: string): string => GROUPS.find((group) => what.startsWith(`${group} `)) ?? "fault";

/** One kind's tally, in lines. */
export function linesOf(kind: string, tally: Tally): string[] {
  const { histories, ticks, answers, born, died, longestOverstay, met } = tally;
  const counts = Object.entries(met).toSorted(([a], [b]) => a.localeCompare(b));
  return [
    `${kind}: ${histories} histories, ${ticks} ticks, ${answers} requests, ${born} machines made, ${died} gone, ` +
      `longest overstay past expires_at ${longestOverstay} good ticks`,
    ...GROUPS.flatMap((group) => {
      const those = counts.filter(([what]) => groupOf(what) === group);
      const told = those.map(
        ([what, times]) => `${what.startsWith(`${group} `) ? what.slice(group.length + 1) : what} ${times}`,
      );
      return told.length === 0 ? [] : [`  ${group}: ${told.join(", ")}`];
    }),
  ];
}

/** What a run that was long enough should have met, and has not. */
export const missingFrom = ({ histories, met }: Tally, { enough, words }: Result["mustMeet"]): string[] =>
  histories < enough ? [] : neverMet({ met }, words);
