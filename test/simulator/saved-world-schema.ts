// What a saved project looks like. Views that somebody may have put in as given are taken on trust, as there.
import * as z from "zod";
import { parseFault } from "./control-input.ts";
import { isId } from "./fields.ts";
import { isObject } from "./json.ts";
import type { Image, Server } from "./resources.ts";

export const VERSION = 1;

const time = z.union([
  z.number(),
  z.literal("Infinity").transform(() => Infinity),
  z.literal("-Infinity").transform(() => -Infinity),
]);
const count = z.int().min(0);
const labels = z.record(z.string(), z.string());
const hasId = (value: unknown): boolean => isObject(value) && isId(value["id"]);

const action = z.object({
  id: z.int(),
  command: z.string(),
  started_ms: time,
  ends_ms: time,
  failure: z.object({ code: z.string(), message: z.string(), command: z.string().exactOptional() }).nullable(),
  hold: z.enum(["everything", "other actions", "nothing"]),
  resources: z.array(z.object({ id: z.int(), type: z.string() })),
});
const actions = z.array(z.int());
const named = { id: z.int(), name: z.string(), labels, created: z.string() };

const server = z.object({
  type: z.literal("server"),
  view: z.custom<Server>(hasId),
  changes: z.array(z.object({ at_ms: time, status: z.string() })),
  actions,
  born_ms: time,
  price_percent: z.number(),
  hidden_until_ms: time,
  user_data: z.string().nullable(),
  ssh_keys: z.array(z.union([z.string(), z.number()])),
});
const until = { pending_until_ms: time, until_ms: time };
const rule = z.object({
  description: z.string().nullable(),
  direction: z.string(),
  source_ips: z.array(z.string()),
  destination_ips: z.array(z.string()),
  protocol: z.string(),
  port: z.string().nullable(),
});
const firewall = z.object({
  type: z.literal("firewall"),
  view: z.object(named),
  rules: z.array(rule),
  servers: z.array(z.object({ server_id: z.int(), ...until })),
  selectors: z.array(z.object({ selector: z.string(), ...until })),
  actions,
});
const image = z.object({ type: z.literal("image"), view: z.custom<Image>(hasId), actions });
const networkState = z.object({
  at_ms: time,
  state: z.object({
    ip_range: z.string(),
    subnets: z.array(
      z.object({
        type: z.enum(["cloud", "server"]),
        ip_range: z.string(),
        network_zone: z.string(),
        gateway: z.string(),
        vswitch_id: z.null(),
      }),
    ),
    routes: z.array(z.object({ destination: z.string(), gateway: z.string() })),
    protection: z.object({ delete: z.boolean() }),
  }),
});
const network = z.object({
  type: z.literal("network"),
  view: z.object({ ...named, expose_routes_to_vswitch: z.boolean() }),
  states: z.tuple([networkState], networkState),
  attachments: z.array(
    z.object({
      server_id: z.int(),
      ip: z.string(),
      alias_ips: z.array(z.string()),
      mac_address: z.string(),
      attached_ms: time,
      until_ms: time,
    }),
  ),
  actions,
});
const sshKey = z.object({ view: z.object({ ...named, fingerprint: z.string(), public_key: z.string() }) });
const stockEntry = z.object({
  server_type: z.string(),
  location: z.string(),
  available: z.boolean(),
  orderable: z.boolean(),
});
const fault = z.object({ fault: z.looseObject({ times: time.exactOptional() }).transform(parseFault), seen: count });

export const savedWorld = z.object({
  version: z.literal(VERSION, `it is of another version than ${VERSION}`),
  advanced_ms: z.number(),
  server_limit: count.nullable(),
  primary_ip_limit: count.nullable(),
  currency: z.string(),
  price_percent: z.number(),
  actions: z.array(action),
  servers: z.array(server),
  deleted: z.array(z.object({ record: server, deleted_ms: z.number() })),
  firewalls: z.array(firewall),
  images: z.array(image),
  networks: z.array(network),
  ssh_keys: z.array(sshKey),
  stock: z.array(stockEntry),
  faults: z.array(fault),
  rate_limit: z.object({ limit: z.int().min(1), remaining: count }),
  next_id: z.object({
    server: z.int(),
    action: z.int(),
    primary_ip: z.int(),
    ssh_key: z.int(),
    firewall: z.int(),
    network: z.int(),
    image: z.int(),
  }),
});
