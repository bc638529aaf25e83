import { sql, type Statement } from "./db.ts";
import { query, type Query } from "./statements.ts";

/** Whoever holds a minted token that may be used at `now`, unix milliseconds: not expired, not revoked, of this epoch. */
export interface Holder {
  readonly secretSha256: string;
  readonly authEpoch: string;
  readonly now: number;
}

/** Whose rows are meant: an owner's, by its key; or before that is known, those of whoever holds a token. */
export type Whose = string | Holder;

const USABLE = "tokens.auth_epoch = ? AND tokens.expires_at > ? AND tokens.revoked_at IS NULL";
/** A token's row, where it may be used by who holds it. */
const HELD = `tokens.secret_sha256 = ? AND ${USABLE}`;
const paramsOf = ({ secretSha256, authEpoch, now }: Holder) => [secretSha256, authEpoch, now];

/** Finds the holder's token, also one that may not be used; `is_usable` tells. */
export const ofHolder = ({ secretSha256, authEpoch, now }: Holder): Query =>
  query(`SELECT *, ${USABLE} AS is_usable FROM tokens WHERE tokens.secret_sha256 = ?`, authEpoch, now, secretSha256);

/** A condition on the column `owner`. Of a token that may not be used there is no owner, and so no row. */
export const ownedBy = (whose: Whose): Statement =>
  typeof whose === "string"
    ? sql("owner = ?", whose)
    : sql(`owner = (SELECT owner FROM tokens WHERE ${HELD})`, ...paramsOf(whose));

/** What a query finds that is about no owner; where the holder's token may not be used, it is not even looked for. */
export const onlyFor = (holder: Holder, { text, params }: Query): Query =>
  query(`SELECT asked.* FROM tokens CROSS JOIN (${text}) AS asked WHERE ${HELD}`, ...params, ...paramsOf(holder));
