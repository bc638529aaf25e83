import { claimInstallation } from "../lifecycle/installation.ts";
import type { Terms } from "../lifecycle/terms.ts";
import type { Scope } from "../invocation.ts";
import { unwrap } from "./problem.ts";

/** What this deployment makes things under. Refused while the database belongs to another installation. */
export async function termsOf({ store, config, credential }: Scope): Promise<Terms> {
  const installation = unwrap(await claimInstallation(store, config.installations));
  return {
    provider: config.provider,
    installation,
    credential: await credential(),
    defaultTtlMs: config.defaultTtlMs,
    creates: config.creates,
  };
}
