import * as z from "zod";
import { toMicroEur } from "../machine/money.ts";
import type { RegionOffer, ServerType } from "../machine/server-type.ts";
import { jsonText, parseFirst } from "./rows.ts";
import { insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** What was written before it had these has none. */
const price = z.number().nullable().default(null);

const serverType: z.ZodType<ServerType> = z.object({
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
});

/** What a provider offered at that time, unix milliseconds. */
export interface Catalogue {
  readonly serverTypes: readonly ServerType[];
  readonly fetchedAt: number;
  /** The currency that the project pays in, where that was said, and the fingerprint of the credential under which it was. */
  readonly currency: string | null;
  readonly credential: string | null;
}

const text = z.string().nullable();
const catalogueRow: z.ZodType<Catalogue> = z
  .object({ server_types: jsonText(z.array(serverType)), fetched_at: z.int(), currency: text, credential: text })
  .transform(({ server_types: serverTypes, fetched_at: fetchedAt, ...row }) => ({ serverTypes, fetchedAt, ...row }));

/** The `catalogues` table: what each provider offers, as it last said. */
export function createCatalogueStore(db: Db) {
  return {
    async read(provider: string): Promise<Catalogue | null> {
      return parseFirst(catalogueRow, await db.read(query("SELECT * FROM catalogues WHERE provider = ?", provider)));
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
