import { parseTimestamp } from "../../machine/age.ts";
import type { ServerType } from "../../machine/server-type.ts";
import { DriverError } from "../driver.ts";
import type { Client } from "./client.ts";
import { archOf, priceAt } from "./machine.ts";
import { serverTypePage, type ServerTypePage } from "./schema.ts";

const PER_PAGE = 50;
const MAX_PAGES = 20;

/** Every server type of the API, all pages or an error (S93). `inEuro`: whether its prices are known to be in EUR. */
export async function listServerTypes(call: Client, inEuro: boolean): Promise<ServerType[]> {
  const types: ServerType[] = [];
  for (let page = 1; ;) {
    const path = `/server_types?page=${page}&per_page=${PER_PAGE}`;
    const answer = await call({ method: "GET", path, answer: serverTypePage });
    types.push(...answer.server_types.map((type) => toServerType(type, inEuro)));
    const next = answer.meta.pagination.next_page;
    if (next === null) return types;
    if (next <= page || next > MAX_PAGES)
      throw new DriverError("unexpected", `the provider's list of types does not end: ${page} is followed by ${next}`);
    page = next;
  }
}

function toServerType(type: ServerTypePage["server_types"][number], inEuro: boolean): ServerType {
  return {
    name: type.name,
    arch: archOf(type.architecture),
    cores: type.cores,
    memoryGb: type.memory,
    regions: type.locations
      .filter((location) => location !== null)
      .map(({ name, available, deprecation }) => ({
        region: name,
        available,
        // The type's own `deprecation` is being phased out; the location's decides (S91).
        deprecated: (deprecation ?? null) !== null,
        unavailableAfter: parseTimestamp(deprecation?.unavailable_after),
        priceEurPerHour: inEuro ? priceAt(type.prices, name) : null,
      })),
  };
}
