import type * as z from "zod";
import { readCapped } from "../../net/read-capped.ts";
import { DriverError, isNotFound, type DriverErrorCode } from "../driver.ts";
import { errorFrom, trace } from "./errors.ts";
import { checkReserve, readRate, type Rate } from "./rate-limit.ts";
import { parseJson } from "./schema.ts";
import { createHiding } from "./secrets.ts";

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

export interface ClientOptions {
  readonly token: string;
  /** Base URL; trailing slashes are ignored and `""` is the real API (S145). */
  readonly endpoint: string;
  readonly fetch: Fetch;
  /** Unix milliseconds: what the rate limit's headers are read against. */
  readonly now: () => number;
  /** Whether a sweep asks, for whom the reserve is kept. Whoever does not say so is a request. */
  readonly isSweep?: boolean;
  /** The whole invocation's own deadline. A caller that hangs up is no reason to stop (S158). */
  readonly signal?: AbortSignal;
}

/** What is sent. */
export interface Order {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the base URL, with every variable part validated or encoded by the caller. */
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  /** Sent in the body, and not to be quoted back in an error: of a refusal of it only code and field are kept. */
  readonly secret?: string;
  /** What a `not_found` says here. Only of one machine does it say that the machine is absent (P41). */
  readonly absence?: DriverErrorCode;
}
/** That of a call, where whoever makes it has said one. */
export const timeoutOf = (timeoutMs: number | undefined): Pick<Order, "timeoutMs"> =>
  timeoutMs === undefined ? {} : { timeoutMs };

export interface Call<T> extends Order {
  /** Shape of a 2xx body. */
  readonly answer: z.ZodType<T>;
}

export interface Client {
  <T>(call: Call<T>): Promise<T>;
  /** The same where a 2xx is all that counts, whatever it says (S48, S156). */
  readonly order: (order: Order) => Promise<void>;
  /** Words of the provider's, without what was sent as a secret. */
  readonly hide: (text: string) => string;
}

/** What the last answer said of the rate limit; it may outlive a client. */
export interface RateMemory {
  rate?: Rate;
}

const REAL_API = "https://api.hetzner.cloud/v1";
const TIMEOUT_MS = 30_000;
const MAX_ERROR_BYTES = 1024 * 1024;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * One HTTP call to the Hetzner API: one try, a time-out, and either the parsed answer or a {@link DriverError}. Nothing is
 * retried here; who calls knows what a repeat would cost. While only the reserve for deletes is left, a request's call that
 * deletes nothing is `rate_limited` before it is sent. What every answer says of the rate limit goes into `memory`.
 */
export function createClient(options: ClientOptions, memory: RateMemory = {}): Client {
  const base = (options.endpoint === "" ? REAL_API : options.endpoint).replace(/\/+$/, "");

  // What was once sent may be quoted by a later answer too.
  const secrets = createHiding();
  secrets.add(options.token);

  /** The body of a 2xx, read to its end. */
  async function exchange(order: Order): Promise<{ response: Response; text: string }> {
    const { method, path, body, timeoutMs = TIMEOUT_MS, secret = "", absence = "unexpected" } = order;
    secrets.add(secret);
    const mutates = method !== "GET";
    if (method !== "DELETE" && options.isSweep !== true) checkReserve(memory.rate, options.now());
    // A timer of our own, because it ends with the call: an isolate may hold ten thousand, and AbortSignal.timeout keeps its own.
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), timeoutMs);
    const signal = options.signal ? AbortSignal.any([timeout.signal, options.signal]) : timeout.signal;
    try {
      const response = await options.fetch(base + path, {
        method,
        headers: {
          Authorization: `Bearer ${options.token}`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        // A redirect would carry the token to whoever it names.
        redirect: "manual",
      });
      const rate = readRate(response.headers, options.now());
      if (rate !== null) memory.rate = rate;
      if (!response.ok) {
        const text = (await readCapped(response, MAX_ERROR_BYTES)) ?? "";
        const asked = { now: options.now(), mutates, hide: secrets.hide, isSecret: secret !== "" };
        const error = errorFrom(response, text, asked);
        throw isNotFound(error) ? error.as(absence) : error;
      }
      return { response, text: (await readCapped(response, MAX_ANSWER_BYTES)) ?? "" };
    } catch (error) {
      if (error instanceof DriverError) throw error;
      const timedOut = signal.aborted;
      throw new DriverError(
        timedOut ? "timeout" : "unavailable",
        timedOut ? "the provider did not answer in time" : "the connection to the provider failed",
        { retryable: true, ambiguous: mutates },
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async function send<T>(call: Call<T>): Promise<T> {
    const { response, text } = await exchange(call);
    const parsed = call.answer.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    const where = parsed.error.issues[0]?.path.join(".") || "body";
    const said = `the provider's answer cannot be read (${where})${trace(response.headers, secrets.hide)}`;
    throw new DriverError("unexpected", said, { status: response.status, ambiguous: call.method !== "GET" });
  }

  const order = async (ordered: Order): Promise<void> => void (await exchange(ordered));

  return Object.assign(send, { order, hide: secrets.hide });
}
