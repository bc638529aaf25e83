import * as z from "zod/mini";
import { Failure, type Runner } from "./runner.ts";
import { tokenFor } from "./token.ts";

export const machine = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  server_type: z.string(),
  region: z.string(),
  public_ipv4: z.string(),
  created_at: z.nullable(z.string()),
  destroyed_at: z.nullable(z.string()),
  expires_at: z.string(),
  cost_eur: z.nullable(z.number()),
});
export type Machine = z.infer<typeof machine>;
export const oneMachine = z.object({ machine });

const problem = z.object({ code: z.string(), detail: z.string(), next: z.optional(z.string()) });

/** What mayfly answered: a status, and a body where there is one. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** An answer that is a refusal. */
export class Refused extends Failure {
  readonly status: number;
  readonly code: string;

  constructor(status: number, text: string) {
    const told = problem.safeParse(jsonIn(text));
    const { code, detail, next } = told.data ?? { code: "unknown", detail: text.slice(0, 200), next: undefined };
    super(`mayfly answered ${status} ${code}: ${detail} ${next ?? ""}`.trim());
    this.status = status;
    this.code = code;
  }
}

/** Whom to call, and how patiently. */
export interface Calling {
  readonly url: string;
  readonly audience: string;
  /** So often a call is made that was not answered, or is to be made later. */
  readonly tries: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

const LONGEST_WAIT_MS = 60_000;

/**
 * Calls mayfly as this job, each time with a token of its own: they live for minutes. What is not answered, or answered with "later", is
 * called again; every call here can be repeated. Throws {@link Refused} for any other refusal, and for the last of them.
 */
export async function call(
  runner: Runner,
  { url, audience, tries, sleep }: Calling,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  for (let left = tries - 1; ; left--) {
    const came = await once();
    if (came.isAnswer && came.status < 300) return came;
    const isLast = left <= 0 || (came.isAnswer ? !isLater(came.status) : came.error instanceof Failure);
    if (isLast) throw came.isAnswer ? new Refused(came.status, came.text) : unreached(url, came.error);
    const waitMs = came.isAnswer ? came.retryAfterSeconds * 1000 : 0;
    await sleep(Math.min(LONGEST_WAIT_MS, Math.max(waitMs, 1000 * 2 ** (tries - 1 - left))));
  }

  async function once() {
    try {
      const token = await tokenFor(runner, audience);
      const response = await fetch(url + path, {
        method,
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "manual",
        signal: AbortSignal.timeout(60_000),
      });
      const text = await response.text();
      const retryAfterSeconds = Number(response.headers.get("Retry-After") ?? 0) || 0;
      return { isAnswer: true as const, status: response.status, body: jsonIn(text), text, retryAfterSeconds };
    } catch (error) {
      return { isAnswer: false as const, error };
    }
  }
}

const unreached = (url: string, error: unknown): Failure =>
  error instanceof Failure ? error : new Failure(`${url} cannot be reached: ${reasonOf(error)}`);

/** What went wrong, as deep as it is told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}

/** Too many, and whatever may pass by itself. */
const isLater = (status: number): boolean => status === 429 || status >= 500;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
