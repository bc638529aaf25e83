// What a measurement gives, and what it is given.
import type { Name } from "./targets.ts";
import type { Provider } from "./provider.ts";

export interface Figure {
  readonly name: Name;
  /** Null where it could not be measured; the note says why. */
  readonly value: number | null;
  /** How far it varied, or what it stands beside. */
  readonly note: string;
}

/** What all measurements share. */
export interface Bench {
  /** The bundle that a deploy would upload. */
  readonly mayfly: string;
  /** The simulated cloud, in a process of its own so that its work is not in anybody's time. */
  readonly provider: Provider;
  /** Whether that figure was asked for. */
  readonly wants: (name: Name) => boolean;
  /** Progress, for whoever waits. */
  readonly say: (text: string) => void;
}

/** Figures that are taken together. */
export interface Group {
  readonly names: readonly Name[];
  readonly measure: (bench: Bench) => Promise<readonly Figure[]>;
}
