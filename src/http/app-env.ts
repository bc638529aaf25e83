import type { Principal } from "../auth/principal.ts";
import type { Scope } from "../invocation.ts";

/** The types of the Hono app: its bindings, and what middleware leaves in a context. */
export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    scope: Scope;
    principal: Principal;
    /** For the log: the machine that the request was about, by its id. */
    machine: string;
    /** For the log: what came of it, a problem's code or a word of the handler's. */
    outcome: string;
  };
}
