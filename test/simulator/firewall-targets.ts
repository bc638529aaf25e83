// To what a firewall is to be applied, or from what it is to be removed.
import { ApiError, isChanging } from "./errors.ts";
import { isId, type Fields } from "./fields.ts";
import { current, firewallsOf, hasPublicInterface, type FirewallRecord } from "./firewall-record.ts";
import { isObject } from "./json.ts";
import { parseLabelSelector, type LabelMatcher } from "./label-selector.ts";
import type { FirewallTarget } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

export const FIREWALLS_PER_SERVER = 5;

/** Servers and selectors that a request names. */
export interface Targets {
  servers: number[];
  selectors: { selector: string; matches: LabelMatcher }[];
}

/** Reads a list of targets. Source: Hetzner API, Firewall Actions. */
export function readTargets(fields: Fields, name: "apply_to" | "remove_from"): Targets {
  const given = fields.list(name, isTarget);
  return {
    servers: given.flatMap((target) => (target.type === "server" ? [target.server.id] : [])),
    selectors: given.flatMap((target) => {
      if (target.type === "server") return [];
      const { selector } = target.label_selector;
      return [{ selector, matches: parseLabelSelector(selector) }];
    }),
  };
}

function isTarget(value: unknown): value is FirewallTarget {
  if (!isObject(value)) return false;
  const { type, server, label_selector } = value;
  if (type === "server") return isObject(server) && isId(server["id"]);
  return type === "label_selector" && isObject(label_selector) && typeof label_selector["selector"] === "string";
}

/** A refusal in the words of the request it is for: the document has them differ. */
export type Refusals = Record<"missing" | "twice" | "no_public_interface", () => ApiError>;

const missing = (status: number) => (): ApiError =>
  new ApiError(status, "firewall_resource_not_found", "resource for firewall not found");

/** Those of `POST /firewalls`. Source: Hetzner API, Firewalls. */
export const REFUSALS_OF_CREATE: Refusals = {
  missing: missing(422),
  twice: () => new ApiError(422, "server_already_added", "server was added more than once"),
  no_public_interface: () =>
    new ApiError(422, "incompatible_network_type", "network type of the resource is not supported by firewalls"),
};

/** Those of the actions. Source: Hetzner API, Firewall Actions. */
export const REFUSALS_OF_ACTION: Refusals = {
  missing: missing(404),
  twice: () => new ApiError(422, "firewall_already_applied", "firewall is already applied to resource"),
  no_public_interface: () => new ApiError(422, "private_net_only_server", "server has no public network interface"),
};

/** The servers that can be given the firewall, or a refusal. */
export function applicableServers(
  world: World,
  record: FirewallRecord | null,
  ids: readonly number[],
  now_ms: number,
  refusals: Refusals,
): ServerRecord[] {
  const before = record === null ? [] : current(record.servers, now_ms);
  return ids.map((id, index) => {
    const server = world.servers.get(id);
    if (server === undefined) throw refusals.missing();
    const applied = before.find(({ server_id }) => server_id === id);
    if (applied !== undefined && applied.until_ms !== Infinity) throw isChanging("firewall");
    if (applied !== undefined || ids.indexOf(id) !== index) throw refusals.twice();
    if (!hasPublicInterface(server.view)) throw refusals.no_public_interface();
    if (firewallsOf(world, server, now_ms).length >= FIREWALLS_PER_SERVER) throw tooManyFirewalls();
    return server;
  });
}

/** 403: a server has all the firewalls that it can have. */
export function tooManyFirewalls(): ApiError {
  const limits = [{ name: "server_firewall_limit" }];
  return new ApiError(403, "resource_limit_exceeded", "firewall limit of the server exceeded", { limits });
}
