import type { Brakes } from "./http/edge/app-env.ts";
import type { Brake } from "./lifecycle/pace.ts";
import type { Log } from "./log.ts";

/** The brakes that an environment binds. One that a deployer has taken out lets everything through. */
export const openBrakes = (env: Env, log: Log): Brakes => ({
  byAddress: brakeOf("ADDRESS_BRAKE", env.ADDRESS_BRAKE, log),
  byAccount: brakeOf("ACCOUNT_BRAKE", env.ACCOUNT_BRAKE, log),
});

/** One that fails lets through what it was asked about, and is logged: a brake must not become an outage. */
function brakeOf(name: string, binding: RateLimit | undefined, log: Log): Brake {
  return async (key) => {
    if (binding === undefined) return true;
    try {
      return (await binding.limit({ key })).success;
    } catch (error) {
      const message = error instanceof Error ? error.message : "unknown";
      log({ event: "error", error: `the rate limit ${name} failed: ${message}` });
      return true;
    }
  };
}
