import { renderAction, type ActionRecord } from "./action-record.ts";
import { ok, type Call, type Reply } from "./call.ts";
import { ApiError, invalidField, notFound } from "./errors.ts";
import { filterValues, page, sorted } from "./lists.ts";
import type { Action } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";

const STATUSES = ["running", "success", "error"];
const SORT_FIELDS = {
  id: (action: Action) => action.id,
  command: (action: Action) => action.command,
  status: (action: Action) => action.status,
  started: (action: Action) => action.started,
  finished: (action: Action) => action.finished ?? "",
};

/** `GET /actions?id=..&id=..`: the ids it knows; listing all was removed on 2025-01-30. Source: Hetzner API, Actions. */
export function getActions(call: Call): Reply {
  if (askedIds(call) === null)
    throw new ApiError(400, "invalid_input", "invalid input in field 'id'", {
      fields: [{ name: "id", messages: ["Missing data for required field."] }],
    });
  // The document gives this list no pagination.
  return ok({ actions: select(call, [...call.world.actions.values()]) });
}

/** `GET /servers/actions`. Source: Hetzner API, Server Actions. */
export function listServerActions(call: Call): Reply {
  return page(call, "actions", select(call, [...call.world.actions.values()]), (action) => action);
}

/** `GET /servers/{id}/actions`. Source: Hetzner API, Server Actions. */
export function listActionsOfServer(call: Call, record: ServerRecord): Reply {
  return page(call, "actions", select(call, record.actions), (action) => action);
}

/** `GET /actions/{id}`, also under `/servers/actions/{id}`. Source: Hetzner API, Actions. */
export function getAction(call: Call): Reply {
  return answer(call, call.world.actions.get(call.ids[0] ?? 0));
}

/** `GET /servers/{id}/actions/{action_id}`: deprecated, still answered. Source: Hetzner API, Server Actions. */
export function getActionOfServer(call: Call, record: ServerRecord): Reply {
  const [, wanted] = call.ids;
  return answer(
    call,
    record.actions.find(({ id }) => id === wanted),
  );
}

function answer(call: Call, action: ActionRecord | undefined): Reply {
  if (action === undefined) throw notFound("action");
  return ok({ action: renderAction(action, call.now_ms) });
}

function select(call: Call, records: ActionRecord[]): Action[] {
  const ids = askedIds(call);
  const statuses = filterValues(call, "status", STATUSES);
  const actions = records
    .filter((record) => ids?.has(record.id) ?? true)
    .map((record) => renderAction(record, call.now_ms))
    .filter((action) => statuses?.includes(action.status) ?? true);
  return sorted(call, actions, SORT_FIELDS);
}

function askedIds(call: Call): Set<number> | null {
  const texts = call.url.searchParams.getAll("id");
  if (texts.some((text) => !/^\d+$/.test(text))) throw invalidField("id", "Not a valid integer.");
  return texts.length === 0 ? null : new Set(texts.map(Number));
}
