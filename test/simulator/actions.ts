import { renderAction, type ActionRecord, type Subject } from "./action-record.ts";
import { ok, type Call, type Handler, type Reply } from "./call.ts";
import { ApiError, invalidField, notFound } from "./errors.ts";
import { filterValues, page, sorted } from "./lists.ts";
import type { Action } from "./resources.ts";

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

/** `GET /servers/actions` and the like. Source: Hetzner API, Server Actions. */
export function listActionsAbout(type: Subject["type"]): Handler {
  return (call) => {
    const found = [...call.world.actions.values()].filter(({ resources }) =>
      resources.some((resource) => resource.type === type),
    );
    return page(call, "actions", select(call, found), (action) => action);
  };
}

/** `GET /servers/{id}/actions` and the like. Source: Hetzner API, Server Actions. */
export function listActionsOf(call: Call, record: Subject): Reply {
  return page(call, "actions", select(call, record.actions), (action) => action);
}

/** `GET /actions/{id}`, also under `/servers/actions/{id}` and the like. Source: Hetzner API, Actions. */
export function getAction(call: Call): Reply {
  return answer(call, call.world.actions.get(call.ids[0] ?? 0));
}

/** `GET /servers/{id}/actions/{action_id}` and the like: deprecated, still answered. Source: Hetzner API, Server Actions. */
export function getActionOf(call: Call, record: Subject): Reply {
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
