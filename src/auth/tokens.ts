import type { Store } from "../store/store.ts";
import type { NewToken, TokenRow } from "../store/tokens.ts";
import { sha256Hex } from "./hash.ts";
import { KEY_LIFE_MS } from "./idempotency-key.ts";
import { tokenPolicy, type Policy } from "./policy.ts";
import type { AuthSettings } from "./settings.ts";
import { TOKEN, writeToken } from "./token-form.ts";

/** What an admin says of a token: no control characters, no line breaks, nothing that UTF-8 cannot hold. */
const NOTE = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{0,200}$/u;
export const TOKEN_NOTE_RULE = "must be one line of at most 200 characters, and hold no token";
export const isTokenNote = (text: string): boolean => NOTE.test(text) && !TOKEN.test(text);

export const DEFAULT_TOKEN_LIFE = "90d";
export const LONGEST_TOKEN_LIFE = "366d";

/** Uses that lie closer together are noted once. */
const USES_APART_MS = 60 * 60 * 1000;

/** What minting and revoking work with. */
interface Minting {
  readonly store: Pick<Store, "tokens">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly newUid: () => string;
  /** `count` unpredictable bytes. */
  readonly randomBytes: (count: number) => Uint8Array;
  readonly auth: Pick<AuthSettings, "authEpoch" | "policies">;
}

/** What an admin orders; each field by the rules above. */
export interface TokenOrder {
  readonly owner: string;
  readonly policy: string;
  readonly note: string;
  readonly lifeMs: number;
  /** By which a repeat of the order is known; null = each order is another token. */
  readonly idempotencyKey: string | null;
}

/** Why no token was minted, in words for people. */
export interface MintRefusal {
  readonly code: "invalid_input" | "spec_mismatch" | "released";
  readonly message: string;
  readonly next: string;
  readonly field?: string;
  readonly rule?: string;
}

export type Minted =
  /** The secret is shown once: only its hash is kept. */
  | { readonly ok: true; readonly token: TokenRow; readonly secret: string; readonly isNew: boolean }
  | { readonly ok: false; readonly refusal: MintRefusal };

const OTHER_ORDER: MintRefusal = {
  code: "spec_mismatch",
  message: "This idempotency key was used for another token, less than a day ago.",
  next: "Repeat the first body, or use another key.",
};
const ENDED: MintRefusal = {
  code: "released",
  message: "The token that was minted under this idempotency key is no longer valid.",
  next: "Use another key to mint another token.",
};

/**
 * Mints a token for a named owner. For a day a repeat under the same idempotency key is the same token with a new secret, which ends
 * the one before: whoever repeats has not got that one. Bodies are equal that mean the same.
 */
export async function mintToken(work: Minting, order: TokenOrder): Promise<Minted> {
  const { store, auth } = work;
  const refusal = unknownPolicy(auth.policies, order.policy);
  if (refusal !== null) return { ok: false, refusal };
  const secret = await writeToken(work.randomBytes(32));
  const row = await rowOf(work, order, secret);
  const inserted = await store.tokens.insert(row);
  if (inserted !== null) return { ok: true, token: inserted, secret, isNew: true };
  const standing = row.idempotency && (await store.tokens.byIdempotency(row.idempotency.sha256, row.createdAt));
  if (standing !== null && !isOrderedAlike(standing, row)) return { ok: false, refusal: OTHER_ORDER };
  const token =
    standing && (await store.tokens.replaceSecret(standing.id, row.secretSha256, row.authEpoch, row.createdAt));
  return token === null ? { ok: false, refusal: ENDED } : { ok: true, token, secret, isNew: false };
}

async function rowOf({ now, newUid, auth }: Minting, order: TokenOrder, secret: string): Promise<NewToken> {
  const createdAt = now();
  const { idempotencyKey: key } = order;
  return {
    id: `tok_${newUid()}`,
    owner: `tok.${order.owner}`,
    policy: order.policy,
    note: order.note,
    createdAt,
    expiresAt: createdAt + order.lifeMs,
    secretSha256: await sha256Hex(secret),
    authEpoch: auth.authEpoch,
    idempotency: key === null ? null : { sha256: await sha256Hex(key), until: createdAt + KEY_LIFE_MS },
  };
}

type Ordered = Pick<TokenRow, "owner" | "policy" | "note" | "createdAt" | "expiresAt">;

const isOrderedAlike = (a: Ordered, b: Ordered): boolean =>
  a.owner === b.owner &&
  a.policy === b.policy &&
  a.note === b.note &&
  a.expiresAt - a.createdAt === b.expiresAt - b.createdAt;

function unknownPolicy(policies: readonly Policy[], name: string): MintRefusal | null {
  if (tokenPolicy(policies, name) !== null) return null;
  const names = new Set(["default", ...policies.flatMap((one) => (one.issuer === null ? [one.name] : []))]);
  const rule = `must be a policy that tokens can have: ${[...names].join(", ")}`;
  return {
    code: "invalid_input",
    message: `\`policy\` ${rule}.`,
    next: "Correct the field and send again.",
    field: "policy",
    rule,
  };
}

/** Ends a token for good; a second time changes nothing. Null when there is none of this id. */
export const revokeToken = ({ store, now }: Pick<Minting, "store" | "now">, id: string): Promise<TokenRow | null> =>
  store.tokens.revoke(id, now());

/** Whether a use at that time is to be noted, as far as the row tells that was read. */
export const isUseDue = ({ lastUsedAt }: TokenRow, now: number): boolean =>
  lastUsedAt === null || now - lastUsedAt >= USES_APART_MS;

/** Notes that a token is in use; of several calls at once one writes it. */
export const noteUse = ({ store }: Pick<Minting, "store">, id: string, now: number): Promise<void> =>
  store.tokens.noteUse(id, now, now - USES_APART_MS);
