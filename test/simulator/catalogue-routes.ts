import { ok, type Call, type Reply } from "./call.ts";
import { LOCATIONS, pricing, SERVER_TYPES } from "./catalogue.ts";
import { ApiError, notFound } from "./errors.ts";
import { page, sorted } from "./lists.ts";
import { priced } from "./prices.ts";
import type { ServerType } from "./resources.ts";
import { withStock } from "./stock.ts";

const DATACENTERS_ANNOUNCEMENT = "https://docs.hetzner.cloud/changelog#2026-10-01-datacenters-removed";

/** `GET /locations`. Source: Hetzner API, Locations. */
export function listLocations(call: Call): Reply {
  const fields = { id: (item: { id: number }) => item.id, name: (item: { name: string }) => item.name };
  return page(call, "locations", sorted(call, byName(call, LOCATIONS), fields), (location) => location);
}

/** `GET /locations/{id}`. Source: Hetzner API, Locations. */
export function getLocation(call: Call): Reply {
  return ok({ location: byId(call, "location", LOCATIONS) });
}

/** `GET /server_types`; it has no `sort`, though clients send one. Source: Hetzner API, Server Types. */
export function listServerTypes(call: Call): Reply {
  return page(call, "server_types", byName(call, SERVER_TYPES), (type) => shown(call, type));
}

/** `GET /server_types/{id}`. Source: Hetzner API, Server Types. */
export function getServerType(call: Call): Reply {
  return ok({ server_type: shown(call, byId(call, "server type", SERVER_TYPES)) });
}

/** A server type as it can be ordered now. */
function shown({ world }: Call, type: ServerType): ServerType {
  return priced(withStock(world.stock, type), world.price_percent);
}

/** `GET /pricing`. Source: Hetzner API, Pricing. */
export function getPricing(call: Call): Reply {
  return ok({ pricing: pricing(call.world) });
}

/** A list of a kind of resource of which the project holds none. */
export function emptyList(key: string): (call: Call) => Reply {
  return (call) => page(call, key, [], (item) => item);
}

/** `GET /datacenters` and below: removed on 2026-10-01. Source: Hetzner API, Data Centers. */
export function datacentersAreGone(): Reply {
  throw new ApiError(410, "deprecated_api_endpoint", "The datacenters endpoints have been removed, use locations.", {
    announcement: DATACENTERS_ANNOUNCEMENT,
  });
}

function byName<Item extends { name: string | null }>(call: Call, items: readonly Item[]): Item[] {
  const name = call.url.searchParams.get("name");
  return items.filter((item) => name === null || item.name === name);
}

function byId<Item extends { id: number }>(call: Call, what: string, items: readonly Item[]): Item {
  const found = items.find((item) => item.id === call.ids[0]);
  if (found === undefined) throw notFound(what);
  return found;
}
