import type { Subject } from "./action-record.ts";
import type { LabelMatcher } from "./label-selector.ts";
import type { Labels } from "./labels.ts";
import type { Firewall, FirewallRule, FirewallTarget, Server } from "./resources.ts";
import { labelsOf, type ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/** A firewall on a server: pending first, then applied, until it is taken off. */
export interface Application {
  server_id: number;
  pending_until_ms: number;
  until_ms: number;
}

/** A firewall on all servers with some labels; which ones these are is found out whenever somebody looks. */
export interface SelectorApplication {
  selector: string;
  matches: LabelMatcher;
  pending_until_ms: number;
  until_ms: number;
}

export interface FirewallRecord extends Subject {
  type: "firewall";
  view: { id: number; name: string; labels: Labels; created: string };
  rules: FirewallRule[];
  servers: Application[];
  selectors: SelectorApplication[];
}

/** What of these is there at that time: a firewall that is being taken off still is. */
export function current<Item extends { until_ms: number }>(items: Item[], now_ms: number): Item[] {
  return items.filter(({ until_ms }) => now_ms < until_ms);
}

/** Whether a server has an interface that a firewall can stand before; one that was put in may lack all of that. */
export function hasPublicInterface({ public_net }: Pick<Server, "public_net">): boolean {
  return [public_net?.ipv4 ?? [], public_net?.ipv6 ?? []].flat().length > 0;
}

/** The firewall as the API shows it at that time. Source: Hetzner API, Firewalls. */
export function renderFirewall(world: World, record: FirewallRecord, now_ms: number): Firewall {
  const servers = current(record.servers, now_ms).map(({ server_id }) => serverTarget(server_id));
  const selectors = current(record.selectors, now_ms).map((application) => ({
    type: "label_selector" as const,
    label_selector: { selector: application.selector },
    applied_to_resources: selectedBy(world, record, application, now_ms).map(({ view }) => serverTarget(view.id)),
  }));
  return { ...record.view, rules: record.rules, applied_to: [...servers, ...selectors] };
}

function serverTarget(id: number): FirewallTarget & { type: "server" } {
  return { type: "server", server: { id } };
}

/** The servers that have the firewall because of this selector alone: what is applied directly takes precedence. */
export function selectedBy(
  world: World,
  record: FirewallRecord,
  { matches }: Pick<SelectorApplication, "matches">,
  now_ms: number,
): ServerRecord[] {
  const direct = new Set(current(record.servers, now_ms).map(({ server_id }) => server_id));
  return [...world.servers.values()].filter(
    (server) => !direct.has(server.view.id) && hasPublicInterface(server.view) && matches(labelsOf(server)),
  );
}

/** How a server has the firewall at that time, if it does. */
export function applicationOn(
  record: FirewallRecord,
  server: ServerRecord,
  now_ms: number,
): Application | SelectorApplication | undefined {
  const direct = current(record.servers, now_ms).find(({ server_id }) => server_id === server.view.id);
  if (direct !== undefined || !hasPublicInterface(server.view)) return direct;
  return current(record.selectors, now_ms).find(({ matches }) => matches(labelsOf(server)));
}

/** The firewalls of a server, as it shows them at that time. Source: Hetzner API, Servers. */
export function firewallsOf(world: World, server: ServerRecord, now_ms: number): { id: number; status: string }[] {
  return [...world.firewalls.values()].flatMap((record) => {
    const application = applicationOn(record, server, now_ms);
    if (application === undefined) return [];
    return [{ id: record.view.id, status: now_ms < application.pending_until_ms ? "pending" : "applied" }];
  });
}

/** Takes a server that is going to be gone by then off all firewalls. */
export function forgetServer(world: World, server_id: number, gone_ms: number): void {
  for (const { servers } of world.firewalls.values())
    for (const application of servers)
      if (application.server_id === server_id) application.until_ms = Math.min(application.until_ms, gone_ms);
}
