/** docs/mutants.md: the tables that the list makes; the text between them is written by hand. */
import { readFileSync } from "node:fs";
import { MEANING, SIMULATION, type Mutant } from "./mutant.ts";
import { countsByKind, partsOf, type Part } from "./spread.ts";

/** The heads of the tables, by which they are found. */
const PARTS = "| Folder of `src/` | Lines | Bugs | Bugs in 100 lines |\n|---|---|---|---|\n";
const KINDS = "| Kind | Bugs | What it is |\n|---|---|---|\n";
const BUGS = "| Bug | What is broken | Kind | In `src/` | Breaks | Caught in |\n|---|---|---|---|---|---|\n";

/** The page at `path` with the tables as the list makes them. Throws where it lacks one of them. */
export function pageOfList(path: string, root: string, mutants: readonly Mutant[]): string {
  const counts = countsByKind(mutants).map(({ kind, bugs }) => `| ${kind} | ${bugs} | ${MEANING[kind]} |\n`);
  const tables: readonly (readonly [string, readonly string[]])[] = [
    [PARTS, partsOf(root, mutants).map(lineOfPart)],
    [KINDS, counts],
    [BUGS, mutants.map(lineOfBug)],
  ];
  return tables.reduce((text, [head, lines]) => withTable(text, head, lines), readFileSync(path, "utf8"));
}

/** Whether two pages say the same of the bugs: how many lines a folder has changes with every commit, and may be behind. */
export const saysTheSame = (one: string, other: string): boolean => withoutLines(one) === withoutLines(other);

const withoutLines = (page: string): string =>
  page.replaceAll(/^(\| [^|]+ )\| \d+ (\| \d+ )\| \d+\.\d+ \|$/gm, "$1$2|");

function withTable(text: string, head: string, lines: readonly string[]): string {
  const [before, after] = text.split(head);
  if (before === undefined || after === undefined) throw new Error(`docs/mutants.md lacks the table ${head}`);
  return before + head + lines.join("") + after.replace(/^(?:\|.*\n)*/, "");
}

const lineOfPart = ({ folder, lines, bugs }: Part): string =>
  `| ${folder} | ${lines} | ${bugs} | ${((100 * bugs) / lines).toFixed(1)} |\n`;

function lineOfBug({ name, broken, kind, promise, file, caughtBy }: Mutant): string {
  const tests = caughtBy.map((test) => (test === SIMULATION ? "simulation" : `\`${test.replace("test/", "")}\``));
  return `| ${name} | ${broken} | ${kind} | \`${file.replace("src/", "")}\` | ${promise} | ${tests.join(", ")} |\n`;
}
