/** How use cases say no: a value with a code, because the caller decides what follows and the edge decides how to say it. */
import { DriverError, type DriverErrorCode, type ProviderLimit } from "../driver/driver.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { RefusalCode } from "../machine/reason.ts";
import type { Candidate } from "../machine/spec.ts";
import type { Problem } from "../machine/validation.ts";

export type { RefusalCode };

/** What became of a pair of server type and region at a create. */
export interface TriedCandidate extends Candidate {
  /** `refused`: for good, it is no shortage. */
  readonly outcome: "chosen" | "capacity" | "refused" | "not_tried";
  /** The provider's own words, or why it was not tried; null where nothing is to be said. */
  readonly reason: string | null;
}

/** What a limit allows and what was asked for, each in its own unit. */
export interface Figures {
  readonly limit: string | number;
  /** What of it is taken, where several share it. */
  readonly used?: number;
  readonly asked: string | number;
  /** What numbers are, where they do not count machines. */
  readonly unit?: string;
  /** As `2026-12`, where the limit is a month's. */
  readonly month?: string;
}

/** A machine that a limit counts, as its account is told of it. */
export interface CountedMachine extends Pick<MachineRow, "name" | "owner" | "expiresAt"> {
  /** So far; null = unknown. */
  readonly costMicroEur: number | null;
}

/** Why a use case did not do what it was asked. */
export interface Refusal {
  readonly code: RefusalCode;
  /** What happened, in a sentence for people. */
  readonly message: string;
  /** What the caller can do about it, whichever way the call came. */
  readonly next: string;
  readonly retryAfterSeconds?: number;
  readonly problem?: Problem;
  /** Under `spec_mismatch`: the fields that were said otherwise, as the API orders them. */
  readonly fields?: readonly string[];
  /** The rule that it breaks, where no field is at fault. */
  readonly rule?: string;
  /**
   * What it is about, where the code alone does not tell: an end that can move no further, what can be ordered now, what is sold at all,
   * what it costs, what a machine was to use, or what a provider had agreed to do.
   */
  readonly about?: "end" | "offer" | "sold" | "price" | "attached" | "action";
  /** Of a limit of the provider's: its own word for it. */
  readonly limit?: string;
  /** It may have been done all the same. */
  readonly isUncertain?: true;
  /** It is certain that nothing was made, though its code alone does not tell. */
  readonly madeNothing?: true;
  /** Of what a policy forbids: which, and how much there is, where that can be counted. */
  readonly policy?: string;
  readonly figures?: Figures;
  /** Under a limit: the live machines of the caller's account, those that end first before the others. */
  readonly machines?: readonly CountedMachine[];
  /** Under `capacity`: what was tried. */
  readonly candidates?: readonly TriedCandidate[];
}

/** What a caller is told when another machine stands where the row's should be. */
export const IDENTITY_MISMATCH: Refusal = {
  code: "identity_mismatch",
  message: "What the provider shows under this machine's id is not the machine that was recorded.",
  next: "Have an admin compare the server's labels with the row; the server was left alone.",
};

/** What a caller is told while an admin holds the brake. */
export const CREATES_OFF: Refusal = {
  code: "creates_off",
  message: "Creates are switched off here; what exists is looked after as ever.",
  next: "Ask an admin, or try later.",
  retryAfterSeconds: 60,
};

/** What a caller is told whose name stands for something that was asked for otherwise; `fields` where it is known in which. */
export const specMismatch = (name: string, fields: readonly string[]): Refusal => ({
  code: "spec_mismatch",
  message: `What lives under the name ${name} was asked for with another body${otherIn(fields)}.`,
  next: "Take it down first, use another name, or repeat the first body.",
  ...(fields.length === 0 ? {} : { fields }),
});

/** The same of a call and its repeat under one idempotency key. */
export const otherThanBefore = (fields: readonly string[]): Refusal => ({
  code: "spec_mismatch",
  message: `This Idempotency-Key stands for another body${otherIn(fields)}.`,
  next: "Repeat the first body, or use another key.",
  ...(fields.length === 0 ? {} : { fields }),
});

const otherIn = (fields: readonly string[]): string =>
  fields.length === 0 ? "" : `: other in ${fields.map((field) => `\`${field}\``).join(", ")}`;

/** A use case that did not do what it was asked. */
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

/** What a use case answers: what it was asked for, or why not. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | Refused;

export const done = <T>(value: T): Outcome<T> => ({ ok: true, value });
export const refused = (refusal: Refusal): Refused => ({ ok: false, refusal });

/** A request that a rule of ours forbids, naming the field as the caller spells it. */
export const breaksRule = (problem: Problem): Refused => refused(brokenRule(problem));

/** What is said to whoever broke one. */
export const brokenRule = (problem: Problem): Refusal => ({
  code: "invalid_input",
  message: `\`${problem.field}\` ${problem.rule}.`,
  next: "Correct the field and send again.",
  problem,
});

/** A request for what the provider does not sell, or not there. */
export const notSold = (problem: Problem): Refusal => ({
  ...brokenRule(problem),
  next: "Name what the provider sells there.",
  about: "sold",
});

/** What a catalogue tells. */
const IS_OF_OFFER: ReadonlySet<string> = new Set(["server_type", "region"]);

/** Turns a driver's failure into what `then` makes of it; any other failure is nobody's to handle and surfaces. */
export async function onDriverError<T, Instead>(
  act: () => Promise<T>,
  then: (error: DriverError) => Instead | Promise<Instead>,
): Promise<T | Instead> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return then(error);
  }
}

const DEFAULT_RETRY_SECONDS = 5;

type Meaning = { readonly code: RefusalCode; readonly next: string; readonly waits: boolean };

const LATER: Meaning = {
  code: "provider_unavailable",
  next: "Repeat the same call; it cannot double anything.",
  waits: true,
};

const MEANINGS: Partial<Record<DriverErrorCode, Meaning>> = {
  invalid_input: { code: "invalid_input", next: "Correct the request.", waits: false },
  name_taken: { code: "name_taken", next: "Choose another name.", waits: false },
  protected: {
    code: "provider_protected",
    next: "Lift the delete protection at the provider; the next sweep then destroys the machine.",
    waits: false,
  },
  capacity: { code: "capacity", next: "Try another server_type or region, or the same later.", waits: true },
  quota: {
    code: "provider_quota",
    next: "Destroy machines, or have the provider raise the project's limit.",
    waits: true,
  },
  unauthorized: { code: "provider_unauthorized", next: "An admin must check the provider's credential.", waits: true },
};

/** What is said besides where it is known which limit of the provider's was met; `instead` is what can be done without raising it. */
export const underLimit = ({ name, counts }: ProviderLimit, instead: string) => ({
  rule: `must fit the provider's limit of ${counts}`,
  limit: name,
  next: `${instead}, or have ${name} raised in the provider's console.`,
});

/** What a provider's failure means to a caller. */
export function refusalOf(error: DriverError): Refusal {
  const { code, next, waits } = MEANINGS[error.code] ?? LATER;
  return {
    code,
    next,
    message: error.message,
    ...(waits ? { retryAfterSeconds: error.retryAfter ?? DEFAULT_RETRY_SECONDS } : {}),
    ...(error.problem ? { problem: error.problem } : {}),
    ...(code === "invalid_input" && IS_OF_OFFER.has(error.problem?.field ?? "") ? { about: "sold" as const } : {}),
    ...(error.limit ? underLimit(error.limit, "Destroy what is not needed any more") : {}),
  };
}
