import { sql } from "./db.ts";
import { eventOfToken } from "./events.ts";
import { intOf, intOrNull, textOf, type Reader } from "./columns.ts";
import { parseFirst, selectPage } from "./rows.ts";
import { change, insertInto, query, type Change, type Query } from "./statements.ts";
import type { Db } from "./writer.ts";

/** A minted token as it is remembered: never its secret. */
export interface TokenRow {
  readonly id: string;
  readonly owner: string;
  readonly policy: string;
  readonly note: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** To the hour; null where nobody has used it. */
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** A token that is about to be written down. */
export interface NewToken extends Omit<TokenRow, "lastUsedAt" | "revokedAt"> {
  readonly secretSha256: string;
  readonly authEpoch: string;
  /** What a repeated order is known by, and until when. */
  readonly idempotency: { readonly sha256: string; readonly until: number } | null;
}

/** A row of `tokens` as D1 returns it, in the domain's words. */
export const tokenRow: Reader<TokenRow> = (row) => ({
  id: textOf(row, "id"),
  owner: textOf(row, "owner"),
  policy: textOf(row, "policy"),
  note: textOf(row, "note"),
  createdAt: intOf(row, "created_at"),
  expiresAt: intOf(row, "expires_at"),
  lastUsedAt: intOrNull(row, "last_used_at"),
  revokedAt: intOrNull(row, "revoked_at"),
});

/** A token in the hands of who shows its secret. */
export interface HeldToken {
  readonly token: TokenRow;
  /** Not expired, not revoked, of this epoch. */
  readonly isUsable: boolean;
}

export const heldToken: Reader<HeldToken> = (row) => ({
  token: tokenRow(row),
  isUsable: intOf(row, "is_usable") === 1,
});

/** Not expired, not revoked, of this epoch: `?2` is the epoch, `?3` now. */
const USABLE = "auth_epoch = ?2 AND expires_at > ?3 AND revoked_at IS NULL";

/** Decided in the insert itself, so that of two orders under one key exactly one makes a token. */
const KEY_IS_TAKEN = `SELECT 1 FROM tokens
  WHERE tokens.idempotency_sha256 = new.idempotency_sha256 AND tokens.idempotency_until > new.created_at`;

/** The `tokens` table. A method that changes rows says what it is guarded by; a lost guard changes nothing. */
export function createTokenStore(db: Db) {
  const first = async (asked: Query): Promise<TokenRow | null> => parseFirst(tokenRow, await db.read(asked));
  /** A change of a token that then has a new secret, and the event of it. */
  async function minted(made: Change, id: string, now: number): Promise<TokenRow | null> {
    const [rows] = await db.batch([made, eventOfToken(db, "token_minted", { id, at: now }, "changes() > 0")]);
    return parseFirst(tokenRow, rows ?? []);
  }
  return {
    /** Null where a token has this idempotency key already. */
    insert: ({ idempotency, ...row }: NewToken): Promise<TokenRow | null> =>
      minted(
        insertInto(
          "tokens",
          {
            id: row.id,
            owner: row.owner,
            policy: row.policy,
            note: row.note,
            secret_sha256: row.secretSha256,
            auth_epoch: row.authEpoch,
            created_at: row.createdAt,
            expires_at: row.expiresAt,
            idempotency_sha256: idempotency?.sha256 ?? null,
            idempotency_until: idempotency?.until ?? null,
          },
          { unless: KEY_IS_TAKEN, tail: "RETURNING *" },
        ),
        row.id,
        row.createdAt,
      ),

    /** The token that was ordered under an idempotency key which still counts. */
    byIdempotency: (sha256: string, now: number): Promise<TokenRow | null> =>
      first(query("SELECT * FROM tokens WHERE idempotency_sha256 = ? AND idempotency_until > ?", sha256, now)),

    /** Puts a new secret in the old one's place. Guarded by the token being usable; null where it is not. */
    replaceSecret: (id: string, secretSha256: string, authEpoch: string, now: number): Promise<TokenRow | null> =>
      minted(
        change(
          { head: "UPDATE tokens SET secret_sha256 = ?4", where: `id = ?1 AND ${USABLE}`, tail: "RETURNING *" },
          id,
          authEpoch,
          now,
          secretSha256,
        ),
        id,
        now,
      ),

    /** Notes that a token is in use. Guarded by nobody having noted it since `before`, so that of many uses one is written. */
    async noteUse(id: string, now: number, before: number): Promise<void> {
      const where = "id = ?1 AND coalesce(last_used_at, 0) <= ?3";
      await db.write(change({ head: "UPDATE tokens SET last_used_at = ?2", where }, id, now, before));
    },

    /** One page, newest first, dead ones included. */
    list: (page: number, perPage: number) =>
      selectPage(db, tokenRow, { from: sql("tokens"), order: "created_at DESC, id", page, perPage }),

    /** Ends a token for good; a second time changes nothing. Null when there is none of this id. */
    async revoke(id: string, now: number): Promise<TokenRow | null> {
      const [, rows] = await db.batch([
        eventOfToken(db, "token_revoked", { id, at: now }, "revoked_at IS NULL"),
        change(
          { head: "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?2)", where: "id = ?1", tail: "RETURNING *" },
          id,
          now,
        ),
      ]);
      return parseFirst(tokenRow, rows ?? []);
    },
  };
}
