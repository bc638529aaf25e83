// The life of a server from here on is a plan: 1 s initializing, 0.5 s starting, then running.
import { renderAction, startAction } from "./action-record.ts";
import { created, type Call, type Reply } from "./call.ts";
import { findImage, findLocation, findServerType } from "./catalogue.ts";
import { readCreateRequest, type CreateRequest } from "./create-request.ts";
import { ApiError, invalidField, notFound } from "./errors.ts";
import { refusePrimaryIps } from "./primary-ips.ts";
import { newPublicNet } from "./public-net.ts";
import { toTimestamp, type Image, type Location, type Server, type ServerType } from "./resources.ts";
import { renderServer, type ServerRecord } from "./server-record.ts";
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
  const image = chooseImage(request, type, now_ms);
  const location = chooseLocation(world, request, type, now_ms);
  for (const kind of request.absent) throw notFound(kind);
  refusePrimaryIps(world, request.primary_ips);
  refuseStartWithoutInterface(request);
  refuseTakenName(world, request.name);
  refuseOverLimit(world);
  if (!isOrderable(world.stock, type.name, location.name))
    throw new ApiError(412, "resource_unavailable", "error during placement");

  const record = newRecord(
    call,
    request,
    newServer(world, now_ms, request, withStock(world.stock, type), location, image),
  );
  world.servers.set(record.view.id, record);
  const { action, next_actions } = startCreateActions(call, request, record);
  return created({
    server: renderServer(record, now_ms),
    action: renderAction(action, now_ms),
    next_actions: next_actions.map((next) => renderAction(next, now_ms)),
    root_password: request.ssh_keys.length === 0 ? newPassword() : null,
  });
}

function chooseImage(request: CreateRequest, type: ServerType, now_ms: number): Image {
  const image = findImage(request.image, type.architecture);
  if (image === undefined) throw notFound("image");
  if (image.architecture !== type.architecture)
    throw new ApiError(422, "invalid_input", "image architecture does not match the server type");
  if (image.deprecation !== null && now_ms >= Date.parse(image.deprecation.unavailable_after))
    throw new ApiError(422, "invalid_input", `image ${image.name ?? image.id} is deprecated`);
  return image;
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
  if (request.enable_ipv4 || request.enable_ipv6 || !request.start_after_create) return;
  throw invalidField("public_net", "A server without any network interface cannot be started.");
}

/** Throws 409 if a server of the project, hidden ones included, has the name already. */
export function refuseTakenName(world: World, name: string, except_id?: number): void {
  for (const { view } of world.servers.values())
    if (view.name === name && view.id !== except_id)
      throw new ApiError(409, "uniqueness_error", "server name is already used", { fields: [{ name: "name" }] });
}

function refuseOverLimit(world: World): void {
  if (world.server_limit === null || world.servers.size < world.server_limit) return;
  throw new ApiError(403, "resource_limit_exceeded", "server limit exceeded", { limits: [{ name: "server_limit" }] });
}

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
    view,
    changes: [],
    actions: [],
    born_ms: call.now_ms,
    hidden_until_ms: call.effects.hide_ms > 0 ? call.now_ms + call.effects.hide_ms : -Infinity,
    user_data: request.user_data,
    ssh_keys: request.ssh_keys,
  };
}

// If either action fails, the server is still there, switched off, and billed.
function startCreateActions(call: Call, request: CreateRequest, record: ServerRecord) {
  const { world, now_ms } = call;
  const { failure } = call.effects;
  const ready_ms = now_ms + INITIALIZING_MS;
  const created_failure = failure?.command === "start_server" ? null : failure;
  const action = startAction(world, record, "create_server", now_ms, ready_ms, created_failure);
  if (!request.start_after_create || created_failure !== null) record.changes.push({ at_ms: ready_ms, status: "off" });
  if (!request.start_after_create) return { action, next_actions: [] };

  const running_ms = ready_ms + STARTING_MS;
  if (created_failure === null) {
    record.changes.push({ at_ms: ready_ms, status: "starting" });
    record.changes.push({ at_ms: running_ms, status: failure === null ? "running" : "off" });
  }
  return { action, next_actions: [startAction(world, record, "start_server", now_ms, running_ms, failure)] };
}

function newPassword(): string {
  const alphabet = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  const bytes = crypto.getRandomValues(new Uint8Array(PASSWORD_CHARACTERS));
  return Array.from(bytes, (byte) => alphabet.charAt(byte % alphabet.length)).join("");
}
