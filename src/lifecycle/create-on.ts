import type { Principal } from "../auth/principal.ts";
import { isLiveResource } from "../machine/resource.ts";
import { createResource, type ResourceOrder } from "./create-resource.ts";
import type { RequestContext } from "./context.ts";
import { liveMachines } from "./find.ts";
import type { Progress } from "./follow-actions.ts";
import type { CreatedResource } from "./make-resource.ts";
import { done, refused, type Outcome } from "./refusal.ts";
import { checkChange } from "./rights.ts";
import { applyFirewall, NOT_YET } from "./use-resource.ts";

/**
 * Makes a firewall and puts it on machines of the same owner, which its caller named as `machines`. Which machines is no part of what it
 * is: a repeat is the same firewall, and puts it on those on which it is not. What can be refused of that is, before it is made.
 */
export async function createFirewallOn(
  context: RequestContext,
  principal: Principal,
  order: ResourceOrder,
  machines: readonly string[],
): Promise<Outcome<CreatedResource & { readonly progress: Progress }>> {
  const { owner, policy } = principal;
  const fixed = checkChange(policy, "machines");
  if (fixed !== null) return fixed;
  const meant = await liveMachines(context, owner, machines, "machines");
  if (!meant.ok) return meant;
  if (meant.value.some(({ providerId }) => providerId === null)) return refused(NOT_YET);
  const created = await createResource(context, principal, order);
  if (!created.ok) return created;
  // What was made under a key and has ended is the answer, and is put on nothing any more.
  if (!isLiveResource(created.value.row)) return done({ ...created.value, progress: "done" });
  const progress = await applyFirewall(context, policy, created.value.row, meant.value);
  return progress.ok ? done({ ...created.value, progress: progress.value }) : progress;
}
