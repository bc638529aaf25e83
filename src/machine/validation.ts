/** A field of the caller's that breaks a rule. A value: the edge that asked decides what to make of it. */
export interface Problem {
  /** The field as the caller spells it, with a path where it is nested: `labels.team`. */
  readonly field: string;
  /** The rule in words that follow the field's name: "must be at most 63 characters". */
  readonly rule: string;
}

export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

export const valid = <T>(value: T): Checked<T> => ({ ok: true, value });
export const invalid = (field: string, rule: string): { ok: false; problem: Problem } => ({
  ok: false,
  problem: { field, rule },
});
