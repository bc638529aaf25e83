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
];
const PATHS = [
  "servers",
  "servers/101",
  "servers/101/actions/change_protection",
  "servers/101/actions/poweroff",
  "servers/101/actions/poweron",
  "actions",
  "primary_ips/70001",
];
const LISTS = ["servers/actions", "images", "locations", "server_types", "primary_ips", "pricing", "datacenters"];
const QUERY = ["page", "per_page", "sort", "status", "id", "name", "label_selector"];

const publicNet = fc.record(
  { enable_ipv4: fc.boolean(), enable_ipv6: fc.boolean(), ipv4: fc.constantFrom(1, 70_001, 70_002) },
  { requiredKeys: [] },
);
const value = fc.oneof(fc.jsonValue(), fc.constantFrom("cx23", "debian-13", "fsn1", "a-1", true, 101, null), publicNet);
const goodCreate = fc
  .record({ name: fc.constantFrom("a", "b"), public_net: publicNet, start_after_create: fc.boolean() })
  .map((fields) => JSON.stringify({ server_type: "cx23", image: "debian-13", ...fields }));

/** A body, as text: fields that the API knows with any values, any JSON, any text, or a create that may well succeed. */
export const anyBody = fc.oneof(
  fc.dictionary(fc.constantFrom(...FIELDS, ...MORE_FIELDS), value).map((fields) => JSON.stringify(fields)),
  fc.string(),
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
