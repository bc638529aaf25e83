/** Weeks: leases of days, renewed over days, a month's end, history that is forgotten, and a cron that is late, doubled, lost or silent. */
import fc from "fast-check";
import { fault, mishap, oneOf, only, order, type History, type Step } from "../history.ts";
import { HOUR, MINUTE } from "../world/settings.ts";
import type { Kind } from "./kind.ts";

const NAMES = ["a", "b", "c", "d"] as const;
const DAY = 24 * HOUR;
const whose = { owner: oneOf(["tok.ann", "tok.cy"] as const), name: oneOf(NAMES) };
const ttl = oneOf(["1h", "12h", "12h", "3d", "3d", "9d"] as const);
const span = (cron: "when_due" | "hourly" | "silent", hours: readonly number[]): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant("span" as const), hours: oneOf(hours), cron: fc.constant(cron), order });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      ...whose,
      ttl,
      spec: oneOf([0, 1, 2] as const),
      mishap,
    }),
    weight: 8,
  },
  { arbitrary: fc.record({ do: fc.constant("renew" as const), ...whose, ttl, mishap }), weight: 8 },
  { arbitrary: fc.record({ do: fc.constant("destroy" as const), ...whose, failed: fc.boolean(), mishap }), weight: 2 },
  { arbitrary: span("when_due", [6, 30, 72, 200]), weight: 8 },
  { arbitrary: span("hourly", [6, 30]), weight: 2 },
  { arbitrary: span("silent", [2, 9, 30]), weight: 3 },
  {
    arbitrary: fc.record({
      do: fc.constant("odd_ticks" as const),
      // Minutes; twice the same is a tick that is doubled.
      off: fc.array(oneOf([-1500, -90, -4, 0, 0, 4, 90, 1500] as const), { minLength: 1, maxLength: 4 }),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant("tick" as const), order, mishap }), weight: 4 },
  {
    arbitrary: fault(
      ["create", "list", "look", "relabel", "destroy", "make", "unmake", "read", "catalogue"],
      ["cut_before", "cut_after", "server_error", "rate_limited", "stale"],
    ),
    weight: 4,
  },
  { arbitrary: only("lose_d1", "copy_d1", "restore_d1"), weight: 1 },
);

const BINDINGS = { MAX_AGE: "10d", KEEP_HISTORY: "1d", MAX_MACHINES: "40", MAX_EUR_PER_MONTH: "1000" };

export const CALENDAR: Kind = {
  name: "calendar",
  rules: { maxAge: 10 * DAY, launchDeadline: 15 * MINUTE, capacity: 15, names: NAMES },
  bindings: BINDINGS,
  history: fc.record({
    // Of a month whose end most of them see.
    minutesLeft: oneOf([20, 5, 2, 1].map((days) => (days * DAY) / MINUTE)),
    steps: fc.array(step, { minLength: 4, maxLength: 24, size: "max" }),
  }) satisfies fc.Arbitrary<History>,
  isMoneyJudged: false,
  isCostSummed: true,
  enough: 12,
  mustMeet: ["step span", "odd_tick", "reason expired", "judged months summed"],
};
