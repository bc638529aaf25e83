/**
 * What the judge of a history is told: what is asked and when, and what people and fate do beside. It works out by itself what may and must
 * become of each machine from then on; answers are held against that.
 */
import type { ServerState } from "../../simulator/simulator.ts";
import type { Answer } from "../world/installation.ts";

/** What somebody asks about machines; lengths in milliseconds. */
export type Ask =
  /** `name` is null where mayfly makes it. `keep`: how long it is kept where its job failed, null = not. */
  | {
      readonly do: "create";
      readonly owner: string;
      readonly name: string | null;
      readonly ttl: number;
      readonly keep: number | null;
      /** The longest lease that the caller's policy allows; null = what all may have. */
      readonly longest: number | null;
    }
  | { readonly do: "renew"; readonly owner: string; readonly name: string; readonly ttl: number }
  | { readonly do: "destroy"; readonly owner: string; readonly name: string; readonly isFailed: boolean }
  /** Bulk, teardown, reap: all of ours for which this is so. */
  | { readonly do: "destroy_all"; readonly which: (server: ServerState) => boolean }
  /** Whatever shows machines and changes none. */
  | { readonly do: "read" };

export interface Judge {
  /** Something is asked; what it answers is told how that was answered, undefined where the Worker died over it. */
  asks(ask: Ask): (answer: Answer | undefined) => void;
  /** D1 is another: new, or an older copy of itself. */
  databaseChanged(): void;
  /** A person has changed this machine of ours, from `before` to what it is now. */
  changedByHand(before: ServerState): void;
  /** Something is so that has machines looked after later, or health red, though nothing is wrong: from now on, until it is over. */
  excuse(why: string): void;
  /** That is over now. */
  excuseNoMore(why: string): void;
}
