/**
 * Who is calling, and for whom that caller may act. The admin token comes from the configuration; every other caller holds
 * a token that an admin minted for one owner.
 */
import type { Store } from "../store/store.ts";
import { isSameSecret, sha256Hex } from "./hash.ts";

/** A verified caller. */
export interface Principal {
  /** The key that its machines are kept under. */
  readonly owner: string;
  /** What its limits and money count against. */
  readonly account: string;
  readonly isAdmin: boolean;
}

const ADMIN: Principal = { owner: "admin", account: "admin", isAdmin: true };

/**
 * Whom a caller acts as: itself, or the owner that it names. An admin may name any, and then sees no more than that owner would;
 * null where this is not the caller's to ask.
 */
export function actingFor(caller: Principal, owner: string | undefined): Principal | null {
  if (owner === undefined) return caller;
  if (owner === caller.owner) return { ...caller, isAdmin: false };
  return caller.isAdmin ? { owner, account: owner, isAdmin: false } : null;
}

/** The bearer token of an `Authorization` header (RFC 6750), or null when there is none that could be one. */
export function bearerToken(header: string | undefined): string | null {
  const token = /^Bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i.exec(header ?? "")?.[1];
  return token ?? null;
}

/** What decides who may call. */
export interface AuthSettings {
  readonly adminToken: string;
  /** Tokens that were minted under another are refused. */
  readonly authEpoch: string;
}

/** Finds out who holds a token; null when nobody does. Reads at most one row and writes nothing. */
export async function identify(
  token: string,
  { store, now }: { readonly store: Pick<Store, "tokens">; readonly now: () => number },
  { adminToken, authEpoch }: AuthSettings,
): Promise<Principal | null> {
  if (await isSameSecret(token, adminToken)) return ADMIN;
  const minted = await store.tokens.usable(await sha256Hex(token), authEpoch, now());
  return minted && { owner: minted.owner, account: minted.owner, isAdmin: false };
}
