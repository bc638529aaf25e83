import * as z from "zod";
import type { ServerType } from "../machine/server-type.ts";
import { jsonText, parseFirst, sql, type Sql } from "./db.ts";

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
      priceEurPerHour: z.number().nullable(),
    }),
  ),
});

/** What a provider offered at that time, unix milliseconds. */
export interface Catalogue {
  readonly serverTypes: readonly ServerType[];
  readonly fetchedAt: number;
}

const catalogueRow: z.ZodType<Catalogue> = z
  .object({ server_types: jsonText(z.array(serverType)), fetched_at: z.int() })
  .transform((row) => ({ serverTypes: row.server_types, fetchedAt: row.fetched_at }));

/** The `catalogues` table: what each provider offers, as it last said. */
export function createCatalogueStore(db: Sql) {
  return {
    async read(provider: string): Promise<Catalogue | null> {
      return parseFirst(catalogueRow, await db.rows(sql("SELECT * FROM catalogues WHERE provider = ?", provider)));
    },

    async write(provider: string, { serverTypes, fetchedAt }: Catalogue): Promise<void> {
      await db.rows(
        sql(
          `INSERT INTO catalogues (provider, server_types, fetched_at) VALUES (?, ?, ?)
           ON CONFLICT (provider) DO UPDATE SET server_types = excluded.server_types, fetched_at = excluded.fetched_at`,
          provider,
          JSON.stringify(serverTypes),
          fetchedAt,
        ),
      );
    },
  };
}
