import * as z from "zod";
import { DriverError, isNotFound } from "../driver.ts";
import { checkId } from "./account.ts";
import type { Client } from "./client.ts";
import { anyAnswer } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";
import { parseTimestamp } from "../../machine/age.ts";
import type { Resource } from "../../machine/resource.ts";
import type { Resources } from "../capabilities.ts";

const PER_PAGE = 50;
const MAX_PAGES = 200;

export type Plural = "ssh_keys" | "firewalls" | "networks" | "server_types" | "locations";

const page = z.looseObject({ meta: z.object({ pagination: z.object({ next_page: z.int().nullable() }) }) });

/** Every resource of a kind that a query selects: all pages, or an error (S93, S106, S131, S144). */
export async function listAll<T>(
  call: Client,
  plural: Plural,
  item: z.ZodType<T>,
  query: Readonly<Record<string, string>> = {},
): Promise<T[]> {
  const items = z.array(item);
  const answer = page.transform((read, context) => {
    const parsed = items.safeParse(read[plural]);
    if (!parsed.success) context.addIssue({ code: "custom", path: [plural], message: "cannot be read" });
    return { items: parsed.data ?? [], next: read.meta.pagination.next_page };
  });
  const filter = Object.entries(query)
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}&`)
    .join("");
  const found: T[] = [];
  for (let number = 1; ;) {
    const path = `/${plural}?${filter}page=${number}&per_page=${PER_PAGE}`;
    const { items: more, next } = await call({ method: "GET", path, answer });
    found.push(...more);
    if (next === null) return found;
    if (next <= number || next > MAX_PAGES)
      throw new DriverError(
        "unexpected",
        `the provider's list of ${plural} does not end: ${number} is followed by ${next}`,
      );
    number = next;
  }
}

/** What every kind has, as the API shows it. */
interface Shown {
  readonly id: number;
  readonly labels?: Resource["labels"] | null | undefined;
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
}

/** A resource in our words. */
export const toResource = <T extends Shown>({ machines, material }: Kind<T>, shown: T): Resource => ({
  id: String(shown.id),
  labels: shown.labels ?? {},
  hasLabels: shown.labels !== undefined && shown.labels !== null,
  createdAt: parseTimestamp(shown.created),
  machineIds: machines(shown)?.map(String) ?? null,
  material: material?.(shown) ?? null,
});

/** The answer that shows one of a kind. */
export const answerOf = <T extends Shown>({ singular, shape }: Kind<T>): z.ZodType<T> =>
  z.looseObject({}).transform((body, context): T => {
    const parsed = shape.safeParse(body[singular]);
    if (parsed.success) return parsed.data;
    context.addIssue({ code: "custom", path: [singular], message: "cannot be read" });
    return z.NEVER;
  });

/** What can be done with every kind. */
export function createResources<T extends Shown>(call: Client, kind: Kind<T>): Resources {
  const pathOf = (id: string): string => `/${kind.plural}/${checkId(id, "id")}`;
  return {
    async list(selector) {
      const label_selector = toLabelSelector(selector);
      const found = await listAll(call, kind.plural, kind.shape, label_selector === "" ? {} : { label_selector });
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
        await call({ method: "DELETE", path: pathOf(id), absence: "not_found", answer: anyAnswer });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}
