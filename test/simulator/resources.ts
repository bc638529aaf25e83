// The shapes that go over the wire. Source: Hetzner API, state of November 2026 (no `datacenter`, no `deprecated`).
import type { Labels } from "./labels.ts";

export interface Price {
  net: string;
  gross: string;
}

export interface LocationPrice {
  location: string;
  price_hourly: Price;
  price_monthly: Price;
  included_traffic: number;
  price_per_tb_traffic: Price;
}

export interface Deprecation {
  announced: string;
  unavailable_after: string;
}

export interface TypeLocation {
  id: number;
  name: string;
  deprecation: Deprecation | null;
  available: boolean;
  recommended: boolean;
}

export type Architecture = "x86" | "arm";

export interface ServerType {
  id: number;
  name: string;
  description: string;
  cores: number;
  memory: number;
  disk: number;
  deprecation: Deprecation | null;
  prices: LocationPrice[];
  storage_type: "local" | "network";
  cpu_type: "shared" | "dedicated";
  category: string;
  architecture: Architecture;
  locations: TypeLocation[];
}

export interface Location {
  id: number;
  name: string;
  description: string;
  country: string;
  city: string;
  latitude: number;
  longitude: number;
  network_zone: string;
}

/** `created` and `labels` are loose because the control plane may put in an image with broken ones. */
export interface Image {
  id: number;
  type: "system" | "app" | "snapshot" | "backup";
  status: "available" | "creating" | "unavailable";
  name: string | null;
  description: string;
  image_size: number | null;
  disk_size: number;
  created?: string | null;
  created_from: { id: number; name: string } | null;
  bound_to: number | null;
  os_flavor: string;
  os_version: string | null;
  rapid_deploy: boolean;
  protection: { delete: boolean };
  deprecation: Deprecation | null;
  deleted: string | null;
  labels?: Labels | null;
  architecture: Architecture;
}

export interface PublicNet {
  ipv4: { id: number; ip: string; blocked: boolean; dns_ptr: string } | null;
  ipv6: { id: number; ip: string; blocked: boolean; dns_ptr: { ip: string; dns_ptr: string }[] } | null;
  floating_ips: number[];
  firewalls: { id: number; status: string }[];
}

/** `created` and `labels` are loose because the control plane may put in a server with broken ones. */
export interface Server {
  id: number;
  name: string;
  status: string;
  created?: string | null;
  public_net: PublicNet;
  private_net: unknown[];
  server_type: ServerType;
  location: Location;
  image: Image | null;
  iso: unknown;
  rescue_enabled: boolean;
  locked: boolean;
  backup_window: string | null;
  outgoing_traffic: number | null;
  ingoing_traffic: number | null;
  included_traffic: number | null;
  protection: { delete: boolean; rebuild: boolean };
  labels?: Labels | null;
  volumes: number[];
  load_balancers: number[];
  primary_disk_size: number;
  placement_group: unknown;
}

export interface SshKey {
  id: number;
  name: string;
  fingerprint: string;
  public_key: string;
  labels: Labels;
  created: string;
}

export interface FirewallRule {
  description: string | null;
  direction: string;
  source_ips: string[];
  destination_ips: string[];
  protocol: string;
  port: string | null;
}

export type FirewallTarget =
  | { type: "server"; server: { id: number } }
  | { type: "label_selector"; label_selector: { selector: string } };

export interface Firewall {
  id: number;
  name: string;
  labels: Labels;
  created: string;
  rules: FirewallRule[];
  applied_to: FirewallTarget[];
}

export interface Subnet {
  type: "cloud" | "server";
  ip_range: string;
  network_zone: string;
  gateway: string;
  vswitch_id: null;
}

export interface NetworkRoute {
  destination: string;
  gateway: string;
}

export interface Network {
  id: number;
  name: string;
  ip_range: string;
  subnets: Subnet[];
  routes: NetworkRoute[];
  servers: number[];
  load_balancers: number[];
  protection: { delete: boolean };
  labels: Labels;
  created: string;
  expose_routes_to_vswitch: boolean;
}

export interface PrivateNet {
  network: number;
  ip: string;
  alias_ips: string[];
  mac_address: string;
}

export interface Action {
  id: number;
  command: string;
  status: "running" | "success" | "error";
  progress: number;
  started: string;
  finished: string | null;
  resources: { id: number; type: string }[];
  error: { code: string; message: string } | null;
}

/** Unix milliseconds of a time as the API writes it; NaN for anything else that something was put in with. */
export function parseTimestamp(value: unknown): number {
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}

/** Hetzner's live time format: whole seconds and a numeric offset, never `Z`. */
export function toTimestamp(at_ms: number): string {
  return `${new Date(at_ms).toISOString().slice(0, 19)}+00:00`;
}
