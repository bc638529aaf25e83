import type { ProviderAction } from "../capabilities.ts";
import { isNotFound } from "../driver.ts";
import { checkId } from "./account.ts";
import type { Client } from "./client.ts";
import { actionAnswer, actionsAnswer, type Action } from "./schema.ts";

const STATES: Readonly<Record<string, ProviderAction["state"]>> = { success: "done", error: "failed" };

/** An action in our words. A status that nobody knows is none of an end. */
export function toAction(call: Client, { id, status, error }: Action): ProviderAction {
  const state = (Object.hasOwn(STATES, status) && STATES[status]) || "running";
  const said = [error?.code, error?.message].filter((part) => part !== undefined && part !== "").join(": ");
  const why = call.hide(said) || "the provider does not say why";
  return { id: String(id), state, error: state === "failed" ? why : null };
}

/** One action, read again. Absence is `not_found`. */
export async function readAction(call: Client, id: string): Promise<ProviderAction> {
  const path = `/actions/${checkId(id, "action_id")}`;
  const { action } = await call({ method: "GET", path, absence: "not_found", answer: actionAnswer });
  return toAction(call, action);
}

/** Why the last deletion of a server failed; null where none did, where one is under way, and where there is no server. */
export async function deletionError(call: Client, providerId: string): Promise<string | null> {
  // The newest fifty: whatever was done to a server since it could not be deleted is less.
  const path = `/servers/${checkId(providerId)}/actions?sort=id:desc&per_page=50`;
  try {
    const { actions } = await call({ method: "GET", path, absence: "not_found", answer: actionsAnswer });
    const [last] = actions.filter(({ command }) => command === "delete_server").sort((a, b) => b.id - a.id);
    return last ? toAction(call, last).error : null;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
