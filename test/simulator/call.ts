import type { JsonObject } from "./json.ts";
import type { Effects } from "./faults.ts";
import type { World } from "./world.ts";

/** One API request on its way to a handler: everything it may look at. */
export interface Call {
  world: World;
  /** The simulator's clock, frozen for the length of the request. */
  now_ms: number;
  url: URL;
  /** The numbers in the path, in order. */
  ids: number[];
  body: JsonObject;
  effects: Effects;
}

/** What a handler answers. */
export interface Reply {
  status: number;
  /** A string goes out as it is, anything else as JSON. */
  body: unknown;
  headers?: Record<string, string | null>;
}

/** Answers one kind of request, or throws an ApiError. */
export type Handler = (call: Call) => Reply;

/** A 200 with this JSON body. */
export function ok(body: object): Reply {
  return { status: 200, body };
}

/** A 204: it has happened, and there is nothing to say. */
export function noContent(): Reply {
  return { status: 204, body: null };
}

/** A 201 with this JSON body. */
export function created(body: object): Reply {
  return { status: 201, body };
}
