import { ControlError } from "./errors.ts";
import type { ServerType, TypeLocation } from "./resources.ts";
import { SERVER_TYPES } from "./server-types.ts";

/** What the catalogue says (`available`) and what a create meets (`orderable`): they differ at Hetzner too. */
export interface StockEntry {
  server_type: string;
  location: string;
  available: boolean;
  orderable: boolean;
}

/** A change of stock; without a type or a location it is about all of them. */
export interface StockChange {
  server_type?: string;
  location?: string;
  available?: boolean;
  orderable?: boolean;
}

/** Overrides of the stock by "type/location"; what is not in here is available and orderable. */
export type Stock = Map<string, StockEntry>;

const key = (server_type: string, location: string): string => `${server_type}/${location}`;

/** Applies a change to every offered pair that it names and gives these back; throws if it names none. */
export function changeStock(stock: Stock, change: StockChange): StockEntry[] {
  const changed = SERVER_TYPES.filter((type) => (change.server_type ?? type.name) === type.name).flatMap((type) =>
    type.locations
      .filter((location) => (change.location ?? location.name) === location.name)
      .map((location) => changeEntry(stock, type.name, location.name, change)),
  );
  if (changed.length > 0) return changed;
  throw new ControlError(
    `no server type ${change.server_type ?? "at all"} is offered in ${change.location ?? "any location"}`,
  );
}

function changeEntry(stock: Stock, server_type: string, location: string, change: StockChange): StockEntry {
  const before = stock.get(key(server_type, location));
  const entry = {
    server_type,
    location,
    available: change.available ?? before?.available ?? true,
    orderable: change.orderable ?? before?.orderable ?? true,
  };
  stock.set(key(server_type, location), entry);
  return entry;
}

/** Whether a create of this type in this location would find a free host. */
export function isOrderable(stock: Stock, server_type: string, location: string): boolean {
  return stock.get(key(server_type, location))?.orderable ?? true;
}

/** The server type as the catalogue shows it with this stock. */
export function withStock(stock: Stock, type: ServerType): ServerType {
  if (stock.size === 0) return type;
  const locations = type.locations.map((location): TypeLocation => {
    return { ...location, available: stock.get(key(type.name, location.name))?.available ?? location.available };
  });
  return { ...type, locations };
}
