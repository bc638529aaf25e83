import { limitIn } from "./limits.ts";
import { parseErrorBody } from "./schema.ts";
import { DriverError, type DriverErrorCode, type DriverErrorDetails } from "../driver.ts";
import type { Problem } from "../../machine/validation.ts";

type Meaning = { readonly code: DriverErrorCode; readonly retryable?: boolean };

/**
 * Hetzner's `error.code`, in our words. A code decides, never the status it came with: 409 alone has several meanings
 * (S154). `retryable` means that the same call may work later, not that anybody loops (S150, S155).
 */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  unauthorized: { code: "unauthorized" },
  token_readonly: { code: "unauthorized" },
  forbidden: { code: "unauthorized" },
  not_found: { code: "not_found" },
  uniqueness_error: { code: "name_taken" },
  conflict: { code: "conflict", retryable: true },
  json_error: { code: "invalid_input" },
  invalid_input: { code: "invalid_input" },
  resource_unavailable: { code: "capacity" },
  placement_error: { code: "capacity" },
  resource_limit_exceeded: { code: "quota" },
  dedicated_core_limit: { code: "capacity" },
  protected: { code: "protected" },
  locked: { code: "locked", retryable: true },
  resource_in_use: { code: "in_use", retryable: true },
  server_already_attached: { code: "already_done" },
  firewall_already_applied: { code: "already_done" },
  // So are machines with public addresses, while they are new.
  private_net_only_server: { code: "conflict", retryable: true },
  no_subnet_available: { code: "quota", retryable: true },
  ip_not_available: { code: "quota", retryable: true },
  networks_overlap: { code: "invalid_input" },
  rate_limit_exceeded: { code: "rate_limited", retryable: true },
  deprecated_api_endpoint: { code: "gone" },
  timeout: { code: "timeout", retryable: true },
  bad_gateway: { code: "unavailable", retryable: true },
  unavailable: { code: "unavailable", retryable: true },
  maintenance: { code: "unavailable", retryable: true },
  server_error: { code: "unavailable", retryable: true },
  service_error: { code: "unavailable", retryable: true },
};

/** What a status alone can tell, for bodies without a code that we know: a proxy's page, or a code invented tomorrow. */
function byStatus(status: number): Meaning {
  if (status === 401 || status === 403) return { code: "unauthorized" };
  if (status === 410) return { code: "gone" };
  if (status === 429) return { code: "rate_limited", retryable: true };
  if (status === 504) return { code: "timeout", retryable: true };
  if (status >= 500) return { code: "unavailable", retryable: true };
  return { code: "unexpected" };
}

function meaningOf(status: number, code: string): Meaning {
  // Only in the API's own envelope a 404 is its word; a page of whoever stands between says nothing, least of all that something is gone.
  if (status === 404) return { code: code === "" ? "unexpected" : "not_found" };
  return (Object.hasOwn(BY_CODE, code) && BY_CODE[code]) || byStatus(status);
}

