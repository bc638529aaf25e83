/** How the bugs are spread over the sources, and over the kinds of slips. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type Kind, type Mutant } from "./mutant.ts";

/** A folder of src/, or all files beside those. */
export interface Part {
  readonly folder: string;
  readonly lines: number;
  readonly bugs: number;
}

const BESIDE = "files beside them";
/** So many bugs there should be at least, each folder with half of its share of them. */
const LEAST = 100;
/** Fewer of a kind show little. */
const LEAST_OF_KIND = 5;

const folderOf = (path: string): string => /^src\/([^/]+)\//.exec(path)?.[1] ?? BESIDE;

/** The parts of src/, the largest first. */
export function partsOf(root: string, mutants: readonly Mutant[]): readonly Part[] {
  const lines = new Map<string, number>();
  for (const entry of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
    if (!entry.endsWith(".ts")) continue;
    const path = `src/${entry}`;
    const count = readFileSync(join(root, path), "utf8").split("\n").length - 1;
    lines.set(folderOf(path), (lines.get(folderOf(path)) ?? 0) + count);
  }
  return [...lines]
    .map(([folder, count]) => ({
      folder,
      lines: count,
      bugs: mutants.filter(({ file }) => folderOf(file) === folder).length,
    }))
    .toSorted((a, b) => b.lines - a.lines);
}

/** How many bugs there are of each kind. */
export const countsByKind = (mutants: readonly Mutant[]): readonly { readonly kind: Kind; readonly bugs: number }[] =>
  KINDS.map((kind) => ({ kind, bugs: mutants.filter((one) => one.kind === kind).length }));

/** What the list has too few bugs of, in words. */
export function lacksOf(root: string, mutants: readonly Mutant[]): readonly string[] {
  const parts = partsOf(root, mutants);
  const all = parts.reduce((sum, { lines }) => sum + lines, 0);
  const leastIn = ({ lines }: Part): number => Math.ceil((LEAST / 2) * (lines / all));
  return [
    ...(mutants.length < LEAST ? [`${mutants.length} bugs are fewer than ${LEAST}`] : []),
    ...parts
      .filter((part) => part.bugs < leastIn(part))
      .map((part) => `src/ (${part.folder}) has ${part.bugs} bugs, and by its lines should have ${leastIn(part)}`),
    ...countsByKind(mutants)
      .filter(({ bugs }) => bugs < LEAST_OF_KIND)
      .map(({ kind, bugs }) => `there are ${bugs} bugs of the kind "${kind}", fewer than ${LEAST_OF_KIND}`),
  ];
}
