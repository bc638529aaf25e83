import { creationStamp } from "../../machine/age.ts";
import type { Machine } from "../../machine/machine.ts";
import type { Selector } from "../../machine/selector.ts";
import { DriverError, type ListOptions } from "../driver.ts";
import type { InventoryPage, PageOptions } from "../capabilities.ts";
import { timeoutOf, type Client } from "./client.ts";
import { isEmpty, MAX_PAGES, PER_PAGE, readPages, type Page, type Reading } from "./paging.ts";
import { serverPage } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";
import { readServer, type Server } from "./server.ts";

/** So many pages are read to find where a list ends that does not tell it; 2,000 machines. */
const LONGEST_WALK = 40;

type ReadPage = (number: number) => Promise<Page<Machine>>;

/** Reads pages of one selection, sorted. */
function pagesOf(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  sort: readonly string[],
  perPage: number = PER_PAGE,
): ReadPage {
  const labelSelector = toLabelSelector(selector);
  const filter = labelSelector === "" ? "" : `label_selector=${encodeURIComponent(labelSelector)}&`;
  const order = sort.map((by) => `sort=${by}&`).join("");
  return async (page) => {
    const path = `/servers?${filter}${order}page=${page}&per_page=${perPage}`;
    const { servers, meta } = await call({ method: "GET", path, answer: serverPage });
    const readable = servers.map(readServer).filter((server) => server !== null);
    return {
      items: readable.map(read),
      unreadable: servers.length - readable.length,
      pagination: meta.pagination,
    };
  };
}

/** How servers are read. Their ids are numbers here, and nowhere else. */
const reading = (isById: boolean, maxPages: number): Reading<Machine> => ({
  what: "servers",
  idOf: ({ providerId }) => Number(providerId),
  isById,
  maxPages,
});

/** The server of that name, which is unique in a project; null where there is none. */
export async function findServer(
  call: Client,
  read: (server: Server) => Machine,
  name: string,
  timeoutMs?: number,
): Promise<Machine | null> {
  const path = `/servers?name=${encodeURIComponent(name)}`;
  const { servers, meta } = await call({ method: "GET", path, answer: serverPage, ...timeoutOf(timeoutMs) });
  const shown = servers.map(readServer);
  const found = shown.find((server) => server?.name === name);
  if (found) return read(found);
  // What cannot be read may be it.
  if (!shown.includes(null) && meta.pagination.next_page === null) return null;
  throw new DriverError("unexpected", "the provider's answer does not tell whether there is a machine of that name");
}

/**
 * One page of the inventory, by ascending id. Counted from 1; null asks for the last one. Throws `unexpected` where that is not found
 * within `maxPages`.
 */
export async function listServerPage(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  { number, maxPages = LONGEST_WALK }: PageOptions & { readonly number: number | null },
): Promise<InventoryPage> {
  const pageAt = pagesOf(call, read, selector, ["id:asc"]);
  const page = await pageAt(number ?? 1);
  if (number !== null || page.pagination.next_page === null) return toInventory(number ?? 1, page);
  const { page: last, number: end } = await findLast(pageAt, page, page.pagination.next_page, maxPages);
  return toInventory(end, last);
}

/** The last page: where the first one says that it is, if that can be believed, and on from there while there is a next one. */
async function findLast(pageAt: ReadPage, first: Page<Machine>, second: number, maxPages: number) {
  const told = first.pagination.last_page ?? second;
  let number = told >= second && told <= MAX_PAGES ? told : second;
  let page = await pageAt(number);
  // Behind the end there is nothing: the list is shorter than it says.
  if (number > second && isEmpty(page)) page = await pageAt((number = second));
  for (let read = 1; ; read++) {
    const next = page.pagination.next_page;
    if (next !== number + 1 || isEmpty(page)) return { page, number };
    if (read >= maxPages)
      throw new DriverError("unexpected", `the provider's list does not say where it ends: there is a page ${next}`);
    page = await pageAt((number = next));
  }
}

/** A page in our words; it is whole where nothing in it is doubtful. */
function toInventory(number: number, page: Page<Machine>): InventoryPage {
  const pages = readPages(reading(true, Infinity));
  pages.take(number, page);
  const isWhole = pages.isWhole() && pages.items.every((one) => one.hasLabels);
  return { machines: pages.items, number, isWhole };
}

/** `list` of the contract: every page that is asked for, or an error with what was read as `partial` (S75-S77). */
export async function listServers(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  { olderThan, enough = Infinity, maxPages = Infinity, goOn = () => true }: ListOptions = {},
): Promise<readonly Machine[]> {
  const isById = olderThan === undefined;
  // Those of one moment in one order, or a page may show again what the one before has shown.
  const pageAt = isById
    ? pagesOf(call, read, selector, ["id:asc"])
    : pagesOf(call, read, selector, ["created:asc", "id:asc"], Math.min(PER_PAGE, enough));
  if (Object.values(selector).some((wanted) => wanted.length === 0 && typeof wanted !== "string")) return [];
  const pages = readPages(reading(isById, maxPages));
  let inOrder = true;
  let last = -Infinity;
  try {
    for (let page = 1; ;) {
      const shown = await pageAt(page);
      let youngest: number | null = null;
      for (const machine of shown.items) {
        youngest = creationStamp(machine);
        if (youngest !== null && youngest < last) inOrder = false;
        last = youngest ?? last;
      }
      const isPast = inOrder && youngest !== null && olderThan !== undefined && youngest > olderThan;
      pages.take(page, shown);
      const isEnough = pages.size() >= enough;
      if (isPast || (isEnough && olderThan !== undefined)) break;
      const next = pages.next();
      if (next === null) break;
      if (!goOn())
        throw new DriverError("unexpected", `the provider's list took too long: it was read to page ${page}`);
      if (isEnough) throw new DriverError("unexpected", `the provider lists more than the ${enough} that can be meant`);
      page = next;
    }
    pages.check();
  } catch (error) {
    throw error instanceof DriverError ? error.with({ partial: pages.items }) : error;
  }
  return pages.items;
}
