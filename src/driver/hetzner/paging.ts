import * as z from "zod";
import { DriverError } from "../driver.ts";

/** The most that a page holds. */
export const PER_PAGE = 50;
/** No list has more pages than these. */
export const MAX_PAGES = 1000;

/** What a page says of the others. Only `next_page` is needed; the rest may be null, missing or wrong. */
export const meta = z.object({
  pagination: z.object({
    page: z.int().nullable().catch(null),
    next_page: z.int().nullable(),
    last_page: z.int().positive().nullable().catch(null),
  }),
});

/** One page as it was read. */
export interface Page<T> {
  readonly items: readonly T[];
  /** So many of its entries could not be read. */
  readonly unreadable: number;
  readonly pagination: z.infer<typeof meta>["pagination"];
}

/** How a list is read. */
export interface Reading<T> {
  /** What is listed, for people. */
  readonly what: string;
  /** The provider's id; null where it tells none. */
  readonly idOf: (item: T) => number | null;
  /** Whether it was asked for by ascending id. */
  readonly isById: boolean;
  /** More pages than these are an error. */
  readonly maxPages: number;
}

/**
 * Takes the pages of a list in, one after the other, and tells whether to believe that they are all there is. What a doubtful list
 * shows may be used; that it does not show something proves nothing.
 */
export function readPages<T>({ what, idOf, isById, maxPages }: Reading<T>) {
  const items: T[] = [];
  const seen = new Set<number>();
  let unreadable = 0;
  let highest = 0;
  let fruitless = 0;
  let at = 0;
  let next: number | null = null;
  /** Why what was read cannot be all. */
  let doubt: string | null = null;
  /** Why going on leads nowhere. */
  let end: string | null = null;

  /** Whether it was new. */
  function add(item: T): boolean {
    const id = idOf(item);
    if (id !== null && seen.has(id)) {
      doubt ??= "shows one of them twice";
      return false;
    }
    if (id !== null && isById && id < highest) doubt ??= "is not in the order that was asked for";
    if (id !== null) seen.add(id);
    highest = Math.max(highest, id ?? 0);
    items.push(item);
    return true;
  }

  function fail(why: string): never {
    throw new DriverError("unexpected", `the provider's list of ${what} ${why}`);
  }

  return {
    /** What was read so far, each once. */
    items,
    /** How many that is, with those that could not be read. */
    size: () => items.length + unreadable,
    take(number: number, page: Page<T>): void {
      const news = page.items.filter(add).length + page.unreadable;
      const { page: shown, next_page } = page.pagination;
      unreadable += page.unreadable;
      at = number;
      next = next_page;
      if (page.unreadable > 0) doubt ??= "has entries that cannot be read";
      if (shown !== null && shown !== number) doubt ??= `answers page ${shown} for page ${number}`;
      if (next === null) return;
      if (next !== number + 1) end ??= `does not go on: page ${number} is followed by ${next}`;
      if (news === 0) fruitless += 1;
      // Pages without anything new could go on for ever.
      if (isEmpty(page) || fruitless > 1) end ??= `shows nothing new on page ${number}, and more to come`;
    },
    /** Which page comes next; null for none. Throws where going on leads nowhere, or too far. */
    next(): number | null {
      if (end !== null) return fail(end);
      if (next !== null && at >= Math.min(maxPages, MAX_PAGES)) return fail(`has more than ${at} pages`);
      return next;
    },
    isWhole: (): boolean => doubt === null && end === null,
    /** Throws where what was read cannot be all. */
    check(): void {
      if (doubt !== null) fail(doubt);
    },
  };
}

export const isEmpty = ({ items, unreadable }: Page<unknown>): boolean => items.length + unreadable === 0;
