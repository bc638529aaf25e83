import type { Subject } from "./action-record.ts";
import type { Labels } from "./labels.ts";
import type { Server } from "./resources.ts";
import type { World } from "./world.ts";

/** From `at_ms` on the server has this status. */
export interface StatusChange {
  at_ms: number;
  status: string;
}

/** A server as a plan: its status at any time follows from the clock, so nothing here needs a timer. */
export interface ServerRecord extends Subject {
  type: "server";
  /** Everything but `status`, which `changes` decides, and `locked`, which running actions add to. */
  view: Server;
  changes: StatusChange[];
  born_ms: number;
  /** At what it was ordered, in percent of the catalogue's prices: it is billed so for as long as it lives. */
  price_percent: number;
  /** Until then lists and look-ups by name do not show it, though it exists. */
  hidden_until_ms: number;
  /** What the create request carried and the API never shows again; tests may look. */
  user_data: string | null;
  ssh_keys: (string | number)[];
}

/** The server's status at that time. */
export function statusAt(record: ServerRecord, now_ms: number): string {
  return record.changes.findLast((change) => change.at_ms <= now_ms)?.status ?? record.view.status;
}

/** The servers a list shows at that time. */
export function listedServers(world: World, now_ms: number): ServerRecord[] {
  return [...world.servers.values()].filter((record) => record.hidden_until_ms <= now_ms);
}

/** The server's labels; one put in without any has none. */
export function labelsOf(record: ServerRecord): Labels {
  return record.view.labels ?? {};
}
