/** The fault histories: with a fixed seed, and as soon as one breaks a promise the bug is caught. */
export const SIMULATION = "test/simulation/simulation.test.ts";

/** One deliberate bug. */
export interface Mutant {
  readonly name: string;
  /** What is then so that should not be. */
  readonly broken: string;
  /** As `docs/mutants.md` has them. */
  readonly promise: "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I7" | "I8" | "I9" | "I10";
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The fewest test files that notice it. */
  readonly caughtBy: readonly string[];
  /** A part of the name of the test that notices it, where its file takes seconds: the others need not run. */
  readonly test?: string;
}

export type Mutated = { readonly ok: true; readonly source: string } | { readonly ok: false; readonly trouble: string };

/** A source with the bug in it, or why the list does not fit the source any more. */
export function mutated(source: string, { name, file, find, replace }: Mutant): Mutated {
  const [before, after, ...more] = source.split(find);
  if (after !== undefined && more.length === 0) return { ok: true, source: `${before}${replace}${after}` };
  const times = after === undefined ? "is not there any more" : `occurs ${more.length + 1} times`;
  return { ok: false, trouble: `"${name}": the text that it replaces in ${file} ${times}` };
}
