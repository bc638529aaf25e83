import type * as z from "zod";
import { parseTimestamp } from "../../machine/age.ts";
import type { ServerType } from "../../machine/server-type.ts";
import type { PageOptions } from "../capabilities.ts";
import type { Client } from "./client.ts";
import { archOf, priceAt } from "./machine.ts";
import { listAll } from "./resources.ts";
import { serverType } from "./schema.ts";

/** Every server type of the API, all pages or an error (S93). `inEuro`: whether its prices are known to be in EUR. */
export const listServerTypes = async (call: Client, inEuro: boolean, pages?: PageOptions): Promise<ServerType[]> =>
  (await listAll(call, "server_types", serverType, pages)).map((type) => toServerType(type, inEuro));

function toServerType(type: z.infer<typeof serverType>, inEuro: boolean): ServerType {
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
