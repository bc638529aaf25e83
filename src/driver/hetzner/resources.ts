import * as z from "zod";
import { DriverError, isNotFound } from "../driver.ts";
import { checkId } from "./account.ts";
import type { Client } from "./client.ts";
import { anyAnswer, withId } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";
import type { Selector } from "../../machine/selector.ts";

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

/** The ids, as text, of every resource of a kind that matches every label. */
export async function listIds(call: Client, plural: Plural, selector: Selector): Promise<string[]> {
  const label_selector = toLabelSelector(selector);
  const found = await listAll(call, plural, withId, label_selector === "" ? {} : { label_selector });
  return found.map(({ id }) => String(id));
}

/** Deletes a resource; one that is not there is success (S105, S129, S136). */
export async function deleteResource(call: Client, plural: Plural, id: string): Promise<void> {
  const path = `/${plural}/${checkId(id, "id")}`;
  try {
    await call({ method: "DELETE", path, absence: "not_found", answer: anyAnswer });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
