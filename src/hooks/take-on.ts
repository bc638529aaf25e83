import { hookOwner } from "../auth/hook-caller.ts";
import { OLDEST_RANK_MS } from "../machine/delivery.ts";
import { valid, type Checked } from "../machine/validation.ts";
import type { TakenOn } from "../store/delivery-intake.ts";
import type { Store } from "../store/store.ts";
import { CLAIM_MS } from "./carry-out.ts";
import type { HookEvent } from "./event.ts";
import type { Hook } from "./hook.ts";
import { intentsOf } from "./intents.ts";

/**
 * Writes down all that an event asks for, before anything is done about it: nothing is lost from here on. An end counts at once, for
 * its machine is marked in the same batch; creates and renewals are this call's to carry out for a minute, then the sweep's. The store
 * signs with what the event has shown. Answers what was taken on; a broken rule of the sender's writes nothing.
 */
export async function takeOn(
  { store, newUid }: { readonly store: Pick<Store, "deliveries">; readonly newUid: () => string },
  hook: Hook,
  event: HookEvent,
): Promise<Checked<readonly TakenOn[]>> {
  const intents = await intentsOf(hook, event);
  if (!intents.ok || intents.value.length === 0) return intents.ok ? valid([]) : intents;
  const { delivery, source, receivedAt: now } = event;
  const owner = hookOwner(hook.name, source);
  const common = { hook: hook.name, delivery, source, owner, receivedAt: now };
  // No fact is later than its event: a sender's clock that is ahead must not close a name to what is so later.
  const deliveries = intents.value.map((intent) =>
    Object.assign({ uid: newUid() }, common, intent, { rank: Math.min(intent.rank, now) }),
  );
  return valid(await store.deliveries.takeOn(deliveries, { now, until: now + CLAIM_MS, tooOld: now - OLDEST_RANK_MS }));
}
