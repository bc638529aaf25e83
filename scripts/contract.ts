// `npm run contract`: fills in the column "Tested in" of docs/contract.md from the names of the tests. With `--check` it
// changes nothing and fails, saying of every id what is amiss.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = join(ROOT, "docs/contract.md");
const TESTS = join(ROOT, "test");

const ID = /\b[SPX][0-9]+\b/g;
/**
 * What a test or suite is called: `it("…"`, `describe.skip("…"`, and `it.each(…)("…"`, which is all that reads `)("`. Also a
 * text of ids alone: a row of `it.each` that goes into the name.
 */
const NAMES = [
  /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(?<quote>["'`])(?<name>(?:\\.|(?!\k<quote>)[^\\])*)\k<quote>/g,
  /(?<quote>["'`])(?<name>[SPX][0-9]+(?:, [SPX][0-9]+)*)\k<quote>/g,
];
const LINE = /^\| (?<id>[SPX][0-9]+) \| (?<says>.*?) \| (?<files>.*?) ?\|$/;

/** The files that test an id, in order, by id. */
function testedIn(): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const file of globSync("**/*.ts", { cwd: TESTS }).sort()) {
    const text = readFileSync(join(TESTS, file), "utf8");
    const names = NAMES.flatMap((pattern) => [...text.matchAll(pattern)].map(({ groups }) => groups?.["name"] ?? ""));
    const ids = new Set(names.flatMap((name) => name.match(ID) ?? []));
    for (const id of ids) files.set(id, [...(files.get(id) ?? []), file]);
  }
  return files;
}

function report(): void {
  const tested = testedIn();
  const listed = new Set<string>();
  const faults: string[] = [];
  const page = readFileSync(PAGE, "utf8");
  const lines = page.split("\n").map((line) => {
    const { id, says, files } = LINE.exec(line)?.groups ?? {};
    if (id === undefined) return line;
    const where = (tested.get(id) ?? []).map((file) => `\`${file}\``).join(", ");
    if (listed.has(id)) faults.push(`${id} has two lines`);
    listed.add(id);
    if (where === "") faults.push(`${id} has a line and no test`);
    else if (where !== files) faults.push(`${id} is tested elsewhere than its line says: npm run contract`);
    return `| ${id} | ${says} | ${where} |`;
  });
  for (const [id, files] of tested)
    if (!listed.has(id)) faults.push(`${id} has no line, but is tested in ${files.join(", ")}`);

  if (process.argv.includes("--check")) {
    for (const fault of faults) console.error(fault);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } else writeFileSync(PAGE, lines.join("\n"));
}

report();
