import type { Outcome, RefusalCode, Refusal } from "../../lifecycle/refusal.ts";
import type { Checked } from "../../machine/validation.ts";
import { candidateJson } from "./candidates.ts";
import { countedJson } from "./counted-machines.ts";

/** Every code that an error answer can carry, with its status. Codes are stable; sentences are not. */
const STATUS = {
  malformed: 400,
  invalid_input: 422,
  unauthorized: 401,
  forbidden: 403,
  // Not 429: the same call never succeeds, and clients repeat what is answered so.
  limit_lease: 403,
  limit_rate: 429,
  limit_count: 429,
  limit_money: 429,
  not_found: 404,
  method_not_allowed: 405,
  too_large: 413,
  spec_mismatch: 409,
  name_taken: 409,
  releasing: 409,
  released: 409,
  expired: 409,
  identity_mismatch: 409,
  sweep_running: 409,
  provider_protected: 423,
  capacity: 503,
  provider_quota: 503,
  provider_unauthorized: 503,
  provider_unavailable: 503,
  issuer_unavailable: 503,
  creates_off: 503,
  installation_changed: 503,
  misconfigured: 503,
  store_unavailable: 503,
  // Not 503: clients repeat what is answered so, and it does not pass by itself.
  store_full: 507,
  internal: 500,
} as const satisfies Readonly<Record<RefusalCode, number>> & Readonly<Record<string, number>>;

export type ProblemCode = keyof typeof STATUS;
export const PROBLEM_CODES = Object.keys(STATUS);

const TITLE: Readonly<Record<ProblemCode, string>> = {
  malformed: "The request cannot be read",
  invalid_input: "A field breaks a rule",
  unauthorized: "A valid token is needed",
  forbidden: "This caller may not do that",
  limit_lease: "The lease is longer than the policy allows",
  limit_count: "There are as many machines as there may be",
  limit_money: "It would cost more than may be spent",
  limit_rate: "Too many calls in too short a time",
  not_found: "There is no such thing",
  method_not_allowed: "This path does not take that method",
  too_large: "The body is too large",
  spec_mismatch: "The name stands for something else",
  name_taken: "The name is taken at the provider",
  releasing: "What was there before is still going away",
  released: "This name was given up",
  expired: "The lease has ended",
  identity_mismatch: "It is not the one that was recorded",
  sweep_running: "Another sweep is running",
  provider_protected: "It is protected at the provider",
  capacity: "The provider has no room",
  provider_quota: "The provider's limit is reached",
  provider_unauthorized: "The provider refuses mayfly's token",
  provider_unavailable: "The provider has not done it yet",
  issuer_unavailable: "The issuer of the token did not answer",
  creates_off: "Creates are switched off",
  installation_changed: "This database belongs to another installation",
  misconfigured: "A setting cannot be used",
  store_unavailable: "The database did not answer",
  store_full: "The database is full",
  internal: "Something went wrong here",
};

export interface ProblemDetails {
  /** What happened, in a sentence. */
  readonly detail: string;
  /** What the caller can do about it. */
  readonly next: string;
  readonly field?: string;
  readonly rule?: string;
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** It is certain that nothing was made, though the code alone leaves it open. */
  readonly madeNothing?: true;
  /** What else the body tells, under names of its own. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** An error on its way to the caller; thrown anywhere in `http/`, answered in one place. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails) {
    super(details.detail);
    this.code = code;
    this.details = details;
  }
}

/** A field that breaks a rule: 422, naming both. */
export const invalidField = (field: string, rule: string): HttpProblem =>
  new HttpProblem("invalid_input", {
    detail: `\`${field}\` ${rule}.`,
    field,
    rule,
    next: "Correct the field and send again.",
  });

/** What a rule of the domain found right; what it found wrong is thrown, as the answer to the caller. */
export function validOf<T>(checked: Checked<T>): T {
  if (checked.ok) return checked.value;
  throw invalidField(checked.problem.field, checked.problem.rule);
}

/** What a use case answered; its refusal is thrown, as the answer to the caller. */
export function unwrap<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw problemOf(outcome.refusal);
}

/** Told wherever the configuration names another installation than the database remembers. */
export const INSTALLATION_CHANGED = "INSTALLATION is not the one that this database remembers.";

/** What a caller over HTTP is told in words of paths and settings, which use cases do not know. */
const IN_OUR_WORDS: Partial<Record<RefusalCode | NonNullable<Refusal["about"]>, { detail?: string; next: string }>> = {
  installation_changed: {
    detail: INSTALLATION_CHANGED,
    next: "An admin must set it back, or list the old one in PREVIOUS_INSTALLATIONS so that its machines stay looked after.",
  },
  provider_unauthorized: { next: "An admin must check HCLOUD_TOKEN." },
  forbidden: { next: "Ask for what your policy allows: GET /v1/whoami tells." },
  offer: { next: "GET /v1/server_types lists what can; offer more regions, or the same later." },
  sold: { next: "Correct the field: GET /v1/server_types lists what can be ordered now, and where." },
  price: {
    next: "Name a server type that has a price in its region (GET /v1/server_types), or repeat the call later.",
  },
  attached: {
    next: "If it is about a key, a firewall or a network that is gone there: DELETE yours here, create it anew; leave out what is named by `id:`.",
  },
};

function problemOf(refusal: Refusal): HttpProblem {
  const { code, about, message, next, retryAfterSeconds, problem, rule } = refusal;
  const { fields, policy, figures, limit, machines, candidates } = refusal;
  return new HttpProblem(code, {
    detail: message,
    next,
    ...IN_OUR_WORDS[about ?? code],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(rule === undefined ? {} : { rule }),
    ...(refusal.madeNothing === undefined ? {} : { madeNothing: refusal.madeNothing }),
    ...problem,
    more: {
      fields,
      policy,
      figures,
      limit,
      machines: machines?.map(countedJson),
      candidates: candidates?.map(candidateJson),
    },
  });
}

const DEFAULT_RETRY_SECONDS = 10;

/** RFC 9457 problem details. Every 429 and 503 says when to come back, so that `curl --retry` works. */
export function problemResponse({ code, details }: HttpProblem, requestId: string): Response {
  const status: number = STATUS[code];
  const waits = status === 503 || status === 429;
  const retryAfter = details.retryAfterSeconds ?? (waits ? DEFAULT_RETRY_SECONDS : undefined);
  const { detail, next, field, rule } = details;
  const body = {
    type: "about:blank",
    title: TITLE[code],
    status,
    code,
    detail,
    field,
    rule,
    next,
    ...details.more,
    request_id: requestId,
  };
  return Response.json(body, {
    status,
    headers: {
      ...details.headers,
      ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }),
      "Content-Type": "application/problem+json",
    },
  });
}
