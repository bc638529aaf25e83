import { isSameSecret, sha256Hex } from "./hash.ts";
import { identifyJwt, isJwt } from "./oidc.ts";
import { DEFAULT_POLICY, tokenPolicy } from "./policy.ts";
import { identified, notIdentified, type Identified } from "./principal.ts";
import type { AuthSettings, Identifying } from "./settings.ts";

/** Finds out who holds a bearer token. Reads at most one row, and writes nothing. */
export async function identify(token: string, work: Identifying, settings: AuthSettings): Promise<Identified> {
  if (await isSameSecret(token, settings.adminToken))
    return identified({
      kind: "admin",
      owner: "admin",
      account: "admin",
      policy: tokenPolicy(settings.policies, "default") ?? DEFAULT_POLICY,
      evidence: { by: "admin_token" },
      seesAll: true,
    });
  if (isJwt(token)) return identifyJwt(token, work, settings);
  const { store, now } = work;
  const minted = await store.tokens.usable(await sha256Hex(token), settings.authEpoch, now());
  if (minted === null)
    return notIdentified({
      code: "unauthorized",
      message: "This token is not, or no longer, valid.",
      rule: "must be a token that was minted here and has not ended",
      next: "Send `Authorization: Bearer <token>`; an admin mints tokens with POST /v1/tokens.",
    });
  const policy = tokenPolicy(settings.policies, "default") ?? DEFAULT_POLICY;
  return identified({
    kind: "token",
    owner: minted.owner,
    account: minted.owner,
    policy,
    evidence: { by: "token", id: minted.id, note: "" },
    seesAll: false,
  });
}
