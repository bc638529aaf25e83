// What a doctor tells of one thing.

/** `warn`: mayfly works, and somebody should look. `bad`: it does not, or will not for long. */
export interface Finding {
  readonly level: "ok" | "warn" | "bad";
  /** What was looked at, in a word or two. */
  readonly about: string;
  /** What was seen, and of what is not right, what to do. */
  readonly says: string;
}

export const ok = (about: string, says: string): Finding => ({ level: "ok", about, says });
export const warn = (about: string, says: string): Finding => ({ level: "warn", about, says });
export const bad = (about: string, says: string): Finding => ({ level: "bad", about, says });

const WIDEST = "old versions".length;

/** One line, of columns that stand below each other. */
export const lineOf = ({ level, about, says }: Finding): string =>
  `${level.padEnd(4)}  ${about.padEnd(WIDEST)}  ${says.replace(/\s+/g, " ")}`;
