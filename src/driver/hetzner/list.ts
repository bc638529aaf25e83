import { creationTime } from "../../machine/age.ts";
import type { Machine } from "../../machine/machine.ts";
import type { Selector } from "../../machine/selector.ts";
import { DriverError, type ListOptions } from "../driver.ts";
import type { InventoryPage } from "../capabilities.ts";
import type { Client } from "./client.ts";
import { parseServer, serverPage, type Server } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";

const PER_PAGE = 50;
const MAX_PAGES = 1000;

/** One page as it was read. */
interface Page {
  readonly machines: readonly Machine[];
  /** So many of its entries could not be read. */
  readonly unreadable: number;
  readonly next: number | null;
  readonly last: number | null;
}

/** Reads pages of one selection, sorted. */
function pagesOf(call: Client, read: (server: Server) => Machine, selector: Selector, sort: string) {
  const labelSelector = toLabelSelector(selector);
  const filter = labelSelector === "" ? "" : `label_selector=${encodeURIComponent(labelSelector)}&`;
  return async (page: number): Promise<Page> => {
    const path = `/servers?${filter}sort=${sort}&page=${page}&per_page=${PER_PAGE}`;
    const { servers, meta } = await call({ method: "GET", path, answer: serverPage });
    const readable = servers.map(parseServer).filter((server) => server !== null);
    const { next_page: next, last_page: last } = meta.pagination;
    return { machines: readable.map(read), unreadable: servers.length - readable.length, next, last };
  };
}

/** The server of that name, which is unique in a project; null where there is none. */
export async function findServer(
  call: Client,
  read: (server: Server) => Machine,
  name: string,
): Promise<Machine | null> {
  const { servers } = await call({
    method: "GET",
    path: `/servers?name=${encodeURIComponent(name)}`,
    answer: serverPage,
  });
  const found = servers.map(parseServer).find((server) => server?.name === name);
  return found ? read(found) : null;
}

/** One page of the inventory, by ascending id. Counted from 1; null asks for the last one. */
export async function listServerPage(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  number: number | null,
): Promise<InventoryPage> {
  const pageAt = pagesOf(call, read, selector, "id:asc");
  const first = await pageAt(number ?? 1);
  const last = number ?? lastOf(first);
  const { machines, unreadable } = number === null && last > 1 ? await pageAt(last) : first;
  return { machines, number: last, isWhole: unreadable === 0 && machines.every((one) => one.hasLabels) };
}

/** Where a list ends, told by its first page: with no page after it, here; else where it says, if that can be. */
function lastOf({ next, last }: Page): number {
  if (next === null && (last ?? 1) <= 1) return 1;
  if (next === null || last === null || last < next || last > MAX_PAGES)
    throw new DriverError("unexpected", `the provider's list does not say where it ends: ${last} after ${next}`);
  return last;
}

/** `list` of the contract: every page that is asked for, or an error with what was read as `partial` (S75-S77). */
export async function listServers(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  { olderThan, enough = Infinity }: ListOptions = {},
): Promise<readonly Machine[]> {
  const pageAt = pagesOf(call, read, selector, olderThan === undefined ? "id:asc" : "created:asc");
  if (Object.values(selector).some((wanted) => wanted.length === 0 && typeof wanted !== "string")) return [];
  const machines: Machine[] = [];
  let unreadable = 0;
  let inOrder = true;
  let last = -Infinity;
  try {
    for (let page = 1; ;) {
      const shown = await pageAt(page);
      unreadable += shown.unreadable;
      let youngest: number | null = null;
      for (const machine of shown.machines) {
        machines.push(machine);
        youngest = creationTime(machine);
        if (youngest !== null && youngest < last) inOrder = false;
        last = youngest ?? last;
      }
      const { next } = shown;
      if (next === null) break;
      if (next <= page || next > MAX_PAGES)
        throw new DriverError("unexpected", `the provider's list does not end: page ${page} is followed by ${next}`);
      const isPast = inOrder && youngest !== null && olderThan !== undefined && youngest > olderThan;
      const isEnough = machines.length + unreadable >= enough;
      if (isPast || (isEnough && olderThan !== undefined)) break;
      if (isEnough) throw new DriverError("unexpected", `the provider lists more than the ${enough} that can be meant`);
      page = next;
    }
    if (unreadable > 0)
      throw new DriverError("unexpected", `${unreadable} entries of the provider's list cannot be read`);
  } catch (error) {
    throw error instanceof DriverError ? error.with({ partial: machines }) : error;
  }
  return machines;
}
