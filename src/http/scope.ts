import type { Principal } from "../auth/principal.ts";
import type { Config, SweepConfig } from "../config.ts";
import type { Deps } from "../lifecycle/lifecycle.ts";
import type { Log } from "../log.ts";
import type { Meter } from "../reaper/budget.ts";
import type { Store } from "../store/store.ts";

/** What is real outside this code, passed in by the composition root and by tests. */
export interface World {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  /** `count` unpredictable bytes. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
  readonly openDriver: (config: SweepConfig, meter: Meter, signal?: AbortSignal) => Deps["driver"];
}

/** What one request works with. */
export interface Scope extends Deps {
  readonly world: World;
  readonly config: Config;
  readonly store: Store;
  readonly meter: Meter;
}

/** The types of the Hono app: its bindings, and what middleware leaves in a context. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    scope: Scope;
    principal: Principal;
  };
}
