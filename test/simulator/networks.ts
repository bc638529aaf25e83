import { created, noContent, ok, type Call, type Reply } from "./call.ts";
import { ApiError } from "./errors.ts";
import { Fields } from "./fields.ts";
import { isObject } from "./json.ts";
import { filterValues, page, sorted } from "./lists.ts";
import { filterNamed, refuseTaken, withRecord } from "./lookup.ts";
import { includes, parseIpv4 } from "./ip-ranges.ts";
import { isNetworkRange, rangeOf, withRoute, withSubnet } from "./network-layout.ts";
import {
  networkAt,
  refuseWhileChanging,
  renderNetwork,
  taking,
  type Attachment,
  type NetworkRecord,
  type NetworkState,
} from "./network-record.ts";
import { toTimestamp } from "./resources.ts";

const NAME_MAX_CHARACTERS = 128;

/** Wraps a handler of one network. */
export const withNetwork = withRecord("network", (world) => world.networks);

/** `GET /networks`. Source: Hetzner API, Networks. */
export function listNetworks(call: Call): Reply {
  const networks = sorted(call, filterNamed(call, call.world.networks.values()), {
    id: ({ view }) => view.id,
    name: ({ view }) => view.name,
    created: ({ view }) => view.created,
  });
  return page(call, "networks", networks, (record) => renderNetwork(record, call.now_ms));
}

/** `GET /networks/{id}`. Source: Hetzner API, Networks. */
export function getNetwork(call: Call, record: NetworkRecord): Reply {
  return ok({ network: renderNetwork(record, call.now_ms) });
}

/** `POST /networks`. That names are unique the document does not say. Source: Hetzner API, Networks; hcloud, its own tests. */
export function createNetwork({ world, now_ms, body }: Call): Reply {
  const fields = new Fields(body);
  fields.require("name", "ip_range");
  const name = fields.text("name", NAME_MAX_CHARACTERS);
  const ip_range = readNetworkRange(fields);
  const labels = fields.labels("labels");
  const expose_routes_to_vswitch = fields.boolean("expose_routes_to_vswitch", false);
  const subnets = fields.list("subnets", isObject);
  const routes = fields.list("routes", isObject);
  fields.check();
  refuseTaken("", world.networks.values(), name);
  let state: NetworkState = { ip_range, subnets: [], routes: [], protection: { delete: false } };
  for (const [index, subnet] of subnets.entries()) state = withSubnet(state, subnet, `subnets.${index}.`);
  for (const [index, route] of routes.entries()) state = withRoute(state, route, `routes.${index}.`);
  const id = world.next_id.network++;
  const record: NetworkRecord = {
    type: "network",
    view: { id, name, labels, created: toTimestamp(now_ms), expose_routes_to_vswitch },
    states: [{ at_ms: now_ms, state }],
    attachments: [],
    actions: [],
  };
  world.networks.set(id, record);
  return created({ network: renderNetwork(record, now_ms) });
}

/** Reads `ip_range` of a network: private, and a /24 at least. */
export function readNetworkRange(fields: Fields): string {
  const ip_range = fields.string("ip_range");
  if (ip_range !== null && !isNetworkRange(ip_range))
    fields.refuse("ip_range", "Must be a private IPv4 range, a /24 at least.");
  return ip_range ?? "";
}

/** `PUT /networks/{id}`. Source: Hetzner API, Networks. */
export function updateNetwork(call: Call, record: NetworkRecord): Reply {
  const { view } = record;
  const fields = new Fields(call.body);
  const name = fields.has("name") ? fields.text("name", NAME_MAX_CHARACTERS) : view.name;
  const labels = fields.has("labels") ? fields.labels("labels") : view.labels;
  const expose_routes_to_vswitch = fields.boolean("expose_routes_to_vswitch", view.expose_routes_to_vswitch);
  fields.check();
  refuseTaken("", call.world.networks.values(), name, view.id);
  refuseWhileChanging(call, record);
  record.view = { ...view, name, labels, expose_routes_to_vswitch };
  return getNetwork(call, record);
}

/** `DELETE /networks/{id}`: whatever is attached is detached. Source: Hetzner API, Networks. */
export function deleteNetwork(call: Call, record: NetworkRecord): Reply {
  if (networkAt(record, call.now_ms).protection.delete)
    throw new ApiError(423, "protected", "network deletion is protected");
  refuseWhileChanging(call, record);
  call.world.networks.delete(record.view.id);
  return noContent();
}

/** `GET /networks/{id}/members`, since 2026-09-15. Source: Hetzner API, Networks. */
export function listMembers(call: Call, record: NetworkRecord): Reply {
  const types = filterValues(call, "type", ["server", "load_balancer"]);
  const statuses = filterValues(call, "status", ["ok", "attaching", "detaching", "updating", "error"]);
  const subnets = call.url.searchParams.getAll("subnet");
  const members = taking(record, call.now_ms)
    .map((attachment) => memberOf(networkAt(record, call.now_ms), attachment, call.now_ms))
    .filter(
      ({ type, status, subnet }) =>
        (types?.includes(type) ?? true) &&
        (statuses?.includes(status) ?? true) &&
        (subnets.length === 0 || subnets.includes(subnet)),
    );
  const fields = {
    id: (member: Member) => member.id,
    type: (member: Member) => member.type,
    status: (member: Member) => member.status,
    ip: (member: Member) => Number(parseIpv4(member.ip)),
  };
  return page(call, "members", sorted(call, members, fields), (member) => member);
}

type Member = ReturnType<typeof memberOf>;

function memberOf({ subnets }: NetworkState, attachment: Attachment, now_ms: number) {
  const { server_id, ip, alias_ips, attached_ms, until_ms } = attachment;
  const status = now_ms < attached_ms ? "attaching" : until_ms === Infinity ? "ok" : "detaching";
  const subnet = subnets.find(({ ip_range }) => includes(rangeOf(ip_range), parseIpv4(ip) ?? -1n))?.ip_range ?? "";
  return { type: "server", id: server_id, ip, status, alias_ips, subnet };
}
