// One of the processes that try bugs: each has a copy of the sources and a workerd of its own. It ends with the command.
import { fileURLToPath } from "node:url";
import { openBench } from "./bench.ts";
import { jobSchema, type Job, type Verdict } from "./job.ts";
import { MUTANTS } from "./list.ts";

const bench = await openBench(fileURLToPath(new URL("../..", import.meta.url)));

async function run({ mutant, files, parts }: Job): Promise<string | null> {
  if (mutant === null) return bench.firstFailure(files, parts);
  const bug = MUTANTS.find(({ name }) => name === mutant);
  if (bug === undefined) throw new Error(`no bug is called "${mutant}"`);
  return bench.withMutant(bug, () => bench.firstFailure(files, parts));
}

/** Every cause, for what is wrong is often said by the last. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [error.message, ...error.errors.map(reasonOf)].join(": ");
  return error instanceof Error ? error.message : String(error);
}

async function verdictOf(job: Job): Promise<Verdict> {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  try {
    return { caught: await run(job), trouble: null, seconds: seconds() };
  } catch (error) {
    return { caught: null, trouble: reasonOf(error), seconds: seconds() };
  }
}

let isClosing = false;

/** With the command, whatever has ended that; the copy must not stay behind. */
async function end(): Promise<void> {
  if (isClosing) return;
  isClosing = true;
  try {
    await bench.close();
  } finally {
    process.exit(0);
  }
}

process.on("message", (message) => {
  void verdictOf(jobSchema.parse(message)).then((verdict) => process.send?.(verdict));
});
for (const event of ["disconnect", "SIGINT", "SIGTERM"]) process.on(event, () => void end());
