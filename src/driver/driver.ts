/**
 * The contract between mayfly and a cloud: five operations, one error type, one suite (`test/driver/contract.ts`) that
 * every driver passes. Nothing above this folder knows which cloud it talks to.
 */
import type { Machine } from "../machine/machine.ts";
import type { Selector } from "../machine/selector.ts";
import type { MachineSpec } from "../machine/spec.ts";
import type { Problem } from "../machine/validation.ts";

/** A cloud's machines. Five operations, exactly (S11, P13); every failure is a {@link DriverError}. */
export interface Driver {
  /**
   * Submits a machine and returns without waiting for it to run (P21). Idempotent by `spec.name`: a machine of that name
   * is returned when it carries the spec's uid label; anything else is `name_taken` with what was found (P20, P24). All
   * labels are part of the one create call (P22). A lost answer is looked up once before it becomes an `ambiguous` error.
   */
  create(spec: MachineSpec, options?: CreateOptions): Promise<Machine>;
  /** Makes a machine go away. An absent one is success, however often it is asked (S45-S47). */
  destroy(providerId: string): Promise<void>;
  /** Reads one machine. Absence is `not_found`, and nothing else ever is (S8, S10, P41). */
  get(providerId: string): Promise<Machine>;
  /**
   * Reads every machine that matches all keys of the selector (S71), all pages or an error that carries what was read
   * (`partial`, each once). A list that by its own pages cannot be all there is, is an error too: `unexpected`. An empty selector
   * means the whole project, foreign machines included (S74).
   */
  list(selector: Selector, options?: ListOptions): Promise<readonly Machine[]>;
  /** EUR per hour, gross, at that region; null when it is unknown, which is not an error and not free (S81-S83). */
  priceEurPerHour(region: string, serverType: string): Promise<number | null>;
}

export interface CreateOptions {
  /** Milliseconds in which the order is to be answered; a driver's own bound may be shorter. The look after a lost answer comes on top. */
  readonly withinMs?: number;
}

export interface ListOptions {
  /**
   * Unix milliseconds. Reads oldest first and may stop after a page whose last machine is younger; machines of unknown
   * age never stop it, and a page out of order is read on to the end.
   */
  readonly olderThan?: number;
  /**
   * Reads no further page once it has so many. With `olderThan` whoever asks can use no more, and that is all; without it more
   * cannot be meant, and is an error with what was read.
   */
  readonly enough?: number;
  /** As many pages as whoever asks can afford. A list of more is an error with what was read. */
  readonly maxPages?: number;
  /** Asked before each page but the first. Once it says no, the list is an error with what was read. */
  readonly goOn?: () => boolean;
}

export type DriverErrorCode =
  | "not_found"
  | "name_taken"
  | "conflict"
  | "invalid_input"
  | "unauthorized"
  | "protected"
  | "locked"
  | "in_use"
  | "already_done"
  | "capacity"
  | "quota"
  | "rate_limited"
  | "timeout"
  | "unavailable"
  | "gone"
  | "unexpected";

/** A limit of a project at its provider. */
export interface ProviderLimit {
  /** The provider's own word, by which its console and its support know it: `primary_ip_limit`. */
  readonly name: string;
  /** What it counts, in our words and in the plural: `primary IP addresses`. */
  readonly counts: string;
}

export interface DriverErrorDetails {
  /** Trying the same again later may work. */
  readonly retryable?: boolean;
  /** The operation may have taken effect all the same. */
  readonly ambiguous?: boolean;
  /** Seconds to wait before the next try, where the provider said so. */
  readonly retryAfter?: number;
  /** HTTP status of the provider's answer; 0 when there was none. */
  readonly status?: number;
  /** The field and rule that a local check or the provider named. */
  readonly problem?: Problem;
  /** Under `capacity`: it is no shortage, the same would be refused later too. `problem` says what would have to be another. */
  readonly isForGood?: boolean;
  /** Under `quota` and `capacity`: the limit that was met, where the provider said which. */
  readonly limit?: ProviderLimit;
  /** Under `name_taken`: who holds the name. */
  readonly existing?: Machine;
  /** What a failed `list` had read before it failed. Enough to act on what is there, never on what is absent (P57). */
  readonly partial?: readonly Machine[];
}

/** How a driver fails. Decide by `code`; the message is for people and never holds a credential (S148). */
export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly code: DriverErrorCode;
  readonly details: DriverErrorDetails;

  constructor(code: DriverErrorCode, message: string, details: DriverErrorDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  get retryable(): boolean {
    return this.details.retryable ?? false;
  }
  get ambiguous(): boolean {
    return this.details.ambiguous ?? false;
  }
  get retryAfter(): number | undefined {
    return this.details.retryAfter;
  }
  get status(): number {
    return this.details.status ?? 0;
  }
  get problem(): Problem | undefined {
    return this.details.problem;
  }
  get isForGood(): boolean {
    return this.details.isForGood ?? false;
  }
  get limit(): ProviderLimit | undefined {
    return this.details.limit;
  }
  get existing(): Machine | undefined {
    return this.details.existing;
  }
  get partial(): readonly Machine[] | undefined {
    return this.details.partial;
  }

  /** The same failure, with more known about it. */
  with(details: DriverErrorDetails): DriverError {
    return new DriverError(this.code, this.message, { ...this.details, ...details });
  }

  /** The same failure under another code: what it means depends on what was asked. */
  as(code: DriverErrorCode): DriverError {
    return code === this.code ? this : new DriverError(code, this.message, this.details);
  }
}

/** A local refusal, before any call, in the driver's own error type. */
export const invalidInput = (problem: Problem): DriverError =>
  new DriverError("invalid_input", `${problem.field} ${problem.rule}`, { problem });

/** Whether an error is the one a destroy or a sweep may treat as "already gone". */
export const isNotFound = (error: unknown): boolean => error instanceof DriverError && error.code === "not_found";

/** What is at an id, or null where the provider says that there is nothing. Every other failure surfaces. */
export async function getIfThere<T>(from: { get(id: string): Promise<T> }, id: string): Promise<T | null> {
  try {
    return await from.get(id);
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** A look after a call of which nobody knows what came. One that fails leaves that as it is: unknown. */
export async function looking<T>(failure: DriverError, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw failure.as("unavailable").with({ ambiguous: true, retryable: true });
  }
}
