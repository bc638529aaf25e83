import { claimInstallation } from "../lifecycle/installation.ts";
import type { Terms } from "../lifecycle/terms.ts";
import type { Scope } from "../invocation.ts";
import { problemOf } from "./problem.ts";

/** What this deployment makes things under. Refused while the database belongs to another installation. */
export async function termsOf({ store, config, credential }: Scope): Promise<Terms> {
  const stranger = await claimInstallation(store, config.installations);
  if (stranger) throw problemOf(stranger);
  return {
    provider: config.provider,
    installation: config.installations[0],
    credential: await credential(),
    defaultTtlMs: config.defaultTtlMs,
    creates: config.creates,
  };
}
