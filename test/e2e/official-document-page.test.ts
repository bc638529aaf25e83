// Keeps docs/hetzner-api.md honest: the tests that it names exist under these names.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const rows = read("docs/hetzner-api.md")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (?:Behaviour|What the simulator does) \|/.test(line));

/** [file, name] of each test that a row names. */
function testsIn(row: string): [string, string][] {
  const cell = row.split(" | ")[1]?.replace(/ \|$/, "") ?? "";
  return cell.split(/; (?=`)/).map((item): [string, string] => {
    const { file = "", name = "" } = /^`(?<file>[\w./-]+\.test\.ts)`: (?<name>.+)$/.exec(item)?.groups ?? {};
    return [file.startsWith("e2e/") ? `test/${file}` : `test/simulator/${file}`, name];
  });
}

describe("the page about the Hetzner API", () => {
  it.each(rows)("%s", (row) => {
    for (const [file, name] of testsIn(row)) expect(read(file)).toContain(`"${name}"`);
  });

  it("is read whole", () => {
    expect(rows.length).toBeGreaterThan(90);
  });
});
