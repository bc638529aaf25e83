// The workerd processes that this one has started, as the kernel knows them.
import { readdirSync, readFileSync } from "node:fs";

const SELF = `/proc/${process.pid}/task`;

/** Milliseconds of CPU time so far, over all of their threads: what others do beside does not disturb it. */
export const workerdMs = (): number =>
  started()
    .flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`))
    .reduce((sum, file) => sum + Number(wordsIn(file)[0] ?? 0) / 1_000_000, 0);

/**
 * What `act` gives; where that takes longer than so many milliseconds, they are all ended and it throws: now and then one hangs for good
 * while it is looked at.
 */
export async function within<T>(milliseconds: number, act: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    for (const pid of started()) process.kill(Number(pid), "SIGKILL");
    reject(new TookTooLong(`took longer than ${milliseconds / 1000} s`));
  }, milliseconds);
  try {
    return await Promise.race([act(), late]);
  } finally {
    clearTimeout(timer);
  }
}

export class TookTooLong extends Error {}

const started = (): string[] =>
  readdirSync(SELF)
    .flatMap((task) => wordsIn(`${SELF}/${task}/children`))
    .filter((pid) => wordsIn(`/proc/${pid}/cmdline`).some((word) => word.includes("workerd")));

const wordsIn = (file: string): string[] =>
  readFileSync(file, "utf8")
    .split(/\s+/)
    .filter((word) => word !== "");
