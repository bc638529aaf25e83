import { sha256Hex } from "./hash.ts";
import { identifyJwt, isJwt } from "./oidc.ts";
import { DEFAULT_POLICY, tokenPolicy } from "./policy.ts";
import { identified, notIdentified, type AuthRefusal, type Identified } from "./principal.ts";
import { isSameSecret } from "./same-secret.ts";
import type { AuthSettings, Identifying } from "./settings.ts";
import { formOf, TOKEN_FORM_RULE } from "./token-form.ts";
import { isUseDue, noteUse } from "./tokens.ts";

/** Finds out who holds a bearer token. Reads at most one row, and none for what cannot be a token; writes nothing. */
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
  return isJwt(token) ? identifyJwt(token, work, settings) : identifyMinted(token, work, settings);
}

/** A token's policy is looked for among those that are configured now: one that is gone grants nothing. */
async function identifyMinted(token: string, work: Identifying, settings: AuthSettings): Promise<Identified> {
  const form = await formOf(token);
  if (form !== "token") return notIdentified(form === "mistyped" ? MISTYPED : NO_TOKEN);
  const { store } = work;
  const now = work.now();
  const minted = await store.tokens.usable(await sha256Hex(token), settings.authEpoch, now);
  if (minted === null) return notIdentified(NOT_VALID);
  const { id, owner, note } = minted;
  const policy = tokenPolicy(settings.policies, minted.policy);
  if (policy === null) return notIdentified(policyGone(minted.policy));
  const principal = {
    kind: "token",
    owner,
    account: policy.hasOwnAccount ? `pol.${policy.name}` : owner,
    policy,
    evidence: { by: "token", id, note },
    seesAll: false,
  } as const;
  return identified(principal, isUseDue(minted, now) ? () => noteUse({ store }, id, now) : undefined);
}

const NEXT = "Send `Authorization: Bearer <token>`; an admin mints tokens with POST /v1/tokens.";

const NO_TOKEN: AuthRefusal = {
  code: "unauthorized",
  message: "This is neither a minted token nor an issuer's (JWT).",
  rule: TOKEN_FORM_RULE,
  next: NEXT,
};
const MISTYPED: AuthRefusal = {
  code: "unauthorized",
  message: "This was never a token: its last seven characters do not fit the others.",
  rule: TOKEN_FORM_RULE,
  next: "Copy it anew: a character is another than it was, or stands elsewhere.",
};
const NOT_VALID: AuthRefusal = {
  code: "unauthorized",
  message: "This token is not, or no longer, valid.",
  rule: "must be a token that was minted here and has not ended",
  next: NEXT,
};

const policyGone = (policy: string): AuthRefusal => ({
  code: "forbidden",
  message: `This token's policy, ${policy}, is gone, or takes an issuer's tokens by now.`,
  rule: "must have a policy that is configured for tokens",
  next: "Have an admin put the policy back, or mint a token with another.",
  policy,
});
