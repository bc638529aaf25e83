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
  /** Primary IPs that the server is to be given, by their ids. */
  primary_ips: { ipv4: number | null; ipv6: number | null };
  firewalls: number[];
  networks: number[];
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
    ssh_keys: fields.list("ssh_keys", isIdOrName),
    enable_ipv4: publicNet.enable_ipv4,
    enable_ipv6: publicNet.enable_ipv6,
    primary_ips: publicNet.primary_ips,
    firewalls: [...new Set(fields.list("firewalls", isFirewall).map(({ firewall }) => firewall))],
    networks: [...new Set(fields.list("networks", isId))],
    absent: readAbsent(fields),
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
  const valid =
    [given["ipv4"], given["ipv6"]].every(isOptionalId) &&
    [given["enable_ipv4"], given["enable_ipv6"]].every(isOptionalBoolean);
  if (!valid) fields.refuse("public_net", "Invalid input.");
  return { enable_ipv4, enable_ipv6, primary_ips: { ipv4: idOrNull(given["ipv4"]), ipv6: idOrNull(given["ipv6"]) } };
}

const idOrNull = (value: unknown): number | null => (isId(value) ? value : null);

const isOptionalId = (value: unknown): boolean => value === undefined || value === null || isId(value);

const isOptionalBoolean = (value: unknown): boolean => value === undefined || typeof value === "boolean";

const isFirewall = (value: unknown): value is { firewall: number } => isObject(value) && isId(value["firewall"]);

// Volumes and placement groups do not exist here yet.
function readAbsent(fields: Fields): string[] {
  const counts: [string, number][] = [
    ["volume", fields.list("volumes", isId).length],
    ["placement group", fields.id("placement_group") === null ? 0 : 1],
  ];
  return counts.filter(([, count]) => count > 0).map(([kind]) => kind);
}
