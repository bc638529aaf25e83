import { DriverError } from "../driver/driver.ts";
import type { Deps } from "../lifecycle/lifecycle.ts";
import type { Budget, Meter, PLANS } from "./budget.ts";

/** `now` of the deps is the tick's own time: every rule goes by it. Only the lock runs on wall time. */
export interface SweepDeps extends Deps {
  readonly wallNow: () => number;
  readonly newUid: () => string;
  readonly meter: Meter;
  readonly plan: keyof typeof PLANS;
  /** Ends what is under way when the sweep has run long enough. */
  readonly signal?: AbortSignal;
}

/** What a phase needs besides. */
export interface PhaseDeps extends SweepDeps {
  readonly budget: Budget;
  readonly dryRun: boolean;
}

/** Whether a failure would meet every other machine too, so that a phase may as well stop and say so. */
export const concernsAll = (error: unknown): error is DriverError =>
  error instanceof DriverError && ["unauthorized", "rate_limited"].includes(error.code);
