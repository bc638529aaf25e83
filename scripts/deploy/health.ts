// Waiting until a deployment is seen to be alive.
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { jsonText } from "../json-text.ts";

const shape = z.looseObject({
  status: z.enum(["green", "red"]),
  reasons: z.array(z.string()),
  last_good_sweep_at: z.string().nullable(),
});

/** What `GET /healthz` says. Times unix milliseconds. */
export interface HealthSeen {
  readonly reasons: readonly string[];
  readonly lastGoodSweepAt: number | null;
  /** The server's clock, to the second; null where it does not say. */
  readonly at: number | null;
}

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
const TIMEOUT_MS = 10_000;

/** Asks; a text says in a few words why nothing could be learnt. */
export async function seeHealth(url: string, fetch: Fetch): Promise<HealthSeen | string> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch (error) {
    return `cannot be reached (${causeOf(error)})`;
  }
  const read = jsonText.pipe(shape).safeParse(text);
  if (!read.success) return `answers ${response.status}, and not as mayfly does`;
  const date = Date.parse(response.headers.get("Date") ?? "");
  return {
    reasons: read.data.status === "green" ? [] : read.data.reasons,
    lastGoodSweepAt: read.data.last_good_sweep_at === null ? null : Date.parse(read.data.last_good_sweep_at),
    at: Number.isNaN(date) ? null : date,
  };
}

/** What kept a request from being answered, in the words of whatever lies under `fetch`. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}

const EVERY_MS = 1_000;
/** So that a long wait is seen to go on. */
const SAY_EVERY_MS = 60_000;

/** What is waited for, and how long at most. */
export interface Patience {
  readonly url: string;
  /** Whether the sweep must begin after this call: that of another version says nothing. */
  readonly isNew: boolean;
  readonly mostMs: number;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly say: (line: string) => void;
}

/** Resolves once health is green and a sweep was good; rejects, with what was last seen, after `mostMs`. */
export async function waitForHealth({ url, isNew, mostMs, fetch, now, say }: Patience): Promise<void> {
  const begin = now();
  let since: number | null = null;
  let said = { line: "", at: 0 };
  for (;;) {
    const seen = await seeHealth(url, fetch);
    if (typeof seen !== "string") since ??= isNew ? Math.floor((seen.at ?? now()) / 1000) * 1000 : 0;
    const missing = missingIn(seen, since ?? 0);
    if (missing === null) return;
    if (now() - begin > mostMs)
      throw new Error(`${url} is deployed, and ${missing}. What to do: MAYFLY_TOKEN=… npm run doctor -- ${url}`);
    if (missing !== said.line || now() - said.at > SAY_EVERY_MS) {
      say(`  ${Math.round((now() - begin) / 1000)} s: ${missing}`);
      said = { line: missing, at: now() };
    }
    await wait(EVERY_MS);
  }
}

function missingIn(seen: HealthSeen | string, since: number): string | null {
  if (typeof seen === "string") return seen;
  if (seen.reasons.length > 0) return `health is red: ${seen.reasons.join("; ")}`;
  if (seen.lastGoodSweepAt === null || seen.lastGoodSweepAt < since) return "no sweep has run yet";
  return null;
}
