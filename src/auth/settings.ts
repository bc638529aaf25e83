import type { Asks } from "../store/read-ahead.ts";
import type { Repositories, Store } from "../store/store.ts";
import type { Issuer } from "./issuers.ts";
import type { KeyWork } from "./keys.ts";
import type { Policy } from "./policy.ts";

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
export interface Identifying extends KeyWork {
  readonly store: Pick<Store, "tokens" | "ahead">;
  /**
   * What the call is about to read if its caller is let in, told once the call is all there, for its answers are to be no older; null
   * where nobody knows. `seesAll`: whether the caller is one that does.
   */
  readonly ahead?: ((seesAll: boolean) => Promise<Asks<Repositories> | null>) | undefined;
}
