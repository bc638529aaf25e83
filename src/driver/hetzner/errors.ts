import { parseErrorBody, parseJson } from "./schema.ts";
import { DriverError, type DriverErrorCode, type DriverErrorDetails } from "../driver.ts";

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
  dedicated_core_limit: { code: "quota" },
  protected: { code: "protected" },
  locked: { code: "locked", retryable: true },
  resource_in_use: { code: "in_use", retryable: true },
  server_already_attached: { code: "already_done" },
  firewall_already_applied: { code: "already_done" },
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
  if (status === 404) return { code: "not_found" };
  if (status === 410) return { code: "gone" };
  if (status === 429) return { code: "rate_limited", retryable: true };
  if (status === 504) return { code: "timeout", retryable: true };
  if (status >= 500) return { code: "unavailable", retryable: true };
  return { code: "unexpected" };
}

function meaningOf(status: number, code: string, body: string): Meaning {
  // A page that is no JSON is not the API's word, least of all that something is gone.
  if (status === 404 && body.trim() !== "" && parseJson(body) === undefined) return { code: "unexpected" };
  return status === 404 ? byStatus(404) : (Object.hasOwn(BY_CODE, code) && BY_CODE[code]) || byStatus(status);
}

const SHORTAGE: Meaning = { code: "capacity" };

/** A type that a location does not offer comes as bad input, though another location may have it (S41). */
const isShortage = (code: string, message: string): boolean =>
  code === "invalid_input" &&
  /unsupported location for server type|server location disabled|server type .*deprecated/i.test(message);

/** After these a call that changes something may have done so, whatever status they came with. */
const NO_PROOF: ReadonlySet<DriverErrorCode> = new Set(["unavailable", "timeout", "unexpected"]);

/** Which field a sentence is about, where nothing else says so: a hint for people, never a ground for a decision. */
function fieldIn(message: string): string {
  const text = message.toLowerCase().replaceAll(" ", "_");
  return ["server_type", "image", "location", "user_data", "name"].find((field) => text.includes(field)) ?? "body";
}

/** Hetzner's fields, as our callers spell them. */
const OUR_NAMES: Readonly<Record<string, string>> = { location: "region", user_data: "cloud_init" };
const ourName = (field: string): string => (Object.hasOwn(OUR_NAMES, field) && OUR_NAMES[field]) || field;

/**
 * Turns a refusal of the API into a {@link DriverError}: status, code and message, and none of the `secrets` that we sent,
 * should whoever answers quote them (S148, S149). Absence is a 404 or the code `not_found` (S153).
 */
export function errorFrom(
  { status, headers }: Response,
  body: string,
  { now, mutates, secrets }: { readonly now: number; readonly mutates: boolean; readonly secrets: readonly string[] },
): DriverError {
  const { code, message, fields } = parseErrorBody(body);
  const safe = (text: string): string =>
    secrets
      .filter((secret) => secret.length >= SHORTEST_SECRET)
      .reduce((rest, secret) => rest.replaceAll(secret, "[hidden]"), text)
      .slice(0, LONGEST_QUOTE);
  const meaning = isShortage(code, message) ? SHORTAGE : meaningOf(status, code, body);
  const wait = meaning.code === "rate_limited" ? retryAfterSeconds(headers, now) : plainRetryAfter(headers);
  const [field = { name: fieldIn(message), messages: [message] }] = fields;
  const details: DriverErrorDetails = {
    status,
    retryable: meaning.retryable ?? false,
    ambiguous: mutates && NO_PROOF.has(meaning.code),
    ...(wait === null ? {} : { retryAfter: wait }),
    ...(meaning.code === "invalid_input" || meaning.code === "not_found"
      ? {
          problem: {
            field: ourName(safe(field.name)),
            rule: safe(field.messages.join("; ")) || "is refused by the provider",
          },
        }
      : {}),
  };
  const said = `the provider answered ${status}${code && ` ${safe(code)}`}${message && `: ${safe(message)}`}${trace(headers)}`;
  return new DriverError(meaning.code, said, details);
}

/** A success that does not show what was asked for: that may have been made all the same. */
export const aboutAnother = (what: string): DriverError =>
  new DriverError("unexpected", `the provider's answer is about another ${what}`, { ambiguous: true });

/** What Hetzner's support asks for; empty where an answer has none that can be believed. */
export function trace(headers: Headers): string {
  const id = headers.get("X-Correlation-Id") ?? "";
  return /^[\w-]{1,64}$/.test(id) ? ` (correlation id ${id})` : "";
}

const LONGEST_QUOTE = 500;
/** Anything shorter is in ordinary words too, and hiding it there would only garble them. */
const SHORTEST_SECRET = 8;
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
