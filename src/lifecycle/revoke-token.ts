import { revokeToken } from "../auth/tokens.ts";
import type { TokenRow } from "../store/tokens.ts";
import type { RequestContext } from "./context.ts";
import { tearDown, type TearDown } from "./tear-down.ts";

/** A token that was ended, and what its owner had. */
export interface RevokedWithAll extends TearDown {
  readonly token: TokenRow;
}

/**
 * Ends a token, and takes down everything that its owner has, whichever token it was made with. Safe to repeat: a second time takes
 * what has come since. Null when there is no token of this id.
 */
export async function revokeWithAll(context: RequestContext, id: string): Promise<RevokedWithAll | null> {
  // First the token, so that what is made after the look at the owner's things was not made with it.
  const token = await revokeToken(context, id);
  return token && { token, ...(await tearDown(context, token, false)) };
}
