// The whole project as text, and back, for whoever keeps it where the process does not reach. The log of requests is not kept.
import * as z from "zod";
import type { ActionRecord, Subject } from "./action-record.ts";
import { ApiError, ControlError } from "./errors.ts";
import type { FirewallRecord } from "./firewall-record.ts";
import { parseLabelSelector } from "./label-selector.ts";
import { RateLimit } from "./rate-limit.ts";
import { savedWorld, VERSION } from "./saved-world-schema.ts";
import type { World } from "./world.ts";

/** Everything but the log of requests, as JSON. */
export function saveWorld(world: World, now_ms: number): string {
  const { actions, servers, deleted, firewalls, images, networks, ssh_keys, stock, faults, rate_limit, ...plain } =
    world;
  const { requests: _requests, ...rest } = plain;
  const saved = {
    version: VERSION,
    ...rest,
    actions: [...actions.values()],
    servers: [...servers.values()].map(withoutActions),
    deleted: deleted.map(({ record, deleted_ms }) => ({ record: withoutActions(record), deleted_ms })),
    firewalls: [...firewalls.values()].map(withoutActions),
    images: [...images.values()].map(withoutActions),
    networks: [...networks.values()].map(withoutActions),
    ssh_keys: [...ssh_keys.values()],
    stock: [...stock.values()],
    faults: faults.map(({ fault, seen }) => ({ fault, seen })),
    rate_limit: { limit: rate_limit.limit, remaining: rate_limit.remaining(now_ms) },
  };
  return JSON.stringify(saved, spelled);
}

/** An action is about several things: each keeps its number, so that it is one again when it is read. */
const withoutActions = <Record extends Subject>(record: Record) => ({
  ...record,
  actions: record.actions.map(({ id }) => id),
});

/** JSON has no word for never. */
const spelled = (_key: string, value: unknown): unknown =>
  value === Infinity || value === -Infinity ? String(value) : value;

/** The project that was saved, with an empty log; `real_ms` is the real time. Throws ControlError where it cannot be read. */
export function restoreWorld(text: string, real_ms: number): World {
  const { version: _version, ...saved } = parsed(text);
  const known = byId(saved.actions, ({ id }) => id);
  const withActions = <Saved extends { actions: number[] }>(record: Saved) => ({
    ...record,
    actions: record.actions.map((id) => actionOf(known, id)),
  });
  const viewId = ({ view }: { view: { id: number } }): number => view.id;
  return {
    ...saved,
    actions: known,
    servers: byId(saved.servers.map(withActions), viewId),
    deleted: saved.deleted.map(({ record, deleted_ms }) => ({ record: withActions(record), deleted_ms })),
    firewalls: byId(
      saved.firewalls.map((one) => ({ ...withActions(one), selectors: one.selectors.map(withMatcher) })),
      viewId,
    ),
    images: byId(saved.images.map(withActions), viewId),
    networks: byId(saved.networks.map(withActions), viewId),
    ssh_keys: byId(saved.ssh_keys, viewId),
    stock: new Map(saved.stock.map((entry) => [`${entry.server_type}/${entry.location}`, entry])),
    faults: saved.faults.map(({ fault: known_fault, seen }) => ({ ...known_fault, seen })),
    requests: [],
    rate_limit: new RateLimit(saved.rate_limit.limit, real_ms + saved.advanced_ms, saved.rate_limit.remaining),
  };
}

function parsed(text: string): z.infer<typeof savedWorld> {
  try {
    const read = savedWorld.safeParse(JSON.parse(text));
    if (read.success) return read.data;
    throw new ControlError(z.prettifyError(read.error));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ControlError(`it is no JSON: ${error.message}`);
    throw error;
  }
}

const byId = <Item>(items: readonly Item[], idOf: (item: Item) => number): Map<number, Item> =>
  new Map(items.map((item) => [idOf(item), item]));

function actionOf(known: ReadonlyMap<number, ActionRecord>, id: number): ActionRecord {
  const found = known.get(id);
  if (found === undefined) throw new ControlError(`it names an action that it does not have: ${id}`);
  return found;
}

type Applied = Omit<FirewallRecord["selectors"][number], "matches">;

function withMatcher(applied: Applied): FirewallRecord["selectors"][number] {
  try {
    return { ...applied, matches: parseLabelSelector(applied.selector) };
  } catch (error) {
    if (error instanceof ApiError) throw new ControlError(`it has a selector that is none: ${applied.selector}`);
    throw error;
  }
}
