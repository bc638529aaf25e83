import type { ActionFailure } from "./action-record.ts";

/** Which requests a fault meets: the first `after` matches pass, the next `times` (1) are hit. */
export interface FaultRule {
  /** Any method without it. */
  method?: string;
  /** Regular expression on the path with `/v1`, without the query; any path without it. */
  path?: string;
  times?: number;
  after?: number;
}

/** A fault is a rule and exactly one effect: `status`, `drop`, `delay_ms`, `hide_from_list_seconds` or `action_error`. */
export interface Fault extends FaultRule {
  /** Answer this instead; without a body it is an error envelope with `code`, `message` and `details`. */
  status?: number;
  code?: string;
  message?: string;
  details?: { [key: string]: unknown } | null;
  /** Laid over the usual ones; null takes a header away. */
  headers?: Record<string, string | null>;
  /** A string goes out as it is, anything else as JSON. */
  body?: unknown;
  /** Cut the connection before or after the request took effect. */
  drop?: "before" | "after";
  /** Hold the answer back; the effect has taken place by then. Real time. */
  delay_ms?: number;
  /** The server made by this request stays out of lists; a list request leaves out servers younger than that. */
  hide_from_list_seconds?: number;
  /** The action started by this request ends in error: true, a code, or a code, a message and which command. */
  action_error?: true | string | Partial<ActionFailure>;
}

/** An installed fault with its count of matching requests. */
export interface FaultRecord {
  fault: Fault;
  path: RegExp;
  seen: number;
}

/** What the faults do to one request. */
export interface Effects {
  answer: Fault | null;
  drop: "before" | "after" | null;
  delay_ms: number;
  hide_ms: number;
  failure: ActionFailure | null;
}

/**
 * Asks every fault about a request and counts it. The first one that answers or cuts the line has the last word;
 * those before it add up, so that a test can combine a delay with a drop.
 */
export function meetFaults(faults: FaultRecord[], method: string, path: string): Effects {
  const effects: Effects = { answer: null, drop: null, delay_ms: 0, hide_ms: 0, failure: null };
  for (const record of faults) {
    if (!hits(record, method, path)) continue;
    const { fault } = record;
    effects.delay_ms += fault.delay_ms ?? 0;
    effects.hide_ms = Math.max(effects.hide_ms, (fault.hide_from_list_seconds ?? 0) * 1000);
    effects.failure ??= failureOf(fault.action_error);
    effects.drop = fault.drop ?? null;
    effects.answer = fault.status === undefined ? null : fault;
    if (effects.drop !== null || effects.answer !== null) break;
  }
  return effects;
}

function hits(record: FaultRecord, method: string, path: string): boolean {
  const { fault } = record;
  if (fault.method !== undefined && fault.method.toUpperCase() !== method) return false;
  if (!record.path.test(path)) return false;
  record.seen += 1;
  const skipped = fault.after ?? 0;
  return record.seen > skipped && record.seen <= skipped + (fault.times ?? 1);
}

function failureOf(error: Fault["action_error"]): ActionFailure | null {
  if (error === undefined) return null;
  const given = typeof error === "string" ? { code: error } : error === true ? {} : error;
  return { code: "action_failed", message: "Action failed", ...given };
}

// What a status means when the fault does not say. Source: Hetzner API, Errors.
const CODES: Record<number, string> = {
  400: "json_error",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  409: "conflict",
  410: "deprecated_api_endpoint",
  412: "resource_unavailable",
  422: "invalid_input",
  423: "locked",
  429: "rate_limit_exceeded",
  500: "server_error",
  502: "bad_gateway",
  503: "unavailable",
  504: "timeout",
};

/** The body of an answering fault: its own, or the error envelope. */
export function faultBody(fault: Fault): unknown {
  if (fault.body !== undefined) return fault.body;
  const code = fault.code ?? CODES[fault.status ?? 0] ?? "unknown_error";
  return { error: { code, message: fault.message ?? code, details: fault.details ?? null } };
}
