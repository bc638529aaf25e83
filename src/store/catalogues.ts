import * as z from "zod";
import { toMicroEur } from "../machine/money.ts";
import type { RegionOffer, ServerType } from "../machine/server-type.ts";
import { intOf, jsonAs, type Reader } from "./columns.ts";
import { parseFirst } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What was written before it had these has none. */
const price = z.number().nullable().default(null);

const offered: z.ZodType<ServerType[]> = z.array(
  z.object({
    name: z.string(),
    arch: z.string(),
    cores: z.number(),
    memoryGb: z.number(),
    regions: z.array(
      z.object({
        region: z.string(),
        available: z.boolean(),
        unavailableAfter: z.int().nullable(),
        deprecated: z.boolean(),
        priceEurPerHour: price,
        priceEurPerMonth: price,
        ipv4EurPerHour: price,
        ipv4EurPerMonth: price,
      }),
    ),
  }),
);

/** What a provider offered at that time, unix milliseconds. */
export interface Catalogue {
  readonly serverTypes: readonly ServerType[];
  readonly fetchedAt: number;
}

const catalogueRow: Reader<Catalogue> = (row) => ({
  serverTypes: jsonAs(row, "server_types", offered),
  fetchedAt: intOf(row, "fetched_at"),
});

/** The `catalogues` table: what each provider offers, as it last said. */
export function createCatalogueStore(db: Db) {
  return {
    async read(provider: string): Promise<Catalogue | null> {
      return parseFirst(catalogueRow, await db.read(query("SELECT * FROM catalogues WHERE provider = ?", provider)));
    },

    async write(provider: string, { serverTypes, fetchedAt }: Catalogue): Promise<void> {
      const said = {
        server_types: JSON.stringify(serverTypes),
        fetched_at: fetchedAt,
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
