import type { Refusal } from "./refusal.ts";

/** What a create is made under. */
export interface Terms {
  readonly provider: string;
  readonly installation: string;
  /** Fingerprint of the provider credential. */
  readonly credential: string;
  readonly defaultTtlMs: number;
  /** False while an admin holds the brake, or while this database belongs to another installation. */
  readonly creates: boolean;
}

/** One try owns a row for this long: the create call's own time-out and what it takes to record the outcome. */
export const TRY_MS = 30_000;

export const CREATES_OFF: Refusal = {
  code: "creates_off",
  message: "Creates are switched off here; what exists is looked after as ever.",
  next: "Ask an admin, or try later.",
  retryAfterSeconds: 60,
};

export const specMismatch = (name: string): Refusal => ({
  code: "spec_mismatch",
  message: `What lives under the name ${name} was asked for with another body.`,
  next: "Take it down first, use another name, or repeat the first body.",
});
