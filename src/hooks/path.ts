/** What a hook's configuration says of a payload: dotted paths into it, and names that are put together from what stands there. */

/** A dotted path: the keys, from the outside in. */
export type Path = readonly string[];

const PATH = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
export const PATH_RULE = "must be a path into the payload: keys of letters, digits, `_` and `-`, joined by dots";

/** Reads `pull_request.head.ref`; null for what is no path. */
export const parsePath = (text: string): Path | null => (PATH.test(text) ? text.split(".") : null);

/** A name with places to fill in. */
export type Template = readonly ({ readonly text: string } | { readonly path: Path })[];

export const TEMPLATE_RULE =
  "must be text of at most 200 characters with paths in braces, like `pr-{pull_request.number}`, and no other brace";

/** Reads `pr-{pull_request.number}`; null where a brace stands alone, or no path stands in it. */
export function parseTemplate(text: string): Template | null {
  if (text === "" || text.length > 200) return null;
  const parts: ({ text: string } | { path: Path })[] = [];
  for (const part of text.split(/(\{[^{}]*\})/)) {
    if (part === "") continue;
    const path = part.startsWith("{") && part.endsWith("}") ? parsePath(part.slice(1, -1)) : null;
    if (path === null && /[{}]/.test(part)) return null;
    parts.push(path === null ? { text: part } : { path });
  }
  return parts;
}

/** What a template comes to; null where the payload lacks something. */
export function fillIn(template: Template, payload: unknown): string | null {
  const texts = template.map((part) => ("text" in part ? part.text : (textsAt(payload, part.path)[0] ?? null)));
  return texts.some((text) => text === null) ? null : texts.join("");
}

/** What stands at a path; undefined where nothing does. */
export function valueAt(payload: unknown, path: Path): unknown {
  let value = payload;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** The same as text: one, or those of a list; none where it is missing, or neither text, number nor truth value. */
export function textsAt(payload: unknown, path: Path): readonly string[] {
  const value = valueAt(payload, path);
  return (Array.isArray(value) ? value : [value]).flatMap(textOf);
}

/** JSON's numbers are doubles: two ids beyond what those tell apart would read alike, so such a one is no value. */
function textOf(value: unknown): readonly string[] {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return [];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [String(value)] : [];
}

const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;
/** As GitLab writes it. */
const IN_UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)? UTC$/;

/** A time in a payload, unix milliseconds: RFC 3339, GitLab's `2026-11-30 12:00:00 UTC`, or unix seconds. Null for anything else. */
export function timeOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isInteger(value) && value >= 0 && value < 1e11 ? value * 1000 : null;
  if (typeof value !== "string") return null;
  const utc = IN_UTC.exec(value);
  const text = utc === null ? value : `${utc[1]}T${utc[2]}Z`;
  const time = WITH_OFFSET.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
