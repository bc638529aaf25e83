/** The run: first the tests over the sources as they are, then each bug. */
import { openCrew, type Crew } from "./crew.ts";
import type { Job, Verdict } from "./job.ts";
import { SIMULATION, type Mutant } from "./mutant.ts";

/** Test files that are run at once without a bug: few, so that no process waits long for the other. */
const CHUNK = 12;

/** Exit codes. */
const ALL_CAUGHT = 0;
const ONE_SURVIVED = 1;
const IN_TROUBLE = 2;

/** Tries each in one of so many processes, says what comes of it, and answers the exit code. */
export async function tryAll(mutants: readonly Mutant[], processes: number): Promise<number> {
  const startedAt = performance.now();
  const crew = openCrew(processes);
  try {
    const wrong = await runWithoutBug(crew, mutants);
    if (wrong.length > 0) {
      console.error(`without any bug these fail, and then a bug proves nothing:\n  ${wrong.join("\n  ")}`);
      return IN_TROUBLE;
    }
    const { survived, trouble } = await tryEach(crew, mutants);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const caught = mutants.length - survived.length - trouble.length;
    console.log(`${caught} of ${mutants.length} caught, ${seconds} s`);
    for (const { name, file, broken } of survived) console.log(`SURVIVED ${name} (${file}): ${broken}`);
    for (const { name } of trouble) console.log(`NOT TRIED ${name}: the tests could not run`);
    if (trouble.length > 0) return IN_TROUBLE;
    return survived.length > 0 ? ONE_SURVIVED : ALL_CAUGHT;
  } finally {
    await crew.close();
  }
}

/** What fails, or cannot run, over the sources as they are. */
async function runWithoutBug(crew: Crew, mutants: readonly Mutant[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  const jobs = jobsWithoutBug(mutants);
  await crew.doAll(jobs, ({ files }, { caught, trouble, seconds }) => {
    const what = trouble ?? caught;
    if (what !== null) wrong.push(what);
    const outcome = what === null ? "pass" : `FAIL: ${what}`;
    console.log(`without any bug (${seconds.toFixed(1)} s) ${files.join(", ")}: ${outcome}`);
  });
  return wrong;
}

/** All that any bug has run: whole files a few at a time, and of a file whose bugs name their tests no more than those. */
function jobsWithoutBug(mutants: readonly Mutant[]): Job[] {
  const files = [...new Set(mutants.flatMap(({ caughtBy }) => caughtBy))];
  const partsOf = new Map(files.map((file) => [file, partsIn(file, mutants)]));
  const whole = files.filter((file) => partsOf.get(file)?.length === 0);
  const chunks = Array.from({ length: Math.ceil(whole.length / CHUNK) }, (_, index) =>
    whole.slice(index * CHUNK, (index + 1) * CHUNK),
  );
  const named = [...partsOf].filter(([, parts]) => parts.length > 0);
  return [
    ...chunks.map((some) => ({ mutant: null, files: some, parts: [] })),
    ...named.map(([file, parts]) => ({ mutant: null, files: [file], parts })),
  ].toSorted(longestFirst);
}

/** None where one of its bugs names no test: that one has the whole file run. */
function partsIn(file: string, mutants: readonly Mutant[]): string[] {
  const tests = mutants.filter(({ caughtBy }) => caughtBy.includes(file)).map(({ test }) => test);
  const parts = tests.filter((test) => test !== undefined);
  return parts.length < tests.length ? [] : [...new Set(parts)];
}

async function tryEach(crew: Crew, mutants: readonly Mutant[]) {
  const survived: Mutant[] = [];
  const trouble: Mutant[] = [];
  let done = 0;
  await crew.doAll(mutants.map(jobOf).toSorted(longestFirst), ({ bug }, verdict) => {
    if (verdict.trouble !== null) trouble.push(bug);
    else if (verdict.caught === null) survived.push(bug);
    done += 1;
    console.log(`${done} of ${mutants.length} (${verdict.seconds.toFixed(1)} s) ${bug.name}: ${outcomeOf(verdict)}`);
  });
  return { survived, trouble };
}

const jobOf = (bug: Mutant) =>
  ({
    bug,
    mutant: bug.name,
    files: [...bug.caughtBy],
    parts: bug.test === undefined ? [] : [bug.test],
  }) satisfies Job & { bug: Mutant };

const longestFirst = (a: Job, b: Job): number =>
  Number(b.files.includes(SIMULATION)) - Number(a.files.includes(SIMULATION));

function outcomeOf({ caught, trouble }: Verdict): string {
  if (trouble !== null) return `NOT TRIED, ${trouble}`;
  return caught === null ? "SURVIVED" : `caught by ${caught}`;
}
