import { LOCATIONS } from "./locations.ts";
import { price } from "./prices.ts";
import type { Deprecation, LocationPrice, ServerType, TypeLocation } from "./resources.ts";
import { SERVER_TYPE_ROWS, type ServerTypeRow } from "./server-type-rows.ts";

const TB_BYTES = 1_099_511_627_776;
const INCLUDED_TB: Record<string, number> = { ash: 1, hil: 1, sin: 0.5 };
const INCLUDED_TB_EU = 20;
const PRICE_PER_TB: Record<string, string> = { sin: "7.4000" };
const PRICE_PER_TB_ELSEWHERE = "1.0000";

function locationPrice([location, hourly, monthly]: [string, string, string]): LocationPrice {
  return {
    location,
    price_hourly: price(hourly),
    price_monthly: price(monthly),
    included_traffic: (INCLUDED_TB[location] ?? INCLUDED_TB_EU) * TB_BYTES,
    price_per_tb_traffic: price(PRICE_PER_TB[location] ?? PRICE_PER_TB_ELSEWHERE),
  };
}

function typeLocations(row: ServerTypeRow): TypeLocation[] {
  return LOCATIONS.filter(({ name }) => row.offered.includes(name)).map(({ id, name }) => {
    const deprecation: Deprecation | null = row.deprecations?.[name] ?? null;
    return { id, name, deprecation, available: true, recommended: row.recommended?.includes(name) ?? false };
  });
}

function serverType(row: ServerTypeRow): ServerType {
  return {
    id: row.id,
    name: row.name,
    description: row.name.toUpperCase(),
    cores: row.cores,
    memory: row.memory_gb,
    disk: row.disk_gb,
    deprecation: null,
    prices: row.prices.map(locationPrice),
    storage_type: "local",
    cpu_type: row.cpu,
    category: row.category,
    architecture: row.architecture,
    locations: typeLocations(row),
  };
}

/** All server types with everything in stock. Source: Hetzner API, Server Types. */
export const SERVER_TYPES: readonly ServerType[] = SERVER_TYPE_ROWS.map(serverType);

/** The server type with this name or id (as text). */
export function findServerType(nameOrId: string): ServerType | undefined {
  return SERVER_TYPES.find((type) => type.name === nameOrId || String(type.id) === nameOrId);
}
