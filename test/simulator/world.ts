import type { ActionRecord } from "./action-record.ts";
import type { FaultRecord } from "./faults.ts";
import type { FirewallRecord } from "./firewall-record.ts";
import type { ImageRecord } from "./image-record.ts";
import type { NetworkRecord } from "./network-record.ts";
import { RateLimit } from "./rate-limit.ts";
import type { ServerRecord } from "./server-record.ts";
import type { SshKeyRecord } from "./ssh-keys.ts";
import type { Stock } from "./stock.ts";

/** What a reset may set; everything else starts empty. */
export interface ResetOptions {
  /** Most servers, and most addresses of both kinds, that the project may hold; without one there is no limit. */
  limits?: { servers?: number | null; primary_ips?: number | null };
  /** Requests per hour, 3600 by default. */
  rate_limit?: number;
  /** ISO 4217, EUR by default. */
  currency?: string;
}

/** One API request since the last reset; `status` is 0 while it is running and for a dropped connection. */
export interface RequestEntry {
  method: string;
  /** With `/v1`. */
  path: string;
  /** Without the question mark. */
  query: string;
  status: number;
}

/** A server as it was when it was deleted. */
export interface DeletedServer {
  record: ServerRecord;
  deleted_ms: number;
}

/** The whole project: what a reset throws away. */
export interface World {
  /** How far its clock has been moved ahead of the real one. */
  advanced_ms: number;
  server_limit: number | null;
  primary_ip_limit: number | null;
  currency: string;
  /** What new orders cost, in percent of the catalogue's prices. */
  price_percent: number;
  servers: Map<number, ServerRecord>;
  /** Servers that were deleted: what they cost stays on the bill. */
  deleted: DeletedServer[];
  /** Actions outlive the servers they were about. */
  actions: Map<number, ActionRecord>;
  firewalls: Map<number, FirewallRecord>;
  /** The project's own ones, without Hetzner's. */
  images: Map<number, ImageRecord>;
  networks: Map<number, NetworkRecord>;
  ssh_keys: Map<number, SshKeyRecord>;
  stock: Stock;
  faults: FaultRecord[];
  requests: RequestEntry[];
  rate_limit: RateLimit;
  next_id: NextId;
}

/** Each kind has a range of its own, so that a client that mixes ids up is found out. */
export interface NextId {
  server: number;
  action: number;
  primary_ip: number;
  ssh_key: number;
  firewall: number;
  network: number;
  image: number;
}

/** Ids from `server` on: a world that follows another one starts where that ended, because an id is never used twice. */
export const idsFrom = (server: number): NextId => ({
  server,
  action: server + 499_900,
  primary_ip: server + 69_900,
  ssh_key: server + 19_900,
  firewall: server + 29_900,
  network: server + 39_900,
  // Hetzner's own images are in the range below.
  image: server + 399_999_900,
});

const REQUESTS_PER_HOUR = 3600;

/** An empty project. */
export function createWorld(options: ResetOptions, now_ms: number, next_id: NextId): World {
  return {
    advanced_ms: 0,
    server_limit: options.limits?.servers ?? null,
    primary_ip_limit: options.limits?.primary_ips ?? null,
    currency: options.currency ?? "EUR",
    price_percent: 100,
    servers: new Map(),
    deleted: [],
    actions: new Map(),
    firewalls: new Map(),
    images: new Map(),
    networks: new Map(),
    ssh_keys: new Map(),
    stock: new Map(),
    faults: [],
    requests: [],
    rate_limit: new RateLimit(options.rate_limit ?? REQUESTS_PER_HOUR, now_ms),
    next_id,
  };
}
