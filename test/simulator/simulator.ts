// A Hetzner Cloud of one project, as it stood in November 2026, in memory.
//
// A request comes in through `fetch`. Below `/_sim/` it is somebody playing fate (control-plane.ts). Everything else
// is the API: the request is written down, charged to the rate limit, shown to the faults, and answered by the handler
// that routes.ts finds for it. Handlers change the world (world.ts), in which servers and actions are plans: what has
// become of them is worked out from the clock whenever somebody looks, so there are no timers to wait for.
import { answerApi, rateLimited } from "./api.ts";
import type { Reply } from "./call.ts";
import { answerControl, type OnTick } from "./control-plane.ts";
import { createControls, type Controls } from "./controls.ts";
import { ConnectionDropped } from "./errors.ts";
import { meetFaults } from "./faults.ts";
import { createWorld, idsFrom, type World } from "./world.ts";

export { ConnectionDropped, ControlError } from "./errors.ts";
export type { State, ServerState } from "./controls.ts";
export type { Fault } from "./faults.ts";
export type { Action, Firewall, Image, Location, Network, Server, ServerType, SshKey } from "./resources.ts";
export type { ImageSeed } from "./image-seed.ts";
export type { ServerSeed } from "./seed.ts";
export type { StockChange, StockEntry } from "./stock.ts";
export type { RequestEntry, ResetOptions } from "./world.ts";

/** What a simulator may be given. */
export interface SimulatorOptions {
  /** The real time in unix milliseconds. */
  now?: () => number;
  /** The first server's id. */
  first_id?: number;
  /** What `/_sim/tick` runs. */
  onTick?: OnTick;
  /** Shown every API request as it comes in, whatever becomes of it. */
  onRequest?: (request: ApiRequest) => void;
}

/** An API request as it came in; no body is the empty one. */
export interface ApiRequest {
  method: string;
  /** With `/v1`. */
  path: string;
  body: string;
}

/** A simulated project: the API and its control plane behind one fetch, and the same controls as methods. */
export interface Simulator extends Controls {
  /**
   * Answers `/v1/...` and `/_sim/...` on any host. Rejects only as a real fetch would: with ConnectionDropped where a
   * fault says so, and with the request's abort reason when the caller gives up on a delayed answer.
   */
  fetch(request: Request): Promise<Response>;
}

/** An empty project with everything in stock. */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const real_ms = options.now ?? (() => Date.now());
  let world = createWorld({}, real_ms(), idsFrom(options.first_id ?? 101));
  const controls = createControls(
    real_ms,
    () => world,
    (next) => {
      world = next;
    },
  );
  return {
    ...controls,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/_sim/")) return answerControl(controls, options.onTick, request);
      const text = await readBody(request);
      options.onRequest?.({ method: request.method, path: pathname, body: text });
      return serve(world, controls.now(), request, text);
    },
  };
}

async function serve(world: World, now_ms: number, request: Request, text: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const entry = { method: request.method, path: pathname, query: search.slice(1), status: 0 };
  world.requests.push(entry);
  const correlation = correlationId(world.requests.length);

  const quota = world.rate_limit.take(now_ms);
  const effects = meetFaults(world.faults, request.method, pathname);
  if (effects.drop === "before") throw new ConnectionDropped();
  const reply = quota.allowed ? answerApi(world, now_ms, request, text, effects) : rateLimited(world.rate_limit.limit);
  if (effects.delay_ms > 0) await pause(effects.delay_ms, request.signal);
  if (effects.drop === "after") throw new ConnectionDropped();
  entry.status = reply.status;
  return toResponse(reply, { ...quota.headers, "X-Correlation-Id": correlation });
}

// A body that breaks off means that the caller has gone.
async function readBody(request: Request): Promise<string> {
  try {
    return await request.text();
  } catch (error) {
    throw new ConnectionDropped({ cause: error });
  }
}

// Counted, not random: equal histories give equal answers.
function correlationId(count: number): string {
  return count.toString(16).padStart(32, "0");
}

// A caller that gives up meets its own abort reason, as with a real fetch.
function pause(delay_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abandon = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abandon);
      resolve();
    }, delay_ms);
    if (signal.aborted) abandon();
    else signal.addEventListener("abort", abandon, { once: true });
  });
}

const BODILESS_STATUSES = new Set([204, 205, 304]);

function toResponse(reply: Reply, standard: Record<string, string>): Response {
  const bodiless = BODILESS_STATUSES.has(reply.status);
  // hcloud-go reads a body wherever there is a type of one.
  const headers = new Headers({ ...(!bodiless && { "Content-Type": "application/json" }), ...standard });
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  const text = typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body);
  return new Response(bodiless ? null : text, { status: reply.status, headers });
}
