import type { Store } from "../store/store.ts";
import type { TokenRow } from "../store/tokens.ts";
import { sha256Hex } from "./hash.ts";

/** What an admin calls an owner. It is kept as `tok.<name>`, which no other kind of owner can be. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,57}[a-z0-9])?$/;
export const TOKEN_OWNER_RULE = "must be 1 to 59 lower-case letters, digits and inner hyphens";
export const isTokenOwner = (text: string): boolean => NAME.test(text);

export const DEFAULT_TOKEN_LIFE = "90d";
export const LONGEST_TOKEN_LIFE = "366d";

export interface Minted {
  readonly token: TokenRow;
  /** Shown once: only its hash is kept. */
  readonly secret: string;
}

/** What minting and revoking work with. */
interface Minting {
  readonly store: Pick<Store, "tokens">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
}

/** Mints a token for a named owner. `randomBytes` must be 32 of them, unpredictable. */
export async function mintToken(
  { store, now, newUid }: Minting,
  order: { owner: string; lifeMs: number; randomBytes: Uint8Array; authEpoch: string },
): Promise<Minted> {
  const secret = `mft_${order.randomBytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
  const createdAt = now();
  const token = {
    id: `tok_${newUid()}`,
    owner: `tok.${order.owner}`,
    createdAt,
    expiresAt: createdAt + order.lifeMs,
    revokedAt: null,
  };
  await store.tokens.insert({ ...token, secretSha256: await sha256Hex(secret), authEpoch: order.authEpoch });
  return { token, secret };
}

/** Ends a token for good; a second time changes nothing. Null when there is none of this id. */
export const revokeToken = ({ store, now }: Omit<Minting, "newUid">, id: string): Promise<TokenRow | null> =>
  store.tokens.revoke(id, now());
