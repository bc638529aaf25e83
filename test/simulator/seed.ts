import { findImage, findLocation, findServerType } from "./catalogue.ts";
import { blankServer } from "./create-server.ts";
import { ControlError } from "./errors.ts";
import { isId } from "./fields.ts";
import { isObject } from "./json.ts";
import { newPublicNet } from "./public-net.ts";
import { parseTimestamp, type Image, type Location, type Server, type ServerType } from "./resources.ts";
import type { ServerRecord } from "./server-record.ts";
import type { World } from "./world.ts";

/**
 * A server to put in as given. `server_type`, `location` and `image` may be names, known to the catalogue or not;
 * `created` and `labels` stay away when they are not given; everything else has a plain default.
 */
export interface ServerSeed extends Partial<Omit<Server, "server_type" | "location" | "image">> {
  server_type?: string | ServerType;
  location?: string | Location;
  image?: string | Image | null;
}

/** Whether the control plane can store this: id and name must be usable, the rest is taken on trust and served so. */
export function isServerSeed(value: unknown): value is ServerSeed {
  if (!isObject(value)) return false;
  const { id, name } = value;
  return (id === undefined || isId(id)) && (name === undefined || typeof name === "string");
}

/** Puts a server in as given, past all the API's checks. Its status stays until a power action changes it. */
export function addServer(world: World, seed: ServerSeed, now_ms: number): ServerRecord {
  const id = seed.id ?? world.next_id.server;
  if (world.servers.has(id)) throw new ControlError(`there is a server with the id ${id} already`);
  world.next_id.server = Math.max(world.next_id.server, id + 1);
  const born_ms = parseTimestamp(seed.created);
  const record: ServerRecord = {
    type: "server",
    view: seedView(world, id, seed),
    changes: [],
    actions: [],
    born_ms: Number.isNaN(born_ms) ? now_ms : born_ms,
    price_percent: world.price_percent,
    hidden_until_ms: -Infinity,
    user_data: null,
    ssh_keys: [],
  };
  world.servers.set(id, record);
  return record;
}

function seedView(world: World, id: number, seed: ServerSeed): Server {
  const { server_type, location, image, ...given } = seed;
  const type = seedType(typeof server_type === "string" ? server_type : "cx23");
  const place = seedLocation(typeof location === "string" ? location : "fsn1");
  const system = findImage(typeof image === "string" ? image : "debian-13", type.architecture) ?? null;
  return {
    ...blankServer(type, place, system),
    id,
    name: `server-${id}`,
    status: "running",
    public_net: newPublicNet(world, { enable_ipv4: true, enable_ipv6: true }),
    ...given,
    ...(typeof server_type === "object" && { server_type }),
    ...(typeof location === "object" && { location }),
    ...(typeof image === "object" && { image }),
  };
}

// A type that the catalogue has never heard of, or no longer: old servers keep theirs.
function seedType(name: string): ServerType {
  const found = findServerType(name) ?? findServerType("cx23");
  if (found === undefined) throw new ControlError("the catalogue has lost its cx23");
  if (found.name === name || String(found.id) === name) return found;
  return { ...found, id: 9_001, name, description: name.toUpperCase(), prices: [], locations: [] };
}

function seedLocation(name: string): Location {
  const blank = { id: 9_001, name, description: name, country: "DE", city: name, latitude: 0, longitude: 0 };
  return findLocation(name) ?? { ...blank, network_zone: "eu-central" };
}
