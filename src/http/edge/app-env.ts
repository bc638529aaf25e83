import type { Identifying, AuthSettings } from "../../auth/settings.ts";
import type { Principal } from "../../auth/principal.ts";
import type { Carrying } from "../../hooks/carry-out.ts";
import type { Hook } from "../../hooks/hook.ts";
import type { RequestContext } from "../../lifecycle/context.ts";
import type { Brake } from "../../lifecycle/pace.ts";
import type { Meter, Plan } from "../../reaper/budget.ts";
import type { SweepOrder, SweepReport } from "../../reaper/report.ts";
import type { Repositories, Store } from "../../store/store.ts";

/** What HTTP needs of whatever runs it; the composition root hands it in. */
export interface Host {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  readonly log: Log;
  /** Opens what a request works with. Throws `Misconfigured` where a setting cannot be used. */
  readonly openRequest: (env: Env, requestId: string) => Scope;
  readonly openBrakes: (env: Env) => Brakes;
  /** Opens what health looks at, whatever the settings are; only `settings` reads them, and throws `Misconfigured`. */
  readonly openHealth: (env: Env) => {
    readonly reads: Reads & Pick<Store, "room">;
    readonly meter: Meter;
    readonly settings: () => { readonly installations: readonly string[]; readonly plan: Plan };
  };
}

type Log = (event: { readonly event: "request" | "error"; readonly [field: string]: unknown }) => void;

/** The store as `http/` may use it itself: opened to read only. What writes is a use case, which the whole scope is handed to. */
export type Reads = Pick<
  Repositories,
  | "machines"
  | "events"
  | "resources"
  | "sweeps"
  | "tokens"
  | "settings"
  | "lock"
  | "work"
  | "deliveries"
  | "tombstones"
  | "catalogues"
  | "cooldowns"
>;

/** How often somebody may call. */
export interface Brakes {
  readonly byAddress: Brake;
  readonly byAccount: Brake;
}

/** What one request works with. */
export interface Scope
  extends RequestContext, Pick<Identifying, "fetch" | "keys">, Pick<Carrying, "hooks" | "policies" | "openFor"> {
  readonly reads: Reads;
  /** The same for a caller that is known: the events of what it changes say what it has shown. */
  readonly onWordOf: (caller: Principal) => Scope;
  readonly auth: AuthSettings;
  /** The secrets of a hook, in use before old. Throws `Misconfigured` where one is missing or cannot be used. */
  readonly hookSecrets: (hook: Hook) => readonly string[];
  readonly meter: Meter;
  /** Runs a sweep within this invocation, on its meter; null when another is running. */
  readonly sweep: (order: SweepOrder) => Promise<SweepReport | null>;
  /** `count` unpredictable bytes. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
}

/** The types of the Hono app: its bindings, and what middleware leaves in a context. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** What this invocation has sent out so far; unset where it has nothing to send by. */
    meter: Meter;
    scope: Scope;
    principal: Principal;
    /** What the call is about to read; unset where nobody knows. */
    ahead: Identifying["ahead"];
    /** Its body, where that has been taken in; too large, it is thrown. */
    taken: Promise<void>;
    /** For the log: the machine that the request was about, by its id. */
    machine: string;
    /** The name of the machine that the call may make. */
    making: string;
    /** What to do where it is in doubt what came of a call that a repeat would do once more. Unset of all others. */
    insteadOfRepeating: string;
    /** For the log: what came of it, a problem's code or a word of the handler's. */
    outcome: string;
  };
}
