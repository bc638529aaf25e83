import { sha256Hex } from "../auth/hash.ts";
import type { Config } from "../config.ts";
import { claimInstallation } from "../lifecycle/installation.ts";
import type { Terms } from "../lifecycle/terms.ts";
import type { Store } from "../store/store.ts";
import { problemOf } from "./problem.ts";

/** What this deployment makes things under. Refused while the database belongs to another installation. */
export async function termsOf(store: Store, config: Config): Promise<Terms> {
  const stranger = await claimInstallation(store, config.installations);
  if (stranger) throw problemOf(stranger);
  return {
    provider: config.provider,
    installation: config.installations[0],
    credential: (await sha256Hex(config.hcloudToken)).slice(0, 16),
    defaultTtlMs: config.defaultTtlMs,
    creates: config.creates,
  };
}
