import { ok, type Call, type Reply } from "./call.ts";
import { invalidField } from "./errors.ts";
import { parseLabelSelector } from "./label-selector.ts";
import type { Labels } from "./labels.ts";
import { parseTimestamp } from "./resources.ts";

const PER_PAGE_DEFAULT = 25;
// The official document names the maximum and no error for going over it; clamping is the harsher choice for a client
// that asks for 100 and believes that a page of 50 is the last.
const PER_PAGE_MAX = 50;

/** One page of a list with `meta.pagination` and the `Link` header. Source: Hetzner API, Pagination. */
export function page<Item>(call: Call, key: string, items: Item[], render: (item: Item) => unknown): Reply {
  const number = positive(call, "page", 1);
  const per_page = Math.min(positive(call, "per_page", PER_PAGE_DEFAULT), PER_PAGE_MAX);
  const last_page = Math.max(1, Math.ceil(items.length / per_page));
  const previous_page = number > 1 ? number - 1 : null;
  const next_page = number < last_page ? number + 1 : null;
  const pagination = { page: number, per_page, previous_page, next_page, last_page, total_entries: items.length };
  const shown = items.slice((number - 1) * per_page, number * per_page).map(render);
  const reply = ok({ [key]: shown, meta: { pagination } });
  return { ...reply, headers: { Link: links(call.url, { prev: previous_page, next: next_page, last: last_page }) } };
}

function links(url: URL, pages: Record<string, number | null>): string {
  return Object.entries(pages)
    .filter(([, number]) => number !== null)
    .map(([rel, number]) => {
      const target = new URL(url);
      target.searchParams.set("page", String(number));
      return `<${target.href}>; rel="${rel}"`;
    })
    .join(", ");
}

function positive(call: Call, name: string, otherwise: number): number {
  const text = call.url.searchParams.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= 1) return value;
  throw invalidField(name, "Must be greater than or equal to 1.");
}

/** The values of a repeatable filter, checked against what the API knows; null when it is not set. */
export function filterValues(call: Call, name: string, allowed: readonly string[]): string[] | null {
  const values = call.url.searchParams.getAll(name);
  if (values.some((value) => !allowed.includes(value)))
    throw invalidField(name, `Must be one of: ${allowed.join(", ")}.`);
  return values.length === 0 ? null : values;
}

/** The `label_selector` filter; everything matches when it is not set. */
export function labelFilter(call: Call): (labels: Labels) => boolean {
  const selector = call.url.searchParams.get("label_selector") ?? "";
  return selector === "" ? () => true : parseLabelSelector(selector);
}

/** Where something stands in a list that is sorted by `created`: what was put in with a broken one goes last. */
export function creationOrder({ created }: { created?: string | null }): number {
  const created_ms = parseTimestamp(created);
  return Number.isNaN(created_ms) ? Infinity : created_ms;
}

/** Sorts by the repeated `sort=field[:asc|:desc]`, first one first; the first of `fields` breaks ties. */
export function sorted<Item>(
  call: Call,
  items: Item[],
  fields: Record<string, (item: Item) => string | number>,
): Item[] {
  const orders = call.url.searchParams.getAll("sort").map((text) => {
    const [, name = "", direction] = /^([a-z]+)(?::(asc|desc))?$/.exec(text) ?? [];
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) throw invalidField("sort", `Must be one of: ${Object.keys(fields).join(", ")}.`);
    return { field, sign: direction === "desc" ? -1 : 1 };
  });
  for (const field of Object.values(fields).slice(0, 1)) orders.push({ field, sign: 1 });
  return items.toSorted((left, right) => {
    for (const { field, sign } of orders) {
      const difference = compare(field(left), field(right));
      if (difference !== 0) return difference * sign;
    }
    return 0;
  });
}

function compare(left: string | number, right: string | number): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
