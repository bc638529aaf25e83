import { isLabelKey, isLabelValue, isReservedKey } from "./labels.ts";
import { invalid, valid, type Checked } from "./validation.ts";
import type { Labels } from "./machine.ts";

/**
 * What a driver's `list` takes: every key must match (AND); a list of values means "one of these".
 * Deliberately less than a provider offers, so that every provider can offer it (S71).
 */
export type Selector = Readonly<Record<string, string | readonly string[]>>;

/** Whether labels satisfy a selector. Destructive callers re-check with this what a provider listed (S80). */
export const matches = (labels: Labels, selector: Selector): boolean =>
  Object.entries(selector).every(([key, wanted]) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return value !== undefined && (typeof wanted === "string" ? value === wanted : wanted.includes(value));
  });

/** One term of a `label_selector` as callers write it, Hetzner's grammar: `k=v`, `k!=v`, `k`, `!k`, `k in (…)`, `k notin (…)`. */
export type SelectorTerm =
  | { readonly test: "exists" | "absent"; readonly key: string }
  | { readonly test: "in" | "notin"; readonly key: string; readonly values: readonly string[] };

const MAX_TERMS = 10;
/** Far more than ten terms need; splitting takes time with the square of the length. */
const MAX_CHARACTERS = 4096;
const TERM =
  /^(?<not>!?)(?<key>[^\s=!(),]+)\s*(?:(?<operator>==|=|!=)\s*(?<value>[^\s=!(),]*)|\s(?<set>in|notin)\s*\((?<values>[^()]*)\))?$/;

/**
 * Reads a caller's `label_selector`. Terms join by AND; `!=` and `notin` also match machines without the key.
 * Reserved keys are refused: labels shown and selected on are the caller's own.
 */
export function parseLabelSelector(text: string, field = "label_selector"): Checked<readonly SelectorTerm[]> {
  if (text.length > MAX_CHARACTERS) return invalid(field, `must be at most ${MAX_CHARACTERS} characters`);
  if (text.trim() === "") return valid([]);
  // A comma inside parentheses separates values, not terms.
  const parts = text.split(/,(?![^(]*\))/);
  if (parts.length > MAX_TERMS) return invalid(field, `must have at most ${MAX_TERMS} terms`);
  const terms: SelectorTerm[] = [];
  for (const part of parts) {
    const groups = TERM.exec(part.trim())?.groups;
    const key = groups?.["key"];
    if (groups === undefined || key === undefined)
      return invalid(field, "must be terms like `k=v`, `k!=v`, `k`, `!k`, `k in (a,b)`, joined by commas");
    if (!isLabelKey(key)) return invalid(field, "must name valid label keys");
    if (isReservedKey(key))
      return invalid(field, `must not use \`${key}\`: only labels that you set can be selected on`);
    const { operator, set } = groups;
    const comparison = operator ?? set;
    if (comparison === undefined) {
      terms.push({ test: groups["not"] === "!" ? "absent" : "exists", key });
      continue;
    }
    if (groups["not"] === "!") return invalid(field, "must not join `!` with a comparison");
    const values =
      set === undefined ? [groups["value"] ?? ""] : (groups["values"] ?? "").split(",").map((v) => v.trim());
    if (!values.every(isLabelValue)) return invalid(field, "must compare with valid label values");
    terms.push({ test: comparison === "!=" || comparison === "notin" ? "notin" : "in", key, values });
  }
  return valid(terms);
}

/**
 * Reads a `label_selector` that is to mean a snapshot. At least one term must ask for a label to be there: whoever says only what it
 * must not have means any.
 */
export function parseImageSelector(text: string, field = "image.label_selector"): Checked<readonly SelectorTerm[]> {
  const terms = parseLabelSelector(text, field);
  if (!terms.ok || terms.value.some(({ test }) => test === "exists" || test === "in")) return terms;
  return invalid(field, "must name at least one label that the snapshot has: `k=v`, `k` or `k in (a,b)`");
}
