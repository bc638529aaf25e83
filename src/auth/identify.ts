import { sha256Hex } from "./hash.ts";
import { identifyJwt, isJwt } from "./oidc.ts";
import { DEFAULT_POLICY, tokenPolicy } from "./policy.ts";
import { identified, notIdentified, type AuthRefusal, type Identified } from "./principal.ts";
import { isSameSecret } from "./same-secret.ts";
import type { AuthSettings, Identifying } from "./settings.ts";
import { formOf, TOKEN_FORM_RULE } from "./token-form.ts";
import { isUseDue, noteUse } from "./tokens.ts";
import type { TokenRow } from "../store/tokens.ts";

/**
 * Finds out who holds a bearer token, and reads for whoever is let in what the call is about to read, in one trip to the database. For
 * all others that is a token's row at most, and nothing for what cannot be a token; writes nothing.
 */
export async function identify(token: string, work: Identifying, settings: AuthSettings): Promise<Identified> {
  const isAdmin = await isSameSecret(token, settings.adminToken);
  if (!isAdmin && !isJwt(token)) return identifyMinted(token, work, settings);
  const caller = isAdmin ? adminOf(settings) : await identifyJwt(token, work, settings);
  if (!caller.ok) return caller;
  const { owner, seesAll } = caller.principal;
  const asks = await work.ahead?.(seesAll);
  if (asks) await work.store.ahead.ofOwner(owner, asks);
  return caller;
}

const adminOf = ({ policies }: AuthSettings): Identified =>
  identified({
    kind: "admin",
    owner: "admin",
    account: "admin",
    policy: tokenPolicy(policies, "default") ?? DEFAULT_POLICY,
    evidence: { by: "admin_token" },
    seesAll: true,
  });

/** A token's policy is looked for among those that are configured now: one that is gone grants nothing. */
async function identifyMinted(token: string, work: Identifying, settings: AuthSettings): Promise<Identified> {
  const form = await formOf(token);
  if (form !== "token") return notIdentified(form === "mistyped" ? MISTYPED : NO_TOKEN);
  const { store } = work;
  const asks = (await work.ahead?.(false)) ?? NOTHING;
  const now = work.now();
  const holder = { secretSha256: await sha256Hex(token), authEpoch: settings.authEpoch, now };
  const held = await store.ahead.ofHolder(holder, asks);
  if (held === null) return notIdentified(NOT_MINTED);
  const { token: minted, isUsable } = held;
  if (!isUsable) return notIdentified(endedOf(minted, now));
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

const NOTHING = () => [];

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
const NOT_MINTED: AuthRefusal = {
  code: "unauthorized",
  message: "There is no token of this secret here.",
  rule: "must be a token that was minted here, with the last secret that it was given",
  next: `Check that it was minted by this mayfly, and whether a repeated order has given it another secret. ${NEXT}`,
};

/** Told only to whoever shows the secret, and so held the token. */
function endedOf({ revokedAt, expiresAt }: TokenRow, now: number): AuthRefusal {
  const next = "Ask an admin for another, who mints it with POST /v1/tokens.";
  const refusal = (message: string, rule: string) => ({ code: "unauthorized" as const, message, rule, next });
  if (revokedAt !== null) return refusal(`This token was revoked at ${timeOf(revokedAt)}.`, "must not be revoked");
  if (expiresAt <= now) return refusal(`This token expired at ${timeOf(expiresAt)}.`, "must not have expired");
  return refusal(
    "This token has ended with all that were minted before AUTH_EPOCH was changed.",
    "must be of this epoch",
  );
}

const timeOf = (at: number): string => new Date(at).toISOString();

const policyGone = (policy: string): AuthRefusal => ({
  code: "forbidden",
  message: `This token's policy, ${policy}, is gone, or takes an issuer's tokens by now.`,
  rule: "must have a policy that is configured for tokens",
  next: "Have an admin put the policy back, or mint a token with another.",
  policy,
});
