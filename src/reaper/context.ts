import { DriverError } from "../driver/driver.ts";
import type { Context } from "../lifecycle/context.ts";
import { StoreError } from "../store/db.ts";
import type { SweepMemory } from "../store/lock.ts";
import type { Store, StoreMode } from "../store/store.ts";
import type { DeathAllowance } from "./allowance.ts";
import type { Meter, Plan } from "./budget.ts";
import type { KnownWork } from "./outlook.ts";
import type { Pace } from "./pace.ts";
import type { FailureReason, Item } from "./report.ts";

/** What a sweep is opened with. `now` is the tick's own time: every rule goes by it. Only the lock runs on wall time. */
export interface SweepContext extends Omit<Context, "store"> {
  readonly openStore: (mode?: StoreMode) => Store;
  readonly wallNow: () => number;
  readonly meter: Meter;
  readonly plan: Plan;
  /** How long history is kept; null where that cannot be read. */
  readonly keepHistoryMs: number | null;
  readonly extraPhases: readonly ExtraPhase[];
  /** Whether `now` may be far ahead of `wallNow`, as where a simulator stands in for the provider. */
  readonly mayPlayTime: boolean;
}

/** What a phase works with. In a dry run driver and store only pretend to write, and nothing here knows the difference. */
export interface PhaseContext extends Context {
  readonly plan: Plan;
  readonly keepHistoryMs: number | null;
  /** To be asked before each act that costs something. */
  readonly pace: Pace;
  /** To be asked before each death that may come early. */
  readonly allowance: DeathAllowance;
  /** What the sweep knows to be there, or not to be there. */
  readonly known: KnownWork;
  /** What this sweep knows of those before it, and leaves to the next. */
  readonly memory: SweepMemory;
  /** What the phase has done so far: told even where it fails later. */
  readonly items: Item[];
  /** Opens a store that writes under this sweep's lock, as its phase's store does, on somebody else's word. */
  readonly openStoreAs: (mode: Pick<StoreMode, "signature" | "delivery">) => Store;
}

/**
 * A phase that this folder does not know: it runs behind all others, with what they leave. A dry run leaves it out, and so does a
 * report where it had nothing to do.
 */
export interface ExtraPhase {
  readonly name: "hooks";
  /** Answers why it could not run to its end; null where it could. */
  readonly run: (context: PhaseContext) => Promise<string | null>;
}

/** Whether a refusal stays until a person acts at the provider (I1). */
export const needsSomebody = (error: unknown): boolean =>
  error instanceof DriverError && ["unauthorized", "protected"].includes(error.code);

/** Whether a failure would meet every other machine too, so that a phase may as well stop and say so. */
export const concernsAll = (error: unknown): error is DriverError =>
  error instanceof DriverError && ["unauthorized", "rate_limited"].includes(error.code);

/** What a report says of a failure, whatever was thrown: a word to go by, and a sentence for people. */
export function failureOf(error: unknown): { readonly reason: FailureReason; readonly detail: string } {
  if (error instanceof StoreError) return { reason: "store_unavailable", detail: error.hint };
  if (error instanceof DriverError) return { reason: error.code, detail: error.message };
  return { reason: "internal", detail: error instanceof Error ? error.message : "failed" };
}
