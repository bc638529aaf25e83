/** The fault histories: with a fixed seed, and as soon as one breaks a promise the bug is caught. */
export const SIMULATION = "test/simulation/simulation.test.ts";

/** What kind of slip a bug is. */
export const KINDS = [
  "boundary",
  "unit",
  "await",
  "filter",
  "order",
  "page",
  "write",
  "key",
  "check",
  "default",
  "cache",
] as const;
export type Kind = (typeof KINDS)[number];

export const MEANING: Readonly<Record<Kind, string>> = {
  boundary: "a limit is a little off, or the wrong side of it counts",
  unit: "seconds for milliseconds, cents for euro, a factor too much",
  await: "something is not waited for, or does not outlive the call",
  filter: "too much or too little is chosen: another's, the ended, the first alone",
  order: "two things are done, or compared, the wrong way round",
  page: "what is beyond the first page or batch is left out, or seen twice",
  write: "something is done, and not written down",
  key: "the right thing by the wrong id, name or field",
  check: "a condition is left out, or passes too much",
  default: "what is missing or unknown is taken for something",
  cache: "something is remembered for too long, or not at all",
};

/** One deliberate bug. */
export interface Mutant {
  readonly name: string;
  /** What is then so that should not be. */
  readonly broken: string;
  readonly kind: Kind;
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
