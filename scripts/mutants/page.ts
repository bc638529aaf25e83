/** docs/mutants.md: the table that the list makes. */
import { readFileSync } from "node:fs";
import { SIMULATION, type Mutant } from "./mutant.ts";

const HEAD = "| Bug | What is broken | In `src/` | Breaks | Caught in |\n|---|---|---|---|---|\n";

/** The page with the table as the list makes it; what stands before it is written by hand. */
export function pageOfList(path: string, mutants: readonly Mutant[]): string {
  const [text = ""] = readFileSync(path, "utf8").split(HEAD);
  return text + HEAD + mutants.map(lineOf).join("");
}

function lineOf({ name, broken, promise, file, caughtBy }: Mutant): string {
  const tests = caughtBy.map((test) => (test === SIMULATION ? "simulation" : `\`${test.replace("test/", "")}\``));
  return `| ${name} | ${broken} | \`${file.replace("src/", "")}\` | ${promise} | ${tests.join(", ")} |\n`;
}
