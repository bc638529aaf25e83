import type * as z from "zod";
import { parseTimestamp } from "../../machine/age.ts";
import type { Prices } from "../../machine/money.ts";
import type { ServerType } from "../../machine/server-type.ts";
import type { PageOptions } from "../capabilities.ts";
import type { Client } from "./client.ts";
import { archOf, pricesAt, type Payer } from "./machine.ts";
import { listAll } from "./resources.ts";
import { serverType } from "./schema.ts";

/** Every server type of the API, all pages or an error (S93). */
export const listServerTypes = async (call: Client, payer: Payer, pages?: PageOptions): Promise<ServerType[]> =>
  (await listAll(call, "server_types", serverType, pages)).map((type) => toServerType(type, payer));

function toServerType(type: TypeJson, payer: Payer): ServerType {
  return {
    name: type.name,
    arch: archOf(type.architecture),
    cores: type.cores,
    memoryGb: type.memory,
    regions: type.locations
      .filter((location) => location !== null)
      .map((location) => toOffer(location, pricesAt(type.prices, location.name, payer))),
  };
}

const toOffer = ({ name, available, deprecation }: NonNullable<TypeJson["locations"][number]>, prices: Prices) => ({
  region: name,
  available,
  // The type's own `deprecation` is being phased out; the location's decides (S91).
  deprecated: (deprecation ?? null) !== null,
  unavailableAfter: parseTimestamp(deprecation?.unavailable_after),
  ...prices,
});

type TypeJson = z.infer<typeof serverType>;
