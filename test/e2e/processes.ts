// What a process has started, and whether it still runs.
import { readdirSync, readFileSync } from "node:fs";

/** Every process below one, itself included. */
export function tree(pid: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
  return [pid, ...children.flatMap(tree)];
}

function parentOf(pid: string): number {
  try {
    return Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1]);
  } catch {
    return -1; // it has ended meanwhile
  }
}

/** Those of them that still run. */
export const alive = (pids: number[]): number[] => pids.filter((pid) => parentOf(String(pid)) > 0);
