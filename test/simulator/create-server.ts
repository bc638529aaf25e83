// The life of a server from here on is a plan: 1 s initializing, 0.5 s starting, then running.
import { failureOf, renderAction, startAction } from "./action-record.ts";
import { created, type Call, type Reply } from "./call.ts";
import { findLocation, findServerType } from "./catalogue.ts";
import { chooseImage } from "./choose-image.ts";
import { chooseAttachments, startAttachments, type Attachments } from "./create-attachments.ts";
import { readCreateRequest, type CreateRequest } from "./create-request.ts";
import { ApiError, invalidField, notFound } from "./errors.ts";
import { refuseTaken } from "./lookup.ts";
import { countPrimaryIps, refusePrimaryIps } from "./primary-ips.ts";
import { newPublicNet } from "./public-net.ts";
import { toTimestamp, type Image, type Location, type Server, type ServerType } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import { renderServer } from "./server-view.ts";
import { refuseUnknownSshKeys } from "./ssh-keys.ts";
import { isOrderable, withStock } from "./stock.ts";
import type { World } from "./world.ts";

const INITIALIZING_MS = 1000;
const STARTING_MS = 500;
const PASSWORD_CHARACTERS = 20;

/** `POST /servers`. Source: Hetzner API, Servers. */
export function createServer(call: Call): Reply {
  const request = readCreateRequest(call.body);
  const { world, now_ms } = call;
  const type = findServerType(request.server_type);
  if (type === undefined) throw notFound("server type");
  const image = chooseImage(call, request.image, type);
  const location = chooseLocation(world, request, type, now_ms);
  for (const kind of request.absent) throw notFound(kind);
  const attachments = chooseAttachments(call, request, location.network_zone);
  refuseUnknownSshKeys(world, request.ssh_keys);
  refusePrimaryIps(world, request.primary_ips);
  refuseStartWithoutInterface(request);
  refuseTaken("server ", world.servers.values(), request.name);
  refuseOverLimit(world, request);
  if (!isOrderable(world.stock, type.name, location.name))
    throw new ApiError(412, "resource_unavailable", "error during placement");

  const record = newRecord(
    call,
    request,
    newServer(world, now_ms, request, withStock(world.stock, type), location, image),
  );
  world.servers.set(record.view.id, record);
  const { action, next_actions } = startCreateActions(call, request, record, attachments);
  return created({
    server: renderServer(world, record, now_ms),
    action: renderAction(action, now_ms),
    next_actions: next_actions.map((next) => renderAction(next, now_ms)),
    root_password: request.ssh_keys.length === 0 ? newPassword() : null,
  });
}

function chooseLocation(world: World, request: CreateRequest, type: ServerType, now_ms: number): Location {
  const current = type.locations.filter(
    ({ deprecation }) => deprecation === null || now_ms < Date.parse(deprecation.unavailable_after),
  );
  const placed = current.find(({ name }) => isOrderable(world.stock, type.name, name)) ?? current[0];
  const location = findLocation(request.location ?? placed?.name ?? "");
  if (location === undefined) throw notFound("location");
  if (!type.locations.some(({ name }) => name === location.name))
    throw new ApiError(422, "invalid_input", "unsupported location for server type");
  if (!current.some(({ name }) => name === location.name))
    throw new ApiError(422, "invalid_input", `server type ${type.id} is deprecated`);
  return location;
}

// The documented reason is that a server needs an interface to be powered on; hcloud-go does not even send this.
function refuseStartWithoutInterface(request: CreateRequest): void {
  if (request.enable_ipv4 || request.enable_ipv6 || request.networks.length > 0 || !request.start_after_create) return;
  throw invalidField("public_net", "A server without any network interface cannot be started.");
}

function refuseOverLimit(world: World, { enable_ipv4, enable_ipv6 }: CreateRequest): void {
  if (world.servers.size >= (world.server_limit ?? Infinity)) throw overLimit("server");
  const addresses = countPrimaryIps(world) + Number(enable_ipv4) + Number(enable_ipv6);
  if (addresses > (world.primary_ip_limit ?? Infinity)) throw overLimit("primary_ip");
}

const overLimit = (kind: string): ApiError =>
  new ApiError(403, "resource_limit_exceeded", `${kind.replace("_", " ")} limit exceeded`, {
    limits: [{ name: `${kind}_limit` }],
  });

function newServer(
  world: World,
  now_ms: number,
  request: CreateRequest,
  server_type: ServerType,
  location: Location,
  image: Image,
): Server {
  return {
    ...blankServer(server_type, location, image),
    id: world.next_id.server++,
    name: request.name,
    created: toTimestamp(now_ms),
    public_net: newPublicNet(world, request),
    labels: request.labels,
  };
}

/** A server with nothing attached, for callers to complete. */
export function blankServer(server_type: ServerType, location: Location, image: Image | null) {
  const price = server_type.prices.find((candidate) => candidate.location === location.name);
  return {
    status: "initializing",
    private_net: [],
    server_type,
    location,
    image,
    iso: null,
    rescue_enabled: false,
    locked: false,
    backup_window: null,
    outgoing_traffic: null,
    ingoing_traffic: null,
    included_traffic: price?.included_traffic ?? null,
    protection: { delete: false, rebuild: false },
    volumes: [],
    load_balancers: [],
    primary_disk_size: server_type.disk,
    placement_group: null,
  };
}

function newRecord(call: Call, request: CreateRequest, view: Server): ServerRecord {
  return {
    type: "server",
    view,
    changes: [],
    actions: [],
    born_ms: call.now_ms,
    price_percent: call.world.price_percent,
    hidden_until_ms: call.effects.hide_ms > 0 ? call.now_ms + call.effects.hide_ms : -Infinity,
    user_data: request.user_data,
    ssh_keys: request.ssh_keys,
  };
}

// If any of these actions fails, the server is still there, switched off, and billed.
function startCreateActions(call: Call, request: CreateRequest, record: ServerRecord, attachments: Attachments) {
  const { world, now_ms: started_ms, effects } = call;
  const ready_ms = started_ms + INITIALIZING_MS;
  const running_ms = ready_ms + STARTING_MS;
  // A server that is being created or started can be deleted at once.
  const hold = "other actions";
  const failure = failureOf(effects.failure, "create_server");
  const action = startAction(world, [record], {
    command: "create_server",
    started_ms,
    ends_ms: ready_ms,
    failure,
    hold,
  });
  const next_actions = startAttachments(call, record, attachments, action);
  if (!request.start_after_create) {
    record.changes.push({ at_ms: ready_ms, status: "off" });
    return { action, next_actions };
  }

  const stays_off = failure ?? failureOf(effects.failure, "start_server");
  const plan = { command: "start_server", started_ms, ends_ms: running_ms, failure: stays_off, hold } as const;
  record.changes.push({ at_ms: ready_ms, status: failure === null ? "starting" : "off" });
  record.changes.push({ at_ms: running_ms, status: stays_off === null ? "running" : "off" });
  return { action, next_actions: [...next_actions, startAction(world, [record], plan)] };
}

/** How every root password begins, so that one is known wherever it turns up. */
export const ROOT_PASSWORD = "simulated-root-";

function newPassword(): string {
  const alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  const bytes = crypto.getRandomValues(new Uint8Array(PASSWORD_CHARACTERS - ROOT_PASSWORD.length));
  return ROOT_PASSWORD + Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join("");
}
