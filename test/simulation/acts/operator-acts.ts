/** What can be asked of one mayfly beside single machines, as plain records. */
import type { LIVES } from "../history.ts";
import type { BesideKind } from "../judge/beside.ts";
import type { Owner } from "../world/callers.ts";

type Ttl = keyof typeof LIVES;
export const BESIDE_NAMES = ["x", "y"] as const;
type BesideName = (typeof BESIDE_NAMES)[number];
export const RUNS = ["1", "2"] as const;
/** What names machines by their labels, and which it means; null = it is refused. */
export const SELECTORS = {
  "run=1": (run: string | undefined) => run === "1",
  "run in (1,2),!other": (run: string | undefined) => run !== undefined,
  "run!=1": null,
} as const;
export const HOLDS = ["blast_cap", "credential", "inventory"] as const;

export type OperatorAct =
  /** One with a label, that uses what its owner has beside it. */
  | {
      readonly do: "box";
      readonly owner: Owner;
      readonly name: string;
      readonly ttl: Ttl;
      readonly run: (typeof RUNS)[number];
      readonly uses: readonly BesideKind[];
    }
  | {
      readonly do: "make";
      readonly owner: Owner;
      readonly kind: BesideKind;
      readonly name: BesideName;
      readonly ttl: Ttl;
    }
  | { readonly do: "unmake"; readonly owner: Owner; readonly kind: BesideKind; readonly name: BesideName }
  | {
      readonly do: "apply" | "take_off" | "attach";
      readonly owner: Owner;
      readonly name: BesideName;
      readonly machine: string;
    }
  | { readonly do: "route"; readonly owner: Owner; readonly name: BesideName; readonly gateway: string }
  | { readonly do: "teardown"; readonly owner: Owner; readonly isDry: boolean }
  | { readonly do: "bulk"; readonly owner: Owner; readonly selector: keyof typeof SELECTORS; readonly isDry: boolean }
  | { readonly do: "sweep"; readonly isDry: boolean; readonly order: number }
  | { readonly do: "release"; readonly hold: (typeof HOLDS)[number] };

const ACTS: Readonly<Record<OperatorAct["do"], true>> = {
  box: true,
  make: true,
  unmake: true,
  apply: true,
  take_off: true,
  attach: true,
  route: true,
  teardown: true,
  bulk: true,
  sweep: true,
  release: true,
};
/** How they are called. */
export const OPERATOR_ACTS: readonly string[] = Object.keys(ACTS);
/** Whether an act is one of these. */
export const isOperatorAct = <T extends { readonly do: string }>(
  act: T,
): act is Extract<T, { do: OperatorAct["do"] }> => act.do in ACTS;
