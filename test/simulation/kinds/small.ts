/** Small and nasty: two names, few machines, narrow limits, and a fault at every await. */
import { OWNERS } from "../world/callers.ts";
import { EFFECTS, history, NAMES, ODDITIES } from "../history.ts";
import { CALLS } from "../world/calls.ts";
import { MISHAPS } from "../world/invocation.ts";
import { OF_ALL } from "../world/limits.ts";
import { JUDGED } from "../money/judgement.ts";
import { SHORT_LIVED, type Kind } from "./kind.ts";

export const SMALL: Kind = {
  name: "small",
  rules: { ...SHORT_LIVED, names: NAMES },
  bindings: { MAX_MACHINES: String(OF_ALL.machines), MAX_EUR_PER_MONTH: OF_ALL.eurPerMonth.toFixed(2) },
  history,
  isMoneyJudged: true,
  enough: 100,
  mustMeet: [
    ...EFFECTS,
    ...ODDITIES,
    ...MISHAPS,
    ...Object.keys(CALLS).map((on) => `struck ${on}`),
    ...OWNERS.map((owner) => `served ${owner}`),
    ...JUDGED.map((what) => `judged ${what}`),
  ],
};
