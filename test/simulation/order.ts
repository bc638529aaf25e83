/** What is asked of a run of histories of one kind, and what it answers: all that passes between the command and the Worker. */
import type { KindName } from "./kinds/shares.ts";
import type { Tally } from "./tally.ts";

export interface Order {
  readonly kind: KindName;
  readonly seed: number;
  readonly runs: number;
  /** Of one history: where it stands among all of the seed. */
  readonly path?: string;
  /** One history, as a failure prints it; then there is no other. */
  readonly history?: string;
  /** A history that breaks a promise ends the run, and is not made smaller. */
  readonly isFirstEnough?: true;
}

export interface Result {
  readonly kind: KindName;
  readonly tally: Tally;
  /** What a run of at least `enough` histories must have met. */
  readonly mustMeet: { readonly enough: number; readonly words: readonly string[] };
  /** The smallest history that breaks a promise, and how to play it again; null when all hold. */
  readonly failure: string | null;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Undefined where nobody asked: a short run of each kind. */
    histories: readonly Order[] | undefined;
  }
  interface TaskMeta {
    histories?: Result;
  }
}
