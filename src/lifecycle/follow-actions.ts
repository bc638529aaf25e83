import type { ProviderAction } from "../driver/capabilities.ts";
import type { RequestContext } from "./context.ts";
import { onDriverError } from "./refusal.ts";

/** How far something has come that a provider was asked for: `running` is still under way, and nobody knows yet. */
export type Progress = "done" | "running";

const ROUNDS = 5;
const EVERY_MS = 1000;
/** Of an invocation's fifty calls a request with ten machines has spent a dozen before. */
const MOST_LOOKS = 20;

/**
 * Follows what a provider has begun to its end, for a few looks, a second apart; answers the actions as they were last seen. A look
 * that fails tells nothing, and none is made where the provider's rate limit leaves no room for it.
 */
export async function followActions(
  { capabilities, sleep }: Pick<RequestContext, "capabilities" | "sleep">,
  begun: readonly ProviderAction[],
): Promise<readonly ProviderAction[]> {
  const { action: lookAt } = capabilities;
  const known = [...begun];
  let looks = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const isAsked = known.some(isRunning) && looks < MOST_LOOKS && capabilities.hasHeadroom?.() !== false;
    if (!isAsked || lookAt === undefined) break;
    await sleep(EVERY_MS);
    for (const [index, one] of known.entries()) {
      if (!isRunning(one) || looks >= MOST_LOOKS) continue;
      looks += 1;
      known[index] = await onDriverError(
        () => lookAt(one.id),
        () => one,
      );
    }
  }
  return known;
}

const isRunning = ({ state }: ProviderAction): boolean => state === "running";
