import { toTimestamp, type Action } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** Why an action ends in `error`; `command` picks one of several actions that a request starts. */
export interface ActionFailure {
  code: string;
  message: string;
  command?: string;
}

/** An action as a plan: what it will have become at any time follows from the clock. */
export interface ActionRecord {
  id: number;
  command: string;
  server_id: number;
  started_ms: number;
  ends_ms: number;
  failure: ActionFailure | null;
}

/** How long every action but create and start-after-create takes. */
export const ACTION_MS = 300;

// A server that is being created or started can be deleted at once.
const NEVER_LOCKING = new Set(["create_server", "start_server"]);

/** Starts an action on a server; it ends by itself when the clock reaches `ends_ms`. */
export function startAction(
  world: World,
  server: ServerRecord,
  command: string,
  started_ms: number,
  ends_ms: number,
  failure: ActionFailure | null,
): ActionRecord {
  const action = { id: world.next_id.action++, command, server_id: server.view.id, started_ms, ends_ms, failure };
  world.actions.set(action.id, action);
  server.actions.push(action);
  return action;
}

/** Whether the action is still running at that time. */
export function isRunning(record: ActionRecord, now_ms: number): boolean {
  return now_ms < record.ends_ms;
}

/** Whether the action keeps a DELETE of its server away at that time. */
export function isLocking(record: ActionRecord, now_ms: number): boolean {
  return isRunning(record, now_ms) && !NEVER_LOCKING.has(record.command);
}

/** The action as the API shows it at that time. Source: Hetzner API, Actions. */
export function renderAction(record: ActionRecord, now_ms: number): Action {
  const { id, command, server_id, started_ms, ends_ms, failure } = record;
  const running = isRunning(record, now_ms);
  const share = Math.max(0, now_ms - started_ms) / (ends_ms - started_ms);
  return {
    id,
    command,
    status: running ? "running" : failure === null ? "success" : "error",
    progress: running ? Math.floor(share * 100) : 100,
    started: toTimestamp(started_ms),
    finished: running ? null : toTimestamp(ends_ms),
    resources: [{ id: server_id, type: "server" }],
    error: running || failure === null ? null : { code: failure.code, message: failure.message },
  };
}
