/** Which bugs `--only` means. */
import type { Mutant } from "./mutant.ts";

export type Chosen =
  | { readonly ok: true; readonly mutants: readonly Mutant[] }
  | { readonly ok: false; readonly part: string; readonly near: readonly string[] };

const NEAR = 3;

/**
 * Those of which one of the parts is in the name, or in the path of the file that they change; where a part is the whole name of one,
 * that one alone. A part that fits none is an error, with the names that are most like it.
 */
export function choose(mutants: readonly Mutant[], parts: readonly string[]): Chosen {
  const chosen = new Set<Mutant>();
  for (const part of parts) {
    const fits = fitting(mutants, part.toLowerCase());
    if (fits.length === 0) return { ok: false, part, near: nearest(mutants, part.toLowerCase()) };
    for (const mutant of fits) chosen.add(mutant);
  }
  return { ok: true, mutants: mutants.filter((mutant) => chosen.has(mutant)) };
}

function fitting(mutants: readonly Mutant[], part: string): readonly Mutant[] {
  const named = mutants.filter(({ name }) => name.toLowerCase() === part);
  if (named.length > 0) return named;
  return mutants.filter(({ name, file }) => [name, file].some((text) => text.toLowerCase().includes(part)));
}

/** By how many of the part's pairs of letters a name has, per letter of the name: long names have all pairs. */
function nearest(mutants: readonly Mutant[], part: string): string[] {
  const pairs = pairsOf(part);
  const likeness = ({ name }: Mutant): number => {
    const theirs = pairsOf(name.toLowerCase());
    return (2 * theirs.intersection(pairs).size) / (theirs.size + pairs.size);
  };
  return mutants
    .toSorted((a, b) => likeness(b) - likeness(a))
    .slice(0, NEAR)
    .map(({ name }) => name);
}

function pairsOf(text: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, index) => text.slice(index, index + 2)));
}
