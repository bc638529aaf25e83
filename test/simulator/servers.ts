import { actionPlan, isLocked, renderAction, startAction } from "./action-record.ts";
import { ok, type Call, type Reply } from "./call.ts";
import { ApiError, locked } from "./errors.ts";
import { forgetServer } from "./firewall-record.ts";
import { Fields } from "./fields.ts";
import { deleteBackups } from "./image-record.ts";
import { creationOrder, filterValues, labelFilter, page, sorted } from "./lists.ts";
import { leaveNetworks } from "./network-record.ts";
import { refuseTaken, withRecord } from "./lookup.ts";
import { labelsOf, listedServers, statusAt, type ServerRecord } from "./server-record.ts";
import { renderServer } from "./server-view.ts";

const STATUSES = [
  "running",
  "initializing",
  "starting",
  "stopping",
  "off",
  "deleting",
  "migrating",
  "rebuilding",
  "unknown",
];

/** `GET /servers`. Source: Hetzner API, Servers. */
export function listServers(call: Call): Reply {
  const name = call.url.searchParams.get("name");
  const statuses = filterValues(call, "status", STATUSES);
  const matches = labelFilter(call);
  const found = listedServers(call.world, call.now_ms).filter(
    (record) =>
      !isTooYoung(record, call) &&
      (name === null || record.view.name === name) &&
      (statuses?.includes(statusAt(record, call.now_ms)) ?? true) &&
      matches(labelsOf(record)),
  );
  const servers = sorted(call, found, {
    id: ({ view }) => view.id,
    name: ({ view }) => view.name,
    created: ({ view }) => creationOrder(view),
  });
  return page(call, "servers", servers, (record) => renderServer(call.world, record, call.now_ms));
}

// Only under a fault; a server from the future, made under another clock, is listed like any other.
function isTooYoung({ born_ms }: ServerRecord, { effects, now_ms }: Call): boolean {
  return effects.hide_ms > 0 && now_ms < born_ms + effects.hide_ms;
}

/** Wraps a handler of one server. */
export const withServer = withRecord("server", (world) => world.servers);

/** `GET /servers/{id}`. Source: Hetzner API, Servers. */
export function getServer(call: Call, record: ServerRecord): Reply {
  return ok({ server: renderServer(call.world, record, call.now_ms) });
}

/** `PUT /servers/{id}`: labels replace the whole map. Source: Hetzner API, Servers. */
export function updateServer(call: Call, record: ServerRecord): Reply {
  const fields = new Fields(call.body);
  const name = fields.has("name") ? fields.hostname("name") : record.view.name;
  const labels = fields.has("labels") ? { labels: fields.labels("labels") } : {};
  fields.check();
  if (name !== record.view.name) refuseTaken("server ", call.world.servers.values(), name, record.view.id);
  record.view = { ...record.view, name, ...labels };
  return getServer(call, record);
}

/** `DELETE /servers/{id}`: gone at once, while the action lives on. Source: Hetzner API, Servers. */
export function deleteServer(call: Call, record: ServerRecord): Reply {
  if (record.view.protection?.delete) throw new ApiError(423, "protected", "server deletion is protected");
  if (isLocked(record, call.now_ms)) throw locked("server");
  const { now_ms } = call;
  const action = startAction(call.world, [record], actionPlan(call, "delete_server"));
  // A deletion that is going to fail leaves the server where it is.
  if (action.failure === null) {
    call.world.servers.delete(record.view.id);
    call.world.deleted.push({ record, deleted_ms: now_ms });
    forgetServer(call.world, record.view.id, action.ends_ms);
    leaveNetworks(call.world, record.view.id, action.ends_ms);
    deleteBackups(call.world, record.view.id);
  }
  return ok({ action: renderAction(action, now_ms) });
}