/** What a code means in some words: `words` are the provider's, and in the names of limits. */
interface Sentence extends Meaning {
  readonly native: string;
  readonly words: RegExp;
  /** The same in our words, where the provider's are not to be kept. Of a limit its name says it. */
  readonly ours?: string;
  /** Of what would be refused later too: what would have to be another. */
  readonly forGood?: Problem;
  /** What is to be known besides. */
  readonly note?: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** Another candidate may have what these lack (S41); of what all need, a project's limit stops. */
const SENTENCES: readonly Sentence[] = [
  {
    native: "invalid_input",
    words: /unsupported location for server type/i,
    code: "capacity",
    ours: "the location does not offer this server type",
    forGood: { field: "region", rule: "must be one where the provider sells the server type" },
  },
  {
    native: "invalid_input",
    words: /server location disabled/i,
    code: "capacity",
    ours: "the location takes no new servers",
  },
  {
    native: "invalid_input",
    words: /server type .*deprecated/i,
    code: "capacity",
    ours: "this server type is no longer sold",
    forGood: { field: "server_type", rule: "must be one that the provider still sells" },
  },
  {
    native: "invalid_input",
    words: /image disk is bigger than server type disk/i,
    code: "capacity",
    ours: "the image does not fit on this server type's disk",
    forGood: { field: "image", rule: "must fit on the server type's disk" },
  },
  {
    native: "resource_limit_exceeded",
    words: /core[ _]limit/i,
    code: "capacity",
  },
  {
    native: "resource_limit_exceeded",
    words: /\b(server|primary[ _]ip)[ _]limit\b/i,
    code: "quota",
    retryable: true,
    note: "; one that was just deleted may still count",
    retryAfter: 10,
  },
];

/** After these a call that changes something may have done so, whatever status they came with. */
const NO_PROOF: ReadonlySet<DriverErrorCode> = new Set(["unavailable", "timeout", "unexpected"]);

/** What these say may have come after the effect. */
const OPEN_STATUSES: ReadonlySet<number> = new Set([408, 409, 423, 425, 429, 499]);

/** Whether a code that we do not know is a refusal all the same: the API's own word that it did not do it. */
const isRefusal = (status: number, code: string): boolean =>
  code !== "" && !Object.hasOwn(BY_CODE, code) && status >= 400 && status < 500 && !OPEN_STATUSES.has(status);

/** Which field a sentence is about, where nothing else says so: a hint for people, never a ground for a decision. */
function fieldIn(message: string): string {
  const [, named] = /\bfield '([a-z_.]{1,32})'/.exec(message) ?? [];
  const text = message.toLowerCase().replaceAll(" ", "_");
  return (
    named ?? ["server_type", "image", "location", "user_data", "name"].find((field) => text.includes(field)) ?? "body"
  );
}

/** The field that a code is about by itself: it comes without one. */
const FIELD_OF: Readonly<Record<string, string>> = { networks_overlap: "network" };
const fieldOf = (code: string, message: string): string =>
  (Object.hasOwn(FIELD_OF, code) && FIELD_OF[code]) || fieldIn(message);

/** Hetzner's fields, as our callers spell them. */
const OUR_NAMES: Readonly<Record<string, string>> = { location: "region", user_data: "cloud_init" };
const ourName = (field: string): string => (Object.hasOwn(OUR_NAMES, field) && OUR_NAMES[field]) || field;

/** What is known of the call that was refused. */
interface Asked {
  /** Unix milliseconds. */
  readonly now: number;
  readonly mutates: boolean;
  /** Takes out of a text whatever of it was sent as a secret. */
  readonly hide: (text: string) => string;
  /** Whether it carried what nobody may quote: then the provider's words are not kept at all. */
  readonly isSecret: boolean;
}

/**
 * Turns a refusal of the API into a {@link DriverError}: status, code and message, and none of the secrets that we sent,
 * should whoever answers quote them (S148, S149). Absence is a 404 or the code `not_found`, in the API's own envelope (S153).
 */
export function errorFrom({ status, headers }: Response, body: string, asked: Asked): DriverError {
  const { code, message, fields, limits } = parseErrorBody(body);
  const safe = (text: string): string => asked.hide(text.slice(0, LONGEST_QUOTE));
  const words = [message, ...limits].join("; ").slice(0, LONGEST_QUOTE);
  const sentence = SENTENCES.find((one) => one.native === code && one.words.test(words));
  const meaning = sentence ?? meaningOf(status, code);
  const limit = limitIn(
    code,
    message,
    limits.map((name) => asWord(safe(name))),
  );
  const [field = { name: fieldOf(code, message), messages: [message] }] = fields;
  const rule = asked.isSecret ? "" : safe(field.messages.join("; "));
  const wait =
    sentence?.retryAfter ??
    (meaning.code === "rate_limited" ? retryAfterSeconds(headers, asked.now) : plainRetryAfter(headers));
  const details: DriverErrorDetails = {
    status,
    retryable: meaning.retryable ?? false,
    ambiguous: asked.mutates && NO_PROOF.has(meaning.code) && !isRefusal(status, code),
    ...(wait === null ? {} : { retryAfter: wait }),
    ...(limit === undefined ? {} : { limit }),
    ...(sentence?.forGood === undefined ? {} : { isForGood: true, problem: sentence.forGood }),
    ...(meaning.code === "invalid_input" || meaning.code === "not_found"
      ? { problem: { field: ourName(asWord(safe(field.name)) || "body"), rule: rule || "is refused by the provider" } }
      : {}),
  };
  const ours = limit ? `the project's limit of ${limit.counts} is reached` : sentence?.ours;
  const quoted = asked.isSecret ? (ours ?? "") : safe(message);
  const named = asWord(safe(code));
  const said = `the provider answered ${status}${named && ` ${named}`}${quoted && `: ${quoted}`}${sentence?.note ?? ""}`;
  return new DriverError(meaning.code, said + trace(headers, asked.hide), details);
}

/** A code or a field's name; empty for what is none. */
const asWord = (text: string): string => (/^[\w.[\]-]{1,64}$/.test(text) ? text : "");

/** A success that does not show what was asked for: that may have been made all the same. */
export const aboutAnother = (what: string): DriverError =>
  new DriverError("unexpected", `the provider's answer is about another ${what}`, { ambiguous: true });

/** What Hetzner's support asks for; empty where an answer has none that can be believed. */
export function trace(headers: Headers, hide: (text: string) => string): string {
  const id = hide((headers.get("X-Correlation-Id") ?? "").slice(0, LONGEST_QUOTE));
  return /^[\w-]{1,64}$/.test(id) ? ` (correlation id ${id})` : "";
}

const LONGEST_QUOTE = 500;
const LONGEST_WAIT_SECONDS = 3600;

/** How long to wait after a 429: its own header, else until the bucket is full again, which is the surest (S152). */
function retryAfterSeconds(headers: Headers, now: number): number {
  const reset = Number(headers.get("RateLimit-Reset") ?? Number.NaN);
  const untilReset = Number.isFinite(reset) ? Math.ceil(reset - now / 1000) : 1;
  return plainRetryAfter(headers) ?? Math.min(Math.max(1, untilReset), LONGEST_WAIT_SECONDS);
}

function plainRetryAfter(headers: Headers): number | null {
  const text = headers.get("Retry-After") ?? "";
  return /^\d{1,5}$/.test(text) ? Math.min(Math.max(1, Number(text)), LONGEST_WAIT_SECONDS) : null;
}
