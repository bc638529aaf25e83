/** What happens where somebody operates mayfly: settings, holds, hands in the project, and all that is made beside machines. */
import fc from "fast-check";
import { BESIDE_NAMES, HOLDS, RUNS, type OperatorAct } from "../acts/operator-acts.ts";
import { OWNERS, type Owner } from "../world/callers.ts";
import { HAND_MADE, type HandMade } from "../world/hands.ts";
import type { Mishap } from "../world/invocation.ts";
import type { Move } from "../world/operations.ts";
import type { ProviderToken } from "../world/settings.ts";

export type OperatorStep =
  | (OperatorAct & { readonly mishap: Mishap | null })
  | { readonly do: "token"; readonly to: ProviderToken }
  | { readonly do: "installation"; readonly what: Move }
  | { readonly do: "epoch" }
  | { readonly do: "creates"; readonly to: "on" | "off" }
  | { readonly do: "by_hand"; readonly what: HandMade; readonly which: number; readonly count: number }
  /** So many creates whose machines somebody switches off before they run, deletes when they do, or takes from behind their firewalls. */
  | { readonly do: "wave"; readonly what: "still_born" | "wiped_out" | "laid_bare"; readonly count: number };

const oneOf = <T>(list: readonly T[]) => fc.constantFrom(...list);
const is = <const T extends string>(word: T) => ({ do: fc.constant(word) });
const owner = oneOf<Owner>(["tok.ann", "tok.ann", ...OWNERS]);
const TTLS = ["60s", "5m", "20m", "1h", "3h"] as const;
const KINDS = ["firewall", "network", "ssh_key"] as const;

/** What is asked for, of machines of these names. */
export const operatorAct = (names: readonly string[]): fc.Arbitrary<OperatorAct> => {
  const machine = oneOf(names);
  const name = oneOf(BESIDE_NAMES);
  const gateway = oneOf(["10.1.0.2", "10.1.0.3"]);
  const whose = { owner, name };
  return fc.oneof(
    {
      arbitrary: fc.record({
        ...is("box"),
        owner,
        name: machine,
        ttl: oneOf(TTLS),
        run: oneOf(RUNS),
        uses: fc.subarray([...KINDS]),
      }),
      weight: 6,
    },
    { arbitrary: fc.record({ ...is("make"), ...whose, kind: oneOf(KINDS), ttl: oneOf(TTLS) }), weight: 8 },
    { arbitrary: fc.record({ ...is("unmake"), ...whose, kind: oneOf(KINDS) }), weight: 2 },
    { arbitrary: fc.record({ do: oneOf(["apply", "take_off", "attach"] as const), ...whose, machine }), weight: 5 },
    { arbitrary: fc.record({ ...is("route"), ...whose, gateway }), weight: 2 },
    { arbitrary: fc.record({ ...is("teardown"), owner, isDry: fc.boolean() }), weight: 2 },
    {
      arbitrary: fc.record({
        ...is("bulk"),
        owner,
        selector: oneOf(["run=1", "run in (1,2),!other", "run!=1"] as const),
        isDry: fc.boolean(),
      }),
      weight: 2,
    },
    { arbitrary: fc.record({ ...is("sweep"), isDry: fc.boolean(), order: fc.nat({ max: 2 ** 24 }) }), weight: 3 },
    { arbitrary: fc.record({ ...is("release"), hold: oneOf(HOLDS) }), weight: 2 },
  );
};

export const setting: fc.Arbitrary<OperatorStep> = fc.oneof(
  { arbitrary: fc.record({ ...is("token"), to: oneOf(["first", "second", "elsewhere"] as const) }), weight: 3 },
  {
    arbitrary: fc.record({
      ...is("installation"),
      what: oneOf(["move", "move", "move_unnamed", "move_unnamed", "forget", "name", "name"] as const),
    }),
    weight: 3,
  },
  { arbitrary: fc.record({ ...is("epoch") }), weight: 1 },
  { arbitrary: fc.record({ ...is("creates"), to: oneOf(["on", "off"] as const) }), weight: 2 },
);

export const byHand: fc.Arbitrary<OperatorStep> = fc.record({
  ...is("by_hand"),
  what: oneOf(HAND_MADE),
  which: fc.nat({ max: 5 }),
  count: oneOf([1, 1, 2, 6]),
});
export const wave: fc.Arbitrary<OperatorStep> = fc.record({
  ...is("wave"),
  what: oneOf(["still_born", "wiped_out", "laid_bare"] as const),
  count: fc.integer({ min: 6, max: 8 }),
});
