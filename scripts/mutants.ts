// `npm run mutants`: puts each of the deliberate bugs of mutants/list.ts into a copy of the sources, and runs the tests that are to
// notice it. First those tests must pass over the copy as it is. `--only NAME` tries one, and may be said again; `--docs` writes the table in
// docs/mutants.md from the list, and `--check-docs` fails where that is behind, or where a bug fits no source any more.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openBench, type Bench } from "./mutants/bench.ts";
import { MUTANTS } from "./mutants/list.ts";
import { mutated, SIMULATION, type Mutant } from "./mutants/mutant.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(ROOT, "docs/mutants.md");
const HEAD = "| Bug | What is broken | In `src/` | Breaks | Caught in |\n|---|---|---|---|---|\n";

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true }, docs: { type: "boolean" }, "check-docs": { type: "boolean" } },
});

/** The page with the table that the list makes; what stands before it is written by hand. */
function pageOfList(): string {
  const lines = MUTANTS.map(({ name, broken, promise, file, caughtBy }) => {
    const tests = caughtBy.map((test) => (test === SIMULATION ? "simulation" : `\`${test.replace("test/", "")}\``));
    return `| ${name} | ${broken} | \`${file.replace("src/", "")}\` | ${promise} | ${tests.join(", ")} |\n`;
  });
  const [text = ""] = readFileSync(PAGE, "utf8").split(HEAD);
  return text + HEAD + lines.join("");
}

/** A list that does not fit the sources is told before anything runs. */
function checkFits(mutants: readonly Mutant[]): void {
  for (const mutant of mutants) mutated(readFileSync(join(ROOT, mutant.file), "utf8"), mutant);
}

/** Tries each, and answers how many survived. */
async function tryAll(bench: Bench, mutants: readonly Mutant[]): Promise<number> {
  const files = [...new Set(mutants.flatMap(({ caughtBy }) => caughtBy))];
  const wrong = await bench.firstFailure(files);
  if (wrong !== null) throw new Error(`without any bug this fails: ${wrong}`);
  console.log(`without any bug all pass: ${files.join(", ")}`);
  const table = [];
  for (const mutant of mutants) {
    const caught = await bench.withMutant(mutant, () => bench.firstFailure(mutant.caughtBy));
    console.log(`${mutant.name}: ${caught === null ? "SURVIVED" : `caught by ${caught}`}`);
    table.push({ bug: mutant.name, breaks: mutant.promise, "caught by": caught?.slice(0, 100) ?? "SURVIVED", caught });
  }
  console.table(table, ["bug", "breaks", "caught by"]);
  return table.filter(({ caught }) => caught === null).length;
}

async function main(): Promise<void> {
  const chosen = MUTANTS.filter(({ name }) => values.only?.includes(name) ?? true);
  if (chosen.length === 0) throw new Error(`no bug is called "${values.only?.join('" or "')}"`);
  checkFits(chosen);
  if (values.docs) return writeFileSync(PAGE, pageOfList());
  if (values["check-docs"]) {
    if (readFileSync(PAGE, "utf8") === pageOfList()) return;
    throw new Error("docs/mutants.md is behind the list: npm run mutants -- --docs");
  }
  const startedAt = Date.now();
  const bench = openBench(ROOT);
  try {
    const survived = await tryAll(bench, chosen);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    console.log(`${chosen.length - survived} of ${chosen.length} caught, ${seconds} s`);
    // Vitest sets it for every test that fails, and here each bug makes one fail.
    process.exitCode = survived > 0 ? 1 : 0;
  } finally {
    bench.remove();
  }
}

await main();
