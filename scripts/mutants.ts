// `npm run mutants`: whether the tests would notice a bug. `-- --help` says all that it takes.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { choose } from "./mutants/choose.ts";
import { MUTANTS } from "./mutants/list.ts";
import { mutated, type Mutant } from "./mutants/mutant.ts";
import { pageOfList, saysTheSame } from "./mutants/page.ts";
import { lacksOf } from "./mutants/spread.ts";
import { tryAll } from "./mutants/try-all.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(ROOT, "docs/mutants.md");

const HELP = `npm run mutants -- [options]

Would the tests notice? Puts each of the deliberate bugs of scripts/mutants/ into a copy of the sources, one at a time, and runs the
tests that are to notice it. Before that the same tests must pass over the sources as they are. Nothing of this repository is changed.

  --only PART      those with PART in their name, or in the path of the file that they change; may be said again. Where PART is a
                   whole name, that one alone
  --processes N    how many are tried at once, each in a process of its own (${availableParallelism()}, one a core)
  --list           says which would be tried, and tries none
  --docs           writes the tables of docs/mutants.md, and tries none
  --check-docs     fails where those tables are behind the list, where a bug fits the sources no more, where a folder of src/ has fewer
                   than half of its share of a hundred bugs, by its lines, or where there are fewer than five of a kind
  --help           this

Exit codes: 0 all were caught; 1 a bug survived; 2 nothing can be said: a wrong option, no such bug, a bug that fits the sources no
more, tests that fail without a bug or that could not run.

Example: npm run mutants -- --only "no reap" --only src/http/
`;

/** What keeps the command from saying anything: told without a stack. */
class Unsaid extends Error {}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", multiple: true },
        processes: { type: "string", default: String(availableParallelism()) },
        list: { type: "boolean" },
        docs: { type: "boolean" },
        "check-docs": { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    return values;
  } catch (error) {
    throw new Unsaid(`${error instanceof Error ? error.message : String(error)}\nSee --help.`);
  }
}

function chosenBy(only: readonly string[]): readonly Mutant[] {
  const chosen = choose(MUTANTS, only);
  if (!chosen.ok) throw new Unsaid(`no bug has "${chosen.part}" in its name or path. Near it: ${listed(chosen.near)}`);
  console.log(`${chosen.mutants.length} of ${MUTANTS.length}: ${listed(chosen.mutants.map(({ name }) => name))}`);
  return chosen.mutants;
}

const listed = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(", ");

/** Whether the files spell the name out: what else a name is put together from, the list need not say. */
const hasTest = (files: readonly string[], test = ""): boolean =>
  files.some((file) => readFileSync(join(ROOT, file), "utf8").includes(test));

/** A list that does not fit the sources, or the tests, is told before anything runs. */
function checkList(): void {
  const twice = MUTANTS.filter(({ name }, index) => MUTANTS.findIndex((one) => one.name === name) !== index);
  if (twice.length > 0) throw new Unsaid(`more than one bug is called ${listed(twice.map(({ name }) => name))}`);
  const troubles = MUTANTS.map((mutant) => mutated(readFileSync(join(ROOT, mutant.file), "utf8"), mutant)).filter(
    (one) => !one.ok,
  );
  if (troubles.length > 0) throw new Unsaid(troubles.map(({ trouble }) => trouble).join("\n"));
  const lost = MUTANTS.filter(({ test, caughtBy }) => !hasTest(caughtBy, test));
  if (lost.length > 0)
    throw new Unsaid(`no test has the name that these give: ${listed(lost.map(({ name }) => name))}`);
}

function checkDocs(): void {
  if (!saysTheSame(readFileSync(PAGE, "utf8"), pageOfList(PAGE, ROOT, MUTANTS)))
    throw new Unsaid("docs/mutants.md is behind the list: npm run mutants -- --docs");
  const lacks = lacksOf(ROOT, MUTANTS);
  if (lacks.length > 0) throw new Unsaid(`the list is lopsided:\n  ${lacks.join("\n  ")}`);
}

function countOf(processes: string): number {
  const count = Number(processes);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Unsaid(`--processes ${processes} is no number of processes`);
}

/** Answers the exit code. */
async function main(): Promise<number> {
  const options = readOptions();
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const processes = countOf(options.processes);
  checkList();
  if (options.docs) writeFileSync(PAGE, pageOfList(PAGE, ROOT, MUTANTS));
  if (options["check-docs"]) checkDocs();
  if (options.docs || options["check-docs"]) return 0;
  const mutants = options.only === undefined ? MUTANTS : chosenBy(options.only);
  if (options.list) {
    for (const { name, file, broken } of mutants) console.log(`${name} (${file}): ${broken}`);
    return 0;
  }
  return tryAll(mutants, processes);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Unsaid)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
