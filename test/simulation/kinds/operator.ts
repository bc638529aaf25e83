/** What somebody who runs mayfly does to it, and people to what it has: settings, holds, sweeps by hand, and hands in the project. */
import fc from "fast-check";
import { historyOf, mishap, NAMES, step } from "../history.ts";
import { OPERATOR_ACTS } from "../acts/operator-acts.ts";
import { HAND_MADE } from "../world/hands.ts";
import { withMishap } from "./with-mishap.ts";
import { byHand, operatorAct, setting, wave } from "./operator-steps.ts";
import { SHORT_LIVED, type Kind } from "./kind.ts";

const act = operatorAct(NAMES);
const history = historyOf(
  [720, 130, 5],
  fc.oneof(
    { arbitrary: step, weight: 14 },
    { arbitrary: withMishap(act, mishap), weight: 18 },
    { arbitrary: setting, weight: 3 },
    { arbitrary: byHand, weight: 3 },
    { arbitrary: wave, weight: 1 },
  ),
);

export const OPERATOR: Kind = {
  name: "operator",
  rules: { ...SHORT_LIVED, names: NAMES },
  bindings: { MAX_MACHINES: "20", MAX_EUR_PER_MONTH: "off" },
  history,
  isMoneyJudged: false,
  hasStrangers: true,
  enough: 60,
  mustMeet: [
    ...OPERATOR_ACTS.map((what) => `act ${what}`),
    ...["teardown", "bulk", "sweep"].map((what) => `act dry ${what}`),
    ...["second", "elsewhere"].map((what) => `token ${what}`),
    ...["move", "move_unnamed", "forget", "name"].map((what) => `installation ${what}`),
    "epoch",
    "creates off",
    "creates on",
    ...HAND_MADE.map((what) => `by hand ${what}`),
    ...["creates_off", "installation_changed", "provider_quota", "spec_mismatch", "sweep_running", "unauthorized"].map(
      (what) => `code ${what}`,
    ),
    ...["alert other_credential", "alert held", "kept inventory_untrusted", "settled lost", "settled not_ours"].map(
      (what) => `report ${what}`,
    ),
    ...["launch_failed", "attach_failed", "requested", "lost"].map((what) => `reason ${what}`),
  ],
};
