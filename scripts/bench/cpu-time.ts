// CPU time of the workerd processes that this one has started, as the kernel counts it: what others do beside does not disturb it.
import { readdirSync, readFileSync } from "node:fs";

const SELF = `/proc/${process.pid}/task`;

/** Milliseconds so far, over all of their threads. */
export function workerdMs(): number {
  const children = readdirSync(SELF).flatMap((task) => wordsIn(`${SELF}/${task}/children`));
  return children
    .filter((pid) => wordsIn(`/proc/${pid}/cmdline`).some((word) => word.includes("workerd")))
    .flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`))
    .reduce((sum, file) => sum + Number(wordsIn(file)[0] ?? 0) / 1_000_000, 0);
}

const wordsIn = (file: string): string[] =>
  readFileSync(file, "utf8")
    .split(/\s+/)
    .filter((word) => word !== "");
