/** Callers of all kinds, who wait and hang up, whose tokens end, who mistake names and ids, and whose events come as they come. */
import fc from "fast-check";
import { eventAct } from "../events.ts";
import { CALLER_ACTS, SERVED } from "../acts/caller-acts.ts";
import { historyOf, mishap, NAMES, step } from "../history.ts";
import { HANG_UP } from "../world/invocation.ts";
import { callerAct, hangUp } from "./caller-steps.ts";
import { withMishap } from "./with-mishap.ts";
import { SHORT_LIVED, type Kind } from "./kind.ts";

const act = callerAct(NAMES);
const met = fc.oneof({ arbitrary: mishap, weight: 3 }, { arbitrary: hangUp, weight: 1 });
const history = historyOf(
  [720, 130, 5],
  fc.oneof(
    { arbitrary: step, weight: 8 },
    { arbitrary: withMishap(act, met), weight: 24 },
    { arbitrary: withMishap(eventAct, mishap), weight: 4 },
    {
      arbitrary: fc.record({
        do: fc.constant("together" as const),
        first: act,
        second: act,
        order: fc.nat({ max: 2 ** 24 }),
        mishap: met,
      }),
      weight: 3,
    },
  ),
);

export const CALLER: Kind = {
  name: "caller",
  rules: { ...SHORT_LIVED, names: NAMES },
  bindings: { MAX_MACHINES: "8", MAX_EUR_PER_MONTH: "off" },
  history,
  isMoneyJudged: false,
  enough: 60,
  mustMeet: [
    ...SERVED,
    ...CALLER_ACTS.map((what) => `act ${what}`),
    HANG_UP,
    "act on another's",
    "step event",
    "step replay",
    ...[
      "forbidden",
      "unauthorized",
      "not_found",
      "released",
      "spec_mismatch",
      "limit_lease",
      "limit_count",
      "expired",
    ].map((what) => `code ${what}`),
    ...["requested", "expired"].map((what) => `reason ${what}`),
    "report settled carried_out",
  ],
};
