// Requests that a monkey might send, for properties about whatever is answered.
import * as fc from "fast-check";

const FIELDS = ["name", "server_type", "image", "location", "labels", "public_net", "protection", "status", "created"];
const MORE_FIELDS = [
  "user_data",
  "ssh_keys",
  "networks",
  "start_after_create",
  "placement_group",
  "delete",
  "rebuild",
  "id",
  "path",
  "times",
  "public_key",
  "firewalls",
  "rules",
  "apply_to",
  "remove_from",
  "network",
  "ip_range",
  "type",
  "network_zone",
  "ip",
  "alias_ips",
  "subnets",
  "description",
  "destination",
];
const PATHS = [
  "servers",
  "servers/101",
  "servers/101/actions/change_protection",
  "servers/101/actions/poweroff",
  "servers/101/actions/poweron",
  "servers/101/actions/create_image",
  "images/400000001",
  "images/317629862",
  "images/400000001/actions/change_protection",
  "actions",
  "primary_ips/70001",
  "ssh_keys",
  "ssh_keys/20001",
  "networks",
  "networks/40001",
  "networks/40001/actions/add_subnet",
  "networks/40001/actions/delete_subnet",
  "networks/40001/actions/add_route",
  "networks/40001/actions/change_protection",
  "servers/101/actions/attach_to_network",
  "servers/101/actions/detach_from_network",
  "firewalls",
  "firewalls/30001",
  "firewalls/30001/actions/set_rules",
  "firewalls/30001/actions/apply_to_resources",
  "firewalls/30001/actions/remove_from_resources",
];
const LISTS = [
  "servers/actions",
  "firewalls/actions",
  "firewalls/30001/actions",
  "networks/actions",
  "networks/40001/members",
  "images",
  "images/actions",
  "images/400000001/actions",
  "locations",
  "server_types",
  "primary_ips",
  "pricing",
  "datacenters",
];
const QUERY = ["page", "per_page", "sort", "status", "id", "name", "label_selector", "type", "bound_to"];

const publicNet = fc.record(
  { enable_ipv4: fc.boolean(), enable_ipv6: fc.boolean(), ipv4: fc.constantFrom(1, 70_001, 70_002) },
  { requiredKeys: [] },
);
const targets = fc.constant([
  { type: "server", server: { id: 101 } },
  { type: "label_selector", label_selector: { selector: "a" } },
]);
const rules = fc.constant([{ direction: "in", protocol: "icmp", source_ips: ["0.0.0.0/0"] }]);
const addresses = fc.constantFrom("10.0.0.0/16", "10.0.1.0/24", "10.0.1.7", "cloud", "eu-central", ["10.0.1.8"]);
const value = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom("cx23", "debian-13", 400_000_001, "fsn1", "a-1", true, 101, null),
  publicNet,
  targets,
  rules,
  addresses,
);
const goodNetwork = {
  name: "n",
  ip_range: "10.0.0.0/16",
  subnets: [{ type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" }],
};
const goodBodies = [
  goodNetwork,
  { name: "w", apply_to: [{ type: "server", server: { id: 101 } }] },
  { network: 40_001 },
  { type: "snapshot" },
  { type: "cloud", network_zone: "eu-central" },
  { destination: "10.9.0.0/16", gateway: "10.0.1.1" },
  { server_type: "cx23", image: "debian-13", name: "c", networks: [40_001], firewalls: [{ firewall: 30_001 }] },
];
const goodCreate = fc
  .record({ name: fc.constantFrom("a", "b"), public_net: publicNet, start_after_create: fc.boolean() })
  .map((fields) => JSON.stringify({ server_type: "cx23", image: "debian-13", ...fields }));

/** A body, as text: fields that the API knows with any values, any JSON, any text, or a create that may well succeed. */
export const anyBody = fc.oneof(
  fc.dictionary(fc.constantFrom(...FIELDS, ...MORE_FIELDS), value).map((fields) => JSON.stringify(fields)),
  fc.string(),
  fc.constantFrom(...goodBodies.map((body) => JSON.stringify(body))),
  fc.jsonValue().map((json) => JSON.stringify(json)),
  goodCreate,
);

/** Any method. */
export const anyMethod = fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS");

const anyQuery = fc
  .array(fc.tuple(fc.constantFrom(...QUERY), fc.string()))
  .map((pairs) => new URLSearchParams(pairs).toString());

/** [method, path with `/v1` and query, body] of a request to the API: right, wrong or senseless. */
export const anyRequest = fc
  .tuple(anyMethod, fc.constantFrom(...PATHS, ...LISTS, "nothing", "servers/999999999999999999999"), anyQuery, anyBody)
  .map(([method, path, query, body]): [string, string, string | undefined] => [
    method,
    `/v1/${path}?${query}`,
    method === "GET" ? undefined : body,
  ]);
