import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { call, Refused, type Calling } from "./mayfly.ts";
import type { Runner } from "./runner.ts";

/** The variable that tells a process to renew, and what. */
export const RENEWING = "MAYFLY_RENEWING";

const renewing = z.object({
  url: z.string(),
  audience: z.string(),
  name: z.string(),
  ttlMs: z.number(),
  /** Of the process that runs the job's steps: once it is gone, nobody needs the machine any more. */
  runnerPid: z.number(),
});
export type Renewing = z.infer<typeof renewing>;

const LOOK_MS = 5000;

/** Renews a lease at each third of it, until there is nothing to renew, or the job's runner is gone. */
export async function renew(runner: Runner, told: string): Promise<void> {
  const { url, audience, name, ttlMs, runnerPid } = renewing.parse(JSON.parse(told));
  const calling: Calling = { url, audience, tries: 3, sleep: async (ms) => sleep(ms) };
  const ttl = `${Math.round(ttlMs / 1000)}s`;
  for (let next = Date.now() + ttlMs / 3; isAlive(runnerPid); await sleep(LOOK_MS)) {
    if (Date.now() < next) continue;
    next = Date.now() + ttlMs / 3;
    try {
      await call(runner, calling, "POST", `/v1/machines/${name}/renew`, { ttl });
    } catch (error) {
      // It has ended, or goes as far as it may already. Anything else may pass: the lease has two thirds left.
      if (error instanceof Refused && error.status < 500 && error.status !== 429) return;
    }
  }
}

/** Whether a process is there, whoever it is of. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
