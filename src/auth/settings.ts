import type { Store } from "../store/store.ts";
import type { Issuer } from "./issuers.ts";
import type { Policy } from "./policy.ts";

/** The keys of issuers, as they were last fetched, for as long as an isolate lives. */
export type KeyCache = Map<string, object>;

/** What decides who may call. */
export interface AuthSettings {
  readonly adminToken: string;
  /** Tokens that were minted under another are refused. */
  readonly authEpoch: string;
  readonly policies: readonly Policy[];
  readonly issuers: readonly Issuer[];
  /** What a token must be made for, where its issuer's entry does not say. */
  readonly audience: string | null;
}

/** What finding out works with. */
export interface Identifying {
  readonly store: Pick<Store, "tokens">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>;
  readonly keys: KeyCache;
}
