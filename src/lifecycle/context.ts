/**
 * The use cases of a machine's life: create, look, destroy. Each writes down what it is about to do, does it, and writes
 * down what came of it, so that whatever is cut off in between can be taken up by the next call or the next sweep.
 * They know the driver contract and the store, never a cloud and never HTTP.
 */
import type { Capabilities } from "../driver/capabilities.ts";
import type { Driver } from "../driver/driver.ts";
import type { Rules } from "../machine/rules.ts";
import type { Store } from "../store/store.ts";
import type { Looks } from "./looks.ts";
import type { Ordering } from "./order.ts";
import type { Outcome } from "./refusal.ts";

/** What every use case works with, in a request and in a sweep alike. */
export interface Context {
  readonly store: Store;
  readonly driver: Driver;
  readonly capabilities: Capabilities;
  /** The provider's name, as rows have it. */
  readonly provider: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  readonly rules: Rules;
  /** Fingerprint of the provider credential in use. */
  readonly credential: () => Promise<string>;
}

/** What a create goes by besides. */
export interface LendingRules extends Rules, Ordering {
  readonly installations: readonly [string, ...string[]];
  readonly defaultTtlMs: number;
  /** So many machines there may be at once, whoever has them. */
  readonly maxMachines: number;
  /** What they may cost in a calendar month (UTC), micro-EUR; null = no matter what. */
  readonly maxMicroEurPerMonth: number | null;
  /** In which currency all of that is, whatever its name says. */
  readonly currency: string;
  /** False while an admin holds the brake. */
  readonly creates: boolean;
}

/** What a call may cost. */
export interface Cost {
  readonly fetches: number;
  readonly statements: number;
}

/**
 * What came of an expire pass. `ended`: something was destroyed, or another sweep that is running sees to it. `nothing`: nothing was due, or
 * nothing of it could be destroyed. `spent`: it had run before in this call.
 */
export type ExpirePass = "ended" | "nothing" | "spent";

/** What the use cases of a request work with. */
export interface RequestContext extends Context {
  readonly rules: LendingRules;
  /** The clock, unix milliseconds: `now` may be a sweep's, by which no time passes. */
  readonly wallNow: () => number;
  /** Lets that many milliseconds pass. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Whether this invocation may make so many more calls and statements; asked before what a sweep can do as well. */
  readonly affords: (cost: Cost) => boolean;
  /**
   * Destroys what is past its end, for a create that met a limit of the provider's: once a call, within seconds, and leaving so much of
   * what the invocation may spend. Fails where the database does.
   */
  readonly expirePass: (leaving: Cost) => Promise<ExpirePass>;
  /**
   * Asked before the provider is: counts this call, once, among those of its account that need it. `limit_rate` where they are too
   * many; it stays so to the end of the call.
   */
  readonly withinRate: () => Promise<Outcome<void>>;
  /** The same for a look at machines, which only shows them: counts this call once among those of its account that look. */
  readonly mayLook: () => Promise<boolean>;
  /** When machines were last looked at one by one, and what that showed. */
  readonly looks: Looks;
}
