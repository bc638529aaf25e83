// Figures as people read them, and as programs do.
import type { Figure } from "./figure.ts";
import { isMet, TARGETS, targetText } from "./targets.ts";

/** Three figures that count, none for whole numbers. */
const rounded = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(3)));
const shown = (value: number | null): string => (value === null ? "not measured" : String(rounded(value)));

/** A table in Markdown. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, note }) => [
    name,
    shown(value),
    TARGETS[name].unit,
    targetText(name),
    isMet(name, value) ? "yes" : "**no**",
    note.replaceAll("|", "/"),
  ]);
  const head = ["Figure", "Value", "Unit", "Target", "Met", "Beside it"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The last line of the output. */
export function jsonOf(figures: readonly Figure[]): string {
  const results = figures.map(({ name, value }) => ({
    name,
    value: value === null ? null : rounded(value),
    unit: TARGETS[name].unit,
    target: targetText(name),
    met: isMet(name, value),
  }));
  return JSON.stringify({ results, missed: results.filter(({ met }) => !met).map(({ name }) => name) });
}
