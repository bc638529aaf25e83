import { actionPlan, isBusy, startAction, started, type ActionRecord } from "./action-record.ts";
import type { Call, Reply } from "./call.ts";
import { ApiError, invalidField, locked } from "./errors.ts";
import { Fields } from "./fields.ts";
import { renderServer } from "./server-view.ts";
import { statusAt, type ServerRecord } from "./server-record.ts";

/** `POST /servers/{id}/actions/poweron`. Source: Hetzner API, Server Actions. */
export function powerOn(call: Call, record: ServerRecord): Reply {
  const { public_net, private_net } = renderServer(call.world, record, call.now_ms);
  // Whoever put a server in may have left these out.
  const attached = [public_net?.ipv4 ?? [], public_net?.ipv6 ?? [], private_net ?? []].flat();
  if (attached.length === 0)
    throw new ApiError(422, "invalid_input", "server needs at least one network interface to be powered on");
  return start(call, record);
}

const start = power("start_server", "starting", "running");

/** `POST /servers/{id}/actions/poweroff`. Source: Hetzner API, Server Actions. */
export const powerOff = power("stop_server", "stopping", "off");

/** `POST /servers/{id}/actions/shutdown`; every guest here obeys. Source: Hetzner API, Server Actions. */
export const shutdown = power("shutdown_server", "stopping", "off");

/** `POST /servers/{id}/actions/reboot`. Source: Hetzner API, Server Actions. */
export const reboot = power("reboot_server", null, null);

/** `POST /servers/{id}/actions/reset`: cuts the power and starts, whatever was before. Source: Hetzner API, Server Actions. */
export const reset = power("reset_server", "starting", "running");

// A null status means that the server keeps the one it has.
function power(command: string, during: string | null, after: string | null) {
  return (call: Call, record: ServerRecord): Reply => {
    const before = statusAt(record, call.now_ms);
    const action = act(call, record, command);
    const ended = action.failure === null ? after : before;
    if (during !== null && ended !== null && before !== after)
      record.changes.push({ at_ms: action.started_ms, status: during }, { at_ms: action.ends_ms, status: ended });
    return started(call, action);
  };
}

/** `POST /servers/{id}/actions/change_protection`: both flags or none. Source: Hetzner API, Server Actions. */
export function changeProtection(call: Call, record: ServerRecord): Reply {
  // Whoever put a server in may have left this out.
  const { protection } = record.view;
  const fields = new Fields(call.body);
  const wanted = {
    delete: fields.boolean("delete", protection?.delete ?? false),
    rebuild: fields.boolean("rebuild", protection?.rebuild ?? false),
  };
  fields.check();
  if (wanted.delete !== wanted.rebuild) throw invalidField("rebuild", "delete and rebuild protection must be equal.");
  const action = act(call, record, "change_protection");
  if (action.failure === null) record.view = { ...record.view, protection: wanted };
  return started(call, action);
}

function act(call: Call, record: ServerRecord, command: string): ActionRecord {
  if (isBusy(record, call.now_ms)) throw locked("server");
  return startAction(call.world, [record], actionPlan(call, command));
}
