import { creationTime } from "../../machine/age.ts";
import type { Machine } from "../../machine/machine.ts";
import type { Selector } from "../../machine/selector.ts";
import { DriverError, type ListOptions } from "../driver.ts";
import type { Client } from "./client.ts";
import { parseServer, serverPage, type Server } from "./schema.ts";
import { toLabelSelector } from "./selector.ts";

const PER_PAGE = 50;
const MAX_PAGES = 1000;

/** `list` of the contract: every page that is asked for, or an error with what was read as `partial` (S75-S77). */
export async function listServers(
  call: Client,
  read: (server: Server) => Machine,
  selector: Selector,
  { olderThan, enough = Infinity }: ListOptions = {},
): Promise<readonly Machine[]> {
  const labelSelector = toLabelSelector(selector);
  if (Object.values(selector).some((wanted) => wanted.length === 0 && typeof wanted !== "string")) return [];
  const filter = labelSelector === "" ? "" : `label_selector=${encodeURIComponent(labelSelector)}&`;
  const sort = olderThan === undefined ? "id:asc" : "created:asc";
  const machines: Machine[] = [];
  let unreadable = 0;
  let inOrder = true;
  let last = -Infinity;
  try {
    for (let page = 1; ;) {
      const path = `/servers?${filter}sort=${sort}&page=${page}&per_page=${PER_PAGE}`;
      const { servers, meta } = await call({ method: "GET", path, answer: serverPage });
      let youngest: number | null = null;
      for (const item of servers) {
        const server = parseServer(item);
        if (server === null) {
          unreadable += 1;
          continue;
        }
        const machine = read(server);
        machines.push(machine);
        youngest = creationTime(machine);
        if (youngest !== null && youngest < last) inOrder = false;
        last = youngest ?? last;
      }
      const next = meta.pagination.next_page;
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
