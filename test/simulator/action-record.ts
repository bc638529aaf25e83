import { created, type Call, type Reply } from "./call.ts";
import { toTimestamp, type Action } from "./resources.ts";
import type { World } from "./world.ts";

/** Why an action ends in `error`; `command` picks one of several actions that a request starts. */
export interface ActionFailure {
  code: string;
  message: string;
  command?: string;
}

/** What a running action keeps away from what it is about. */
export type Hold = "everything" | "other actions" | "nothing";

/** An action that is to be started. */
export interface ActionPlan {
  command: string;
  started_ms: number;
  ends_ms: number;
  failure: ActionFailure | null;
  /** Everything by default. */
  hold?: Hold;
}

/** An action as a plan: what it will have become at any time follows from the clock. */
export interface ActionRecord extends Required<ActionPlan> {
  id: number;
  resources: { id: number; type: string }[];
}

/** Something that actions are about. */
export interface Subject {
  type: "server" | "firewall" | "network" | "image";
  view: { id: number };
  actions: ActionRecord[];
}

/** How long every action but create and start-after-create takes. */
export const ACTION_MS = 300;

/** Starts an action on these; it ends by itself when the clock reaches `ends_ms`. */
export function startAction(world: World, subjects: readonly Subject[], plan: ActionPlan): ActionRecord {
  const resources = subjects.map(({ type, view }) => ({ id: view.id, type }));
  const action = { hold: "everything" as const, ...plan, id: world.next_id.action++, resources };
  world.actions.set(action.id, action);
  for (const subject of subjects) subject.actions.push(action);
  return action;
}

/** A plan for an action that begins with this request and takes the usual time. */
export function actionPlan({ now_ms, effects }: Call, command: string): ActionPlan {
  return { command, started_ms: now_ms, ends_ms: now_ms + ACTION_MS, failure: failureOf(effects.failure, command) };
}

/** How an action with this command is to fail, if it is: a failure that names a command is about that one alone. */
export function failureOf(failure: ActionFailure | null, command: string): ActionFailure | null {
  return failure?.command === undefined || failure.command === command ? failure : null;
}

/** Whether the action is still running at that time. */
export function isRunning(record: ActionRecord, now_ms: number): boolean {
  return now_ms < record.ends_ms;
}

/** Whether an action keeps a DELETE away. */
export function isLocked({ actions }: Subject, now_ms: number): boolean {
  return actions.some((action) => action.hold === "everything" && isRunning(action, now_ms));
}

/** Whether anything is being done to it, which keeps other actions away. */
export function isBusy({ actions }: Subject, now_ms: number): boolean {
  return actions.some((action) => action.hold !== "nothing" && isRunning(action, now_ms));
}

/** A 201 with this action. */
export function started(call: Call, action: ActionRecord): Reply {
  return created({ action: renderAction(action, call.now_ms) });
}

/** The action as the API shows it at that time. Source: Hetzner API, Actions. */
export function renderAction(record: ActionRecord, now_ms: number): Action {
  const { id, command, resources, started_ms, ends_ms, failure } = record;
  const running = isRunning(record, now_ms);
  const share = Math.max(0, now_ms - started_ms) / Math.max(1, ends_ms - started_ms);
  return {
    id,
    command,
    status: running ? "running" : failure === null ? "success" : "error",
    progress: running ? Math.floor(share * 100) : 100,
    started: toTimestamp(started_ms),
    finished: running ? null : toTimestamp(ends_ms),
    resources,
    error: running || failure === null ? null : { code: failure.code, message: failure.message },
  };
}
