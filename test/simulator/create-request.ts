import { Fields, isId, isIdOrName } from "./fields.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { Labels } from "./labels.ts";

const USER_DATA_MAX_BYTES = 32_768;

/** A create request whose every field has the right type. */
export interface CreateRequest {
  name: string;
  server_type: string;
  image: string;
  location: string | null;
  start_after_create: boolean;
  labels: Labels;
  user_data: string | null;
  ssh_keys: (string | number)[];
  enable_ipv4: boolean;
  enable_ipv6: boolean;
  /** Things the project does not hold, by the name of their kind. */
  absent: string[];
}

/** Reads the body of `POST /servers`; fields nobody knows pass, as at Hetzner. Source: Hetzner API, Servers. */
export function readCreateRequest(body: JsonObject): CreateRequest {
  const fields = new Fields(body);
  fields.require("name", "server_type", "image");
  // Removed from the API on 2026-07-01: the one leftover that must not pass in silence.
  if (fields.has("datacenter")) fields.refuse("datacenter", "Unknown field.");
  fields.boolean("automount", false);
  const publicNet = readPublicNet(fields);
  const request = {
    name: fields.hostname("name"),
    server_type: fields.idOrName("server_type") ?? "",
    image: fields.idOrName("image") ?? "",
    location: fields.idOrName("location"),
    start_after_create: fields.boolean("start_after_create", true),
    labels: fields.labels("labels"),
    user_data: fields.string("user_data"),
    // Keys are taken on trust: nobody logs in here.
    ssh_keys: fields.list("ssh_keys", isIdOrName),
    enable_ipv4: publicNet.enable_ipv4,
    enable_ipv6: publicNet.enable_ipv6,
    absent: readAbsent(fields, publicNet.primary_ips),
  };
  if (new TextEncoder().encode(request.user_data ?? "").length > USER_DATA_MAX_BYTES)
    fields.refuse("user_data", `Length must be between 0 and ${USER_DATA_MAX_BYTES}.`);
  fields.check();
  return request;
}

function readPublicNet(fields: Fields) {
  const given = fields.object("public_net");
  const net = new Fields(given);
  const enable_ipv4 = net.boolean("enable_ipv4", true);
  const enable_ipv6 = net.boolean("enable_ipv6", true);
  const ids = [given["ipv4"], given["ipv6"]].filter((id) => id !== undefined && id !== null);
  const valid = ids.every(isId) && [given["enable_ipv4"], given["enable_ipv6"]].every(isOptionalBoolean);
  if (!valid) fields.refuse("public_net", "Invalid input.");
  return { enable_ipv4, enable_ipv6, primary_ips: ids.length };
}

const isOptionalBoolean = (value: unknown): boolean => value === undefined || typeof value === "boolean";

// Networks, firewalls, volumes, placement groups and Primary IPs of one's own do not exist here yet.
function readAbsent(fields: Fields, primary_ips: number): string[] {
  const isFirewall = (value: unknown): value is { firewall: number } => isObject(value) && isId(value["firewall"]);
  const counts: [string, number][] = [
    ["network", fields.list("networks", isId).length],
    ["firewall", fields.list("firewalls", isFirewall).length],
    ["volume", fields.list("volumes", isId).length],
    ["placement group", fields.idOrName("placement_group") === null ? 0 : 1],
    ["primary IP", primary_ips],
  ];
  return counts.filter(([, count]) => count > 0).map(([kind]) => kind);
}
