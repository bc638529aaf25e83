import { ok, type Call, type Reply } from "./call.ts";
import { IMAGES, LOCATIONS, pricing, SERVER_TYPES } from "./catalogue.ts";
import { ApiError, notFound } from "./errors.ts";
import { filterValues, labelFilter, page, sorted } from "./lists.ts";
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
  return page(call, "server_types", byName(call, SERVER_TYPES), (type) => withStock(call.world.stock, type));
}

/** `GET /server_types/{id}`. Source: Hetzner API, Server Types. */
export function getServerType(call: Call): Reply {
  return ok({ server_type: withStock(call.world.stock, byId(call, "server type", SERVER_TYPES)) });
}

/** `GET /images`; deprecated ones only on demand. Source: Hetzner API, Images. */
export function listImages(call: Call): Reply {
  const query = call.url.searchParams;
  const types = filterValues(call, "type", ["system", "app", "snapshot", "backup"]);
  const statuses = filterValues(call, "status", ["available", "creating", "unavailable"]);
  const architectures = filterValues(call, "architecture", ["x86", "arm"]);
  const matches = labelFilter(call);
  const images = byName(call, IMAGES).filter(
    (image) =>
      (query.get("include_deprecated") === "true" || image.deprecation === null) &&
      (!query.has("bound_to") || query.getAll("bound_to").includes(String(image.bound_to))) &&
      (types?.includes(image.type) ?? true) &&
      (statuses?.includes(image.status) ?? true) &&
      (architectures?.includes(image.architecture) ?? true) &&
      matches(image.labels),
  );
  const fields = {
    id: (image: (typeof images)[number]) => image.id,
    name: (image: (typeof images)[number]) => image.name ?? "",
    created: (image: (typeof images)[number]) => image.created,
  };
  return page(call, "images", sorted(call, images, fields), (image) => image);
}

/** `GET /images/{id}`. Source: Hetzner API, Images. */
export function getImage(call: Call): Reply {
  return ok({ image: byId(call, "image", IMAGES) });
}

/** `GET /pricing`. Source: Hetzner API, Pricing. */
export function getPricing(call: Call): Reply {
  return ok({ pricing: pricing(call.world.currency) });
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
