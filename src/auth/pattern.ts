/**
 * Whether a whole text fits a pattern of a policy: `*` stands for any characters within one path segment, `**` across segments;
 * everything else for itself.
 */
export function fits(pattern: string, text: string): boolean {
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (!part.startsWith("*")) return part.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
    return part === "*" ? "[^/]*" : "[^]*";
  });
  return new RegExp(`^${parts.join("")}$`).test(text);
}

/** Whether a text fits one of the patterns; no list at all takes any. */
export const fitsOne = (patterns: readonly string[] | null, text: string): boolean =>
  patterns === null || patterns.some((pattern) => fits(pattern, text));

/** Whether a pattern means one text alone. */
export const isSpeltOut = (pattern: string): boolean => !pattern.includes("*");
