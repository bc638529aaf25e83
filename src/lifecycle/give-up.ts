/** How a try to make a machine ends without one. */
import type { DriverError } from "../driver/driver.ts";
import type { NewMachine } from "../store/machines.ts";
import type { Context } from "./context.ts";
import type { Refusal } from "./refusal.ts";
import { saysNothingMade, type Claim } from "./trying.ts";

/** A try is over: the row has failed where it is certain that nothing was made, else the next call or sweep goes on with it. */
export async function giveUp(
  { store, now }: Context,
  { row, claim }: { readonly row: NewMachine; readonly claim: Claim },
  refusal: Refusal,
  isCertain: boolean,
): Promise<void> {
  if (isCertain) await store.endings.fail([{ uid: row.uid, reason: refusal.code }], now());
  else await store.work.giveBackTry(row.uid, claim.untils, refusal.message, now());
}

/** Whether it is certain that no machine came of this call, nor of one before it. */
export function isDefinite(error: DriverError, resumed: boolean): boolean {
  // Names are unique at the provider: whoever was seen to hold this one, ours does not exist.
  if (error.code === "name_taken" && error.existing !== undefined) return true;
  return !resumed && saysNothingMade(error);
}

/** The provider's own words about what is attached name no field of the caller's. */
export const hinted = (refusal: Refusal): Refusal =>
  refusal.code === "invalid_input" && ["body", "network"].includes(refusal.problem?.field ?? "")
    ? {
        ...refusal,
        next: "If it is about a key, a firewall or a network that is gone there: delete yours, then create it anew; leave out what is named by `id:`.",
        about: "attached",
      }
    : refusal;
