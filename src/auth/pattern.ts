/**
 * Whether a whole text fits a pattern of a policy: `*` stands for any characters within one path segment, `**` across segments;
 * everything else for itself. The time that it takes grows with the length of both, whatever they are: the text may be a stranger's.
 */
export function fits(pattern: string, text: string): boolean {
  // Where what was read of the pattern can end in the text.
  let ends: ReadonlySet<number> = new Set([0]);
  for (const part of pattern.split(/(\*+)/))
    ends = part.startsWith("*") ? reached(ends, part, text) : met(ends, part, text);
  return ends.has(text.length);
}

/** From each place, every one that a wildcard reaches. */
function reached(starts: ReadonlySet<number>, wildcard: string, text: string): ReadonlySet<number> {
  const ends = new Set<number>();
  let isOpen = false;
  for (let place = 0; place <= text.length; place++) {
    if (wildcard === "*" && text[place - 1] === "/") isOpen = false;
    isOpen ||= starts.has(place);
    if (isOpen) ends.add(place);
  }
  return ends;
}

/** From each place, the one behind the same letters; places where others stand fall away. */
const met = (starts: ReadonlySet<number>, letters: string, text: string): ReadonlySet<number> =>
  new Set([...starts].filter((start) => text.startsWith(letters, start)).map((start) => start + letters.length));

/** Whether a text fits one of the patterns; no list at all takes any. */
export const fitsOne = (patterns: readonly string[] | null, text: string): boolean =>
  patterns === null || patterns.some((pattern) => fits(pattern, text));

/** Whether a pattern means one text alone. */
export const isSpeltOut = (pattern: string): boolean => !pattern.includes("*");
