/** What the histories run under. */
import { env } from "cloudflare:workers";
import { AUDIENCE } from "../../auth/issuer.ts";
import { UNBRAKED } from "../../brakes.ts";
import { ROOT_PASSWORD } from "../../simulator/create-server.ts";
import type { Kind } from "../kinds/kind.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const NOW = Date.UTC(2026, 10, 30, 12);
/** In a history's hours, or soon after. */
export const MONTH_END = Date.UTC(2026, 11, 1);

/** Shorter than by default, so that a history reaches it. */
export const MAX_AGE = 4 * HOUR;
export const LAUNCH_DEADLINE = 15 * MINUTE;
/** As far as the provider's clock goes from ours. */
export const MOST_SKEW = 3 * MINUTE;
/** The longest that a failed item is left alone for, and the tick after it. */
export const RECOVERY = 16 * MINUTE;
/** At least so many machines die in one tick of a free plan. */
export const CAPACITY = 30;

/** The secret of the histories' hook. */
export const HOOK_SETTINGS = { HOOK_PREVIEW: "canary-of-the-histories-hook-5d0c" };

/** With which the provider lets mayfly in. `second` rules our project too; `elsewhere` another one. */
export const PROVIDER_TOKENS = {
  first: env.HCLOUD_TOKEN,
  second: "canary-of-a-second-provider-token-5d0c",
  elsewhere: "canary-of-another-projects-token-5d0c",
} as const;
export type ProviderToken = keyof typeof PROVIDER_TOKENS;

/** In the cloud-init of some. */
export const CANARY = "canary-cloud-init-5d0c";
/** None of these may be seen in an answer, in the log or in D1. */
export const SECRETS = [
  CANARY,
  ...Object.values(PROVIDER_TOKENS),
  env.ADMIN_TOKEN,
  ROOT_PASSWORD,
  ...Object.values(HOOK_SETTINGS),
];
export const SIBLING = "sibling-installation-2";

export const bindingsOf = (installation: string, { bindings }: Pick<Kind, "bindings">): Env =>
  Object.assign({}, env, UNBRAKED, {
    INSTALLATION: installation,
    MAX_AGE: "4h",
    LAUNCH_DEADLINE: "15m",
    OIDC_AUDIENCE: AUDIENCE,
    ...HOOK_SETTINGS,
    ...bindings,
  });

/** From when it is old enough to be adopted, by either clock, to the pass after the next. */
export const ADOPTION = 30 * MINUTE;
