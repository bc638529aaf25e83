// What the control plane accepts. Where a mistyped word would change nothing, and so look like luck, it is refused.
import * as z from "zod";
import { ControlError } from "./errors.ts";
import type { Fault } from "./faults.ts";
import { isImageSeed, type ImageSeed } from "./image-seed.ts";
import { isServerSeed, type ServerSeed } from "./seed.ts";
import type { StockChange } from "./stock.ts";
import type { ResetOptions } from "./world.ts";

const RESET = z.object({
  limits: z
    .object({
      servers: z.int().min(0).nullable().exactOptional(),
      primary_ips: z.int().min(0).nullable().exactOptional(),
    })
    .exactOptional(),
  rate_limit: z.int().min(1).exactOptional(),
  currency: z.string().length(3).exactOptional(),
});

const CLOCK = z.object({ advance_seconds: z.number() });

const TICK = z.object({
  // Seconds, or a time that no Date can hold, would be a tick nobody meant.
  at: z.int().min(1e12, "must be unix milliseconds").max(8.64e15, "must be unix milliseconds"),
});

const PRICES = z.strictObject({ percent: z.int().min(1).max(10_000) });

const STOCK = z.strictObject({
  server_type: z.string().exactOptional(),
  location: z.string().exactOptional(),
  available: z.boolean().exactOptional(),
  orderable: z.boolean().exactOptional(),
});

const FAULT = z.strictObject({
  method: z.string().exactOptional(),
  path: z.string().exactOptional(),
  // Not z.int(): a test in this process may say Infinity.
  times: z.union([z.int().min(1), z.literal(Infinity)]).exactOptional(),
  after: z.int().min(0).exactOptional(),
  status: z.int().min(200).max(599).exactOptional(),
  code: z.string().exactOptional(),
  message: z.string().exactOptional(),
  details: z.record(z.string(), z.unknown()).nullable().exactOptional(),
  headers: z.record(z.string(), z.string().nullable()).exactOptional(),
  body: z.unknown().exactOptional(),
  drop: z.enum(["before", "after"]).exactOptional(),
  delay_ms: z.number().min(0).exactOptional(),
  hide_from_list_seconds: z.number().min(0).exactOptional(),
  action_error: z
    .union([
      z.literal(true),
      z.string(),
      z.object({
        code: z.string().exactOptional(),
        message: z.string().exactOptional(),
        command: z.string().exactOptional(),
      }),
    ])
    .exactOptional(),
});

const EFFECTS = ["status", "drop", "delay_ms", "hide_from_list_seconds", "action_error"] as const;

function parse<Value>(schema: z.ZodType<Value>, what: string, input: unknown): Value {
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw new ControlError(`bad ${what}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** The body of `/_sim/reset`. */
export function parseReset(input: unknown): ResetOptions {
  return parse(RESET, "reset", input);
}

/** The body of `/_sim/clock`: seconds to move the clock by; negative ones set it back. */
export function parseAdvanceSeconds(input: unknown): number {
  return parse(CLOCK, "clock change", input).advance_seconds;
}

/** The body of `/_sim/tick`: the time to tick at, in unix milliseconds. */
export function parseTickAt(input: unknown): number {
  return parse(TICK, "tick", input).at;
}

/** The body of `/_sim/stock`. */
export function parseStock(input: unknown): StockChange {
  return parse(STOCK, "stock change", input);
}

/** The body of `/_sim/prices`: what new orders cost, in percent of the catalogue's prices. */
export function parsePricePercent(input: unknown): number {
  return parse(PRICES, "price change", input).percent;
}

/** The body of `/_sim/servers`. */
export function parseServer(input: unknown): ServerSeed {
  if (!isServerSeed(input))
    throw new ControlError("bad server: it must be an object, its id (if any) a positive integer, its name text");
  return input;
}

/** The body of `/_sim/images`. */
export function parseImage(input: unknown): ImageSeed {
  if (!isImageSeed(input))
    throw new ControlError("bad image: it must be an object, its id (if any) a positive integer");
  return input;
}

/** The body of `/_sim/faults` with its compiled path. */
export function parseFault(input: unknown): { fault: Fault; path: RegExp } {
  const fault = parse(FAULT, "fault", input);
  const effects = EFFECTS.filter((effect) => fault[effect] !== undefined);
  if (effects.length !== 1)
    throw new ControlError(`bad fault: it needs exactly one of ${EFFECTS.join(", ")}, not ${effects.length}`);
  checkHeaders(fault.headers ?? {});
  return { fault, path: compile(fault.path ?? "") };
}

function checkHeaders(headers: Record<string, string | null>): void {
  try {
    for (const [name, value] of Object.entries(headers)) new Headers().set(name, value ?? "");
  } catch (error) {
    throw new ControlError(`bad fault: headers cannot be sent: ${String(error)}`);
  }
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch (error) {
    throw new ControlError(`bad fault: path is no regular expression: ${String(error)}`);
  }
}
