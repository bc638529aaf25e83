// docs/performance.md keeps the figures of the last whole run between two markers.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";

const PAGE = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));
const BETWEEN = /(<!-- figures: [^>]*-->\n).*(<!-- end of figures -->)/s;

/** Puts a table there, with the day and the load that the machine was under before. Throws where the page has no place for it. */
export function writePage(table: string, now: Date, load: number): void {
  const page = readFileSync(PAGE, "utf8");
  if (!BETWEEN.test(page)) throw new Error("docs/performance.md has no markers to write between");
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), load before ${load.toFixed(1)}`;
  const when = `Measured on ${now.toISOString().slice(0, 10)}: ${machine}.`;
  writeFileSync(
    PAGE,
    page.replace(BETWEEN, (_all, begin: string, end: string) => `${begin}${when}\n\n${table}\n${end}`),
  );
}
