/** Several processes that try bugs at once. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { answerSchema, type Job, type Verdict } from "./job.ts";

export type Crew = ReturnType<typeof openCrew>;

export function openCrew(size: number) {
  const workers = Array.from({ length: size }, () => fork(fileURLToPath(new URL("worker.ts", import.meta.url))));

  return {
    /** Has all jobs done, in their order as hands get free, and says each verdict as it comes. Throws when a process ends before its job. */
    async doAll<J extends Job>(jobs: readonly J[], say: (job: J, verdict: Verdict) => void): Promise<void> {
      const rest = [...jobs];
      await Promise.all(
        workers.map(async (worker) => {
          for (let job = rest.shift(); job !== undefined; job = rest.shift()) say(job, await ask(worker, job));
        }),
      );
    },

    async close(): Promise<void> {
      await Promise.all(
        workers.map(async (worker) => {
          if (worker.exitCode !== null || worker.signalCode !== null) return;
          const gone = once(worker, "exit");
          if (worker.connected) worker.disconnect();
          await gone;
        }),
      );
    },
  };
}

async function ask(worker: ChildProcess, job: Job): Promise<Verdict> {
  const answered = new AbortController();
  const signal = answered.signal;
  const gone = once(worker, "exit", { signal }).then(() => {
    throw new Error(`the process that tried ${job.mutant === null ? "no bug" : `"${job.mutant}"`} has ended`);
  });
  try {
    const answer = once(worker, "message", { signal });
    worker.send(job);
    return answerSchema.parse(await Promise.race([answer, gone]))[0];
  } finally {
    answered.abort();
  }
}
