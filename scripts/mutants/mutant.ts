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
}

/** A source with the bug in it. Throws where the list does not fit the source any more. */
export function mutated(source: string, { name, file, find, replace }: Mutant): string {
  const [before, after, ...more] = source.split(find);
  if (after !== undefined && more.length === 0) return `${before}${replace}${after}`;
  const times = after === undefined ? "is not there any more" : `occurs ${more.length + 1} times`;
  throw new Error(`"${name}": the text that it replaces in ${file} ${times}`);
}
