/** What somebody who runs mayfly does to it, and people to what it has: settings, holds, sweeps by hand, and hands in the project. */
import fc from "fast-check";
import { EFFECTS, mishap, NAMES, step, type History } from "../history.ts";
import { HOUR, MINUTE } from "../world/settings.ts";
import { withMishap } from "./with-mishap.ts";
import { byHand, operatorAct, setting, wave } from "./operator-steps.ts";
import type { Kind } from "./kind.ts";

const act = operatorAct(NAMES);
const history: fc.Arbitrary<History> = fc.record({
  minutesLeft: fc.constantFrom(720, 130, 5),
  steps: fc.array(
    fc.oneof(
      { arbitrary: step, weight: 14 },
      { arbitrary: withMishap(act, mishap), weight: 18 },
      { arbitrary: setting, weight: 3 },
      { arbitrary: byHand, weight: 3 },
      { arbitrary: wave, weight: 1 },
    ),
    { minLength: 1, maxLength: 40, size: "max" },
  ),
});

export const OPERATOR: Kind = {
  name: "operator",
  rules: { maxAge: 4 * HOUR, launchDeadline: 15 * MINUTE, capacity: 30, names: NAMES },
  bindings: { MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "off" },
  history,
  isMoneyJudged: false,
  hasStrangers: true,
  enough: 60,
  mustMeet: [...EFFECTS],
};
