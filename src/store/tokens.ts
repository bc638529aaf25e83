import * as z from "zod";
import { sql } from "./db.ts";
import { parseFirst, selectPage } from "./rows.ts";
import { change, insertInto, query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A minted token as it is remembered: never its secret. */
export interface TokenRow {
  readonly id: string;
  readonly owner: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}

const tokenRow: z.ZodType<TokenRow> = z
  .object({
    id: z.string(),
    owner: z.string(),
    created_at: z.int(),
    expires_at: z.int(),
    revoked_at: z.int().nullable(),
  })
  .transform((row) => ({
    id: row.id,
    owner: row.owner,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }));

/** The `tokens` table. */
export function createTokenStore(db: Db) {
  return {
    async insert(row: TokenRow & { readonly secretSha256: string; readonly authEpoch: string }): Promise<void> {
      await db.write(
        insertInto("tokens", {
          id: row.id,
          owner: row.owner,
          secret_sha256: row.secretSha256,
          auth_epoch: row.authEpoch,
          created_at: row.createdAt,
          expires_at: row.expiresAt,
        }),
      );
    },

    /** The token of this secret, if it may be used now: not expired, not revoked, of this epoch. */
    async usable(secretSha256: string, authEpoch: string, now: number): Promise<TokenRow | null> {
      const rows = await db.read(
        query(
          `SELECT * FROM tokens WHERE secret_sha256 = ? AND auth_epoch = ? AND expires_at > ? AND revoked_at IS NULL`,
          secretSha256,
          authEpoch,
          now,
        ),
      );
      return parseFirst(tokenRow, rows);
    },

    /** One page, newest first, dead ones included, and how many there are. */
    list: (page: number, perPage: number) =>
      selectPage(db, tokenRow, { from: sql("tokens"), order: "created_at DESC, id", page, perPage }),

    /** Ends a token for good; a second time changes nothing. Null when there is none of this id. */
    async revoke(id: string, now: number): Promise<TokenRow | null> {
      const rows = await db.write(
        change(
          { head: "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?2)", where: "id = ?1", tail: "RETURNING *" },
          id,
          now,
        ),
      );
      return parseFirst(tokenRow, rows);
    },
  };
}
