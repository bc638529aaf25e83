/** A crowd: a hundred machines and more of a few owners, many of which end in the same minute, under both plans. */
import fc from "fast-check";
import { fault, mishap, oneOf, only, order, TTLS, type History, type Step } from "../history.ts";
import { MORE_OWNERS } from "../world/callers.ts";
import { SHORT_LIVED, type Kind } from "./kind.ts";
import type { Many } from "./many.ts";

const NAMES = Array.from({ length: 120 }, (_, number) => `n${number}`);
const CROWDS = ["tok.ann", ...MORE_OWNERS] as const;
/** More than two pages of fifty; met by those who fill all names. */
const MOST_MACHINES = 110;
/** So many die in a tick at least, though an inventory pass is under way: docs/decisions/cpu-of-a-sweep.md. */
const CAPACITY = { free: 15, paid: 100 } as const;

const many = (what: readonly Many["what"][], counts: readonly number[]): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constant("many" as const),
    what: oneOf(what),
    owner: oneOf(CROWDS),
    first: oneOf([0, 0, 30, 60, 90]),
    count: oneOf(counts),
    ttl: oneOf(TTLS),
    spec: oneOf([0, 0, 0, 0, 1, 2] as const),
  });
const often = [1, 5, 30, 60] as const;
const minutes = (most: number) =>
  fc.record({ do: fc.constant("minutes" as const), count: fc.integer({ min: 1, max: most }), order });

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: many(["create"], [12, 30, 60]), weight: 12 },
  { arbitrary: many(["renew"], [3, 12, 30]), weight: 3 },
  { arbitrary: many(["destroy"], [3, 12, 40]), weight: 3 },
  { arbitrary: minutes(6), weight: 8 },
  { arbitrary: minutes(32), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("pass" as const), minutes: oneOf([1, 3, 30, 90] as const) }), weight: 3 },
  // Anywhere in a sweep that goes through a batch.
  {
    arbitrary: fc
      .tuple(order, mishap, fc.integer({ min: 1, max: 6 }))
      .map(([own, met, far]): Step => ({ do: "tick", order: own, mishap: met && { ...met, at: met.at * far } })),
    weight: 6,
  },
  {
    arbitrary: fault(
      ["create", "destroy", "look", "list"],
      ["cut_before", "cut_after", "server_error", "locked", "rate_limited"],
      often,
    ),
    weight: 5,
  },
  { arbitrary: fault(["create"], ["action_error", "lands_3m", "lands_1h", "not_done"], often), weight: 4 },
  { arbitrary: fault(["destroy"], ["delete_error", "not_done"], often), weight: 2 },
  { arbitrary: fault(["look"], ["stale"], often), weight: 1 },
  {
    arbitrary: fault(
      ["list"],
      ["page_twice", "entry_twice", "page_empty", "disordered", "list_short", "list_bare"],
      [1, 3, 10],
    ),
    weight: 4,
  },
  { arbitrary: fc.record({ do: fc.constant("scarce" as const), minutes: oneOf([5, 20] as const) }), weight: 1 },
  {
    arbitrary: fc.record({
      do: fc.constant("vanish" as const),
      which: fc.nat({ max: 119 }),
      minutes: oneOf([1, 20, 60] as const),
    }),
    weight: 1,
  },
  { arbitrary: only("lose_d1", "copy_d1", "restore_d1", "hand_made"), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("odd_ticks" as const),
      off: fc.array(oneOf([-4, 0, 1, 4] as const), { minLength: 1, maxLength: 3 }),
    }),
    weight: 1,
  },
);

const history: fc.Arbitrary<History> = fc.record({
  minutesLeft: oneOf([720, 130, 40]),
  plan: oneOf(["free", "free", "paid"] as const),
  // Somebody is there in each.
  steps: fc
    .tuple(many(["create"], [60, 110, 120]), fc.array(step, { minLength: 2, maxLength: 14, size: "max" }))
    .map(([first, rest]) => [first].concat(rest)),
});

const underPlan = ({ plan = "free" }: History): Pick<Kind, "rules" | "bindings"> => ({
  rules: { ...SHORT_LIVED, capacity: CAPACITY[plan], names: NAMES },
  bindings: { MAX_MACHINES: String(MOST_MACHINES), MAX_EUR_PER_MONTH: "100000", PLAN: plan },
});

export const CROWD: Kind = {
  name: "crowd",
  ...underPlan({ minutesLeft: 0, steps: [] }),
  under: underPlan,
  history,
  isMoneyJudged: false,
  enough: 8,
  mustMeet: ["step many", "reason expired", "reason requested", "code limit_count", "report remaining budget"],
};
