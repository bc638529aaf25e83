// The API's side of one request: a route, a token, a body, a handler.
import type { Call, Reply } from "./call.ts";
import { ApiError } from "./errors.ts";
import { faultBody, type Effects, type Fault } from "./faults.ts";
import { isObject, type JsonObject } from "./json.ts";
import { findRoute } from "./routes.ts";
import type { World } from "./world.ts";

/** Answers an API request and never throws: whatever goes wrong is an error in Hetzner's envelope. */
export function answerApi(world: World, now_ms: number, request: Request, text: string, effects: Effects): Reply {
  try {
    return effects.answer === null ? handle(world, now_ms, request, text, effects) : faultReply(effects.answer);
  } catch (error) {
    return errorReply(error);
  }
}

function handle(world: World, now_ms: number, request: Request, text: string, effects: Effects): Reply {
  const url = new URL(request.url);
  // Live, an unknown path is 404 before the token is looked at, and a wrong method 401 without one.
  const route = findRoute(url.pathname);
  if (route === undefined) throw new ApiError(404, "not_found", "404 page not found");
  if (!/^Bearer +\S/i.test(request.headers.get("Authorization") ?? ""))
    throw new ApiError(401, "unauthorized", "unable to authenticate");
  const handler = Object.hasOwn(route.methods, request.method) ? route.methods[request.method] : undefined;
  if (handler === undefined) throw new ApiError(405, "method_not_allowed", "method not allowed");
  const call: Call = { world, now_ms, url, ids: route.ids, body: parseBody(text), effects };
  return handler(call);
}

// Actions without options are sent with an empty body.
function parseBody(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = parseJson(text);
  if (!isObject(value)) throw new ApiError(422, "invalid_input", "the body must be a JSON object");
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, "json_error", `invalid JSON: ${String(error)}`);
  }
}

function faultReply(fault: Fault): Reply {
  return { status: fault.status ?? 500, body: faultBody(fault), ...(fault.headers && { headers: fault.headers }) };
}

function errorReply(error: unknown): Reply {
  const { status, code, message, details } =
    error instanceof ApiError ? error : new ApiError(500, "server_error", `the simulator failed: ${String(error)}`);
  return { status, body: { error: { code, message, details } } };
}

/** 429. Source: Hetzner API, Rate Limiting. */
export function rateLimited(limit: number): Reply {
  return errorReply(new ApiError(429, "rate_limit_exceeded", `limit of ${limit} requests per hour reached`));
}
