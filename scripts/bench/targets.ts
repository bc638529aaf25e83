// What is measured, in which unit, and what is aimed at. All names are here and nowhere else.

export interface Target {
  readonly unit: string;
  readonly sign: "<" | "≤" | "≥";
  readonly value: number;
}

const below = (value: number, unit: string): Target => ({ unit, sign: "<", value });
const atMost = (value: number, unit: string): Target => ({ unit, sign: "≤", value });
const atLeast = (value: number, unit: string): Target => ({ unit, sign: "≥", value });

/** A free plan's whole invocation; what is over it is cut off. */
const CPU = below(10, "ms");
const CALLS = "calls";
const TRIPS = "trips";
const ROWS = "rows";

export const TARGETS = {
  "cpu: GET": CPU,
  "cpu: list of 50": CPU,
  "cpu: create": CPU,
  "cpu: renew": CPU,
  "cpu: DELETE": CPU,
  "cpu: idle tick": CPU,
  "cpu: tick with 30 due": CPU,
  "cpu: tick of 30 proofs": CPU,
  "cpu: inventory slice of 1,000": CPU,
  "cpu: hourly look at 100 resources": CPU,
  "cpu: hourly catalogue": CPU,
  "cpu: tick that forgets": CPU,
  "cpu: webhook intake": CPU,
  "cpu: /openapi.json": CPU,
  "sweep: deaths in one free tick": atLeast(15, "machines"),
  "sweep: script ÷ mayfly, provider at 0 ms": atLeast(5, "×"),
  "sweep: script ÷ mayfly, provider at 30 ms": atLeast(2, "×"),
  "calls: create": atMost(1, CALLS),
  "calls: create, cold": atMost(1, CALLS),
  "calls: destroy": atMost(3, CALLS),
  "calls: renew": atMost(2, CALLS),
  "calls: idle tick": atMost(1, CALLS),
  "calls: inventory of 1,000": atMost(21, CALLS),
  "trips: GET": atMost(1, TRIPS),
  "trips: list": atMost(1, TRIPS),
  "trips: repeat": atMost(2, TRIPS),
  "trips: create": atMost(3, TRIPS),
  "trips: idle tick": atMost(3, TRIPS),
  "written: a machine, a day": atMost(4, ROWS),
  "written: a call refused": atMost(0, ROWS),
  "past: GET": atMost(0, ROWS),
  "past: list": atMost(0, ROWS),
  "past: create": atMost(0, ROWS),
  "past: idle tick": atMost(0, ROWS),
  "throughput: GET ÷ one D1 read": atLeast(0.8, "×"),
  "throughput: list of 50 ÷ bare list of 50": atLeast(0.8, "×"),
  "throughput: create ÷ insert and fetch": atLeast(0.5, "×"),
  "size: bundle": atMost(105, "KiB gzip"),
  "start-up: mayfly ÷ Hono": atMost(2.3, "×"),
  "intake: 200 at once ÷ one HMAC and insert": below(4, "×"),
  "memory: inventory of 10,000 ÷ 1,000": atMost(1.2, "×"),
} as const satisfies Record<string, Target>;

export type Name = keyof typeof TARGETS;

const names = Object.keys(TARGETS);
/** All names, in the order in which they are shown. */
export const NAMES: readonly Name[] = names.filter((name): name is Name => names.includes(name));

/** Whether a value is what is aimed at. What could not be measured (null) is not. */
export function isMet(name: Name, value: number | null): boolean {
  if (value === null) return false;
  const { sign, value: aim }: Target = TARGETS[name];
  if (sign === "<") return value < aim;
  return sign === "≤" ? value <= aim : value >= aim;
}

/** A target as it is written: `< 10`. */
export const targetText = (name: Name): string => `${TARGETS[name].sign} ${TARGETS[name].value}`;
