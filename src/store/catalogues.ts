import { toMicroEur } from "../machine/money.ts";
import type { RegionOffer, ServerType } from "../machine/server-type.ts";
import {
  intOf,
  intOrNull,
  jsonOf,
  listOf,
  numberOf,
  textOf,
  textOrNull,
  truthOf,
  type Reader,
  type Row,
} from "./columns.ts";
import { StoreError } from "./db.ts";
import { parseFirst } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What a provider offered at that time, unix milliseconds. */
export interface Catalogue {
  readonly serverTypes: readonly ServerType[];
  readonly fetchedAt: number;
  /** The currency that the project pays in, where that was said, and the fingerprint of the credential under which it was. */
  readonly currency: string | null;
  readonly credential: string | null;
}

/** A row of `catalogues`: the types of all regions are much to read, and each create reads them. */
export const catalogueRow: Reader<Catalogue> = (row) => ({
  serverTypes: listOf(jsonOf(row, "server_types"), serverType),
  fetchedAt: intOf(row, "fetched_at"),
  currency: textOrNull(row, "currency"),
  credential: textOrNull(row, "credential"),
});
/** One that cannot be read is as good as none: it is asked for anew, and replaced. */
const ifReadable: Reader<Catalogue | null> = (row) => {
  try {
    return catalogueRow(row);
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
};
const serverType: Reader<ServerType> = (type) => ({
  name: textOf(type, "name"),
  arch: textOf(type, "arch"),
  cores: numberOf(type, "cores"),
  memoryGb: numberOf(type, "memoryGb"),
  regions: listOf(type["regions"], regionOffer),
});
const regionOffer: Reader<RegionOffer> = (region) => ({
  region: textOf(region, "region"),
  available: truthOf(region, "available"),
  unavailableAfter: intOrNull(region, "unavailableAfter"),
  deprecated: truthOf(region, "deprecated"),
  priceEurPerHour: euroOf(region, "priceEurPerHour"),
  priceEurPerMonth: euroOf(region, "priceEurPerMonth"),
  ipv4EurPerHour: euroOf(region, "ipv4EurPerHour"),
  ipv4EurPerMonth: euroOf(region, "ipv4EurPerMonth"),
});
/** What was written before it had these has none. */
const euroOf = (region: Row, key: string): number | null =>
  (region[key] ?? null) === null ? null : numberOf(region, key);

/** The `catalogues` table: what each provider offers, as it last said. */
export function createCatalogueStore(db: Db) {
  return {
    async read(provider: string): Promise<Catalogue | null> {
      return parseFirst(ifReadable, await db.read(query("SELECT * FROM catalogues WHERE provider = ?", provider)));
    },

    async write(provider: string, { serverTypes, fetchedAt, currency, credential }: Catalogue): Promise<void> {
      const said = {
        server_types: JSON.stringify(serverTypes),
        fetched_at: fetchedAt,
        currency,
        credential,
        dearest_micro_eur: dearestOf(serverTypes, ({ priceEurPerHour }) => priceEurPerHour),
        dearest_ipv4_micro_eur: dearestOf(serverTypes, ({ ipv4EurPerHour }) => ipv4EurPerHour),
      };
      const changes = Object.keys(said).map((column) => `${column} = excluded.${column}`);
      const tail = `ON CONFLICT (provider) DO UPDATE SET ${changes.join(", ")}`;
      await db.write(insertInto("catalogues", { provider, ...said }, { tail }));
    },
  };
}

/** As what an unknown price counts: the dearest that is known, micro-EUR; null where none is. */
const dearestOf = (types: readonly ServerType[], priceOf: (offer: RegionOffer) => number | null): number | null =>
  types
    .flatMap(({ regions }) => regions.map((offer) => toMicroEur(priceOf(offer))))
    .reduce((most, one) => (most === null || (one !== null && one > most) ? one : most), null);
