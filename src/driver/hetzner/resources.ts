import * as z from "zod";
import { DriverError, isNotFound } from "../driver.ts";
import { checkId } from "./account.ts";
import { timeoutOf, type Client } from "./client.ts";
import { aboutAnother } from "./errors.ts";
import { MAX_PAGES, meta, PER_PAGE, readPages, type Page } from "./paging.ts";
import { toLabelSelector } from "./selector.ts";
import { parseTimestamp } from "../../machine/age.ts";
import { uidIn } from "../../machine/labels.ts";
import type { Labels } from "../../machine/machine.ts";
import type { Resource } from "../../machine/resource.ts";
import type { PageOptions, Resources } from "../capabilities.ts";

export type Plural = "ssh_keys" | "firewalls" | "networks" | "server_types" | "locations";

const page = z.looseObject({ meta });

/** In which order what is made meanwhile comes last. Not every list can be sorted. */
const BY_ID = "id:asc";

/** What is asked for by what only one can have: more than a page is an answer to another question. */
export const ONE_PAGE: PageOptions = { maxPages: 1 };

/** Every resource of a kind that a query selects: all pages, or an error (S93, S106, S131, S144). */
export async function listAll<T extends { readonly id?: number | undefined }>(
  call: Client,
  plural: Plural,
  item: z.ZodType<T>,
  {
    query = {},
    maxPages = MAX_PAGES,
    timeoutMs,
  }: PageOptions & { readonly query?: Readonly<Record<string, string>> } = {},
): Promise<readonly T[]> {
  const entries = z.array(item);
  const answer = page.transform((read, context): Page<T> => {
    const parsed = entries.safeParse(read[plural]);
    if (!parsed.success) context.addIssue({ code: "custom", path: [plural], message: "cannot be read" });
    return { items: parsed.data ?? [], unreadable: 0, pagination: read.meta.pagination };
  });
  const filter = Object.entries(query)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}&`)
    .join("");
  const isById = query["sort"] === BY_ID;
  const pages = readPages<T>({ what: plural, idOf: ({ id }) => id ?? null, isById, maxPages });
  for (let number: number | null = 1; number !== null; number = pages.next()) {
    const path = `/${plural}?${filter}page=${number}&per_page=${PER_PAGE}`;
    pages.take(number, await call({ method: "GET", path, answer, ...timeoutOf(timeoutMs) }));
  }
  pages.check();
  return pages.items;
}

/** What every kind has, as the API shows it. */
interface Shown {
  readonly id: number;
  readonly labels: Resource["labels"] | null;
  readonly created?: unknown;
}

/** One kind of resource, which the API names so in the plural and in the singular. `machines` finds what uses one; null = unreadable. */
export interface Kind<T extends Shown> {
  readonly plural: Plural;
  readonly singular: string;
  readonly shape: z.ZodType<T>;
  /** What it consists of, where that makes it what it is. */
  readonly material?: (shown: T) => string | null;
  readonly machines: (shown: T) => readonly number[] | null;
  /** The label selectors that it is applied to, where a kind can be. */
  readonly selectors?: (shown: T) => readonly string[];
}

/** A resource in our words. */
export const toResource = <T extends Shown>({ machines, material, selectors }: Kind<T>, shown: T): Resource => ({
  id: String(shown.id),
  labels: shown.labels ?? {},
  hasLabels: shown.labels !== null,
  createdAt: parseTimestamp(shown.created),
  machineIds: machines(shown)?.map(String) ?? null,
  material: material?.(shown) ?? null,
  selectors: selectors?.(shown) ?? [],
});

/** The answer that shows one of a kind. */
export const answerOf = <T extends Shown>({ singular, shape }: Kind<T>): z.ZodType<T> =>
  z.looseObject({}).transform((body, context): T => {
    const parsed = shape.safeParse(body[singular]);
    if (parsed.success) return parsed.data;
    context.addIssue({ code: "custom", path: [singular], message: "cannot be read" });
    return z.NEVER;
  });

/**
 * Makes one. An answer that does not carry the uid that was sent may mean that it was made all the same: it is an ambiguous error, and
 * no id is taken from it.
 */
export async function make<T extends Shown>(
  call: Client,
  kind: Kind<T>,
  body: { readonly labels: Labels },
  isIt: (made: Resource) => boolean = () => true,
): Promise<Resource> {
  const made = toResource(kind, await call({ method: "POST", path: `/${kind.plural}`, body, answer: answerOf(kind) }));
  const uid = uidIn(body.labels);
  if ((uid === "" || uidIn(made.labels) === uid) && isIt(made)) return made;
  throw aboutAnother(kind.singular);
}

/** What can be done with every kind. */
export function createResources<T extends Shown>(call: Client, kind: Kind<T>): Resources {
  const pathOf = (id: string): string => `/${kind.plural}/${checkId(id, "id")}`;
  return {
    async list(selector, options) {
      const label_selector = toLabelSelector(selector);
      const query = { ...(label_selector === "" ? {} : { label_selector }), sort: BY_ID };
      const found = await listAll(call, kind.plural, kind.shape, { ...options, query });
      return found.map((shown) => toResource(kind, shown));
    },

    async get(id) {
      const answer = answerOf(kind);
      const found = toResource(kind, await call({ method: "GET", path: pathOf(id), absence: "not_found", answer }));
      // What is done next is done to the id in the answer.
      if (found.id === id) return found;
      throw new DriverError("unexpected", `the provider's answer is about another of its ${kind.plural}`);
    },

    async delete(id) {
      try {
        await call.order({ method: "DELETE", path: pathOf(id), absence: "not_found" });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}
