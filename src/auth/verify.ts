/**
 * Whether a JWT is what it says: made by a configured issuer, for mayfly, and good now. What it grants is not asked here, but
 * whether tokens of its issuer grant anything at all.
 */
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from "jose";
import * as z from "zod";
import { cut, valuesOf, type Claims } from "./claims.ts";
import type { Issuer } from "./issuers.ts";
import { keysOf, newerKeysOf, type KeySet, type KeyWork } from "./keys.ts";
import type { AuthRefusal } from "./principal.ts";
import type { AuthSettings } from "./settings.ts";

/** The issuer of a token and what it vouches for, or why the token is not taken. */
export type Verified =
  | { readonly ok: true; readonly issuer: Issuer; readonly claims: Claims }
  | { readonly ok: false; readonly refusal: AuthRefusal };

/** Signatures that nobody can make who knows only what verifies them. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** How far two clocks may be apart. */
const TOLERANCE_S = 30;

/** Verifies a JWT (RFC 7519). Nothing is fetched for one that is refused whatever the keys are, or that no policy could take. */
export async function verifyJwt(
  token: string,
  work: KeyWork,
  { issuers, policies, audience: usual }: Pick<AuthSettings, "issuers" | "policies" | "audience">,
): Promise<Verified> {
  const read = readUnverified(token);
  if (read === null) return refused(unreadable);
  const issuer = issuers.find(({ url }) => url === read.iss);
  if (issuer === undefined) return refused(unknownIssuer(read.iss));
  const audience = issuer.audience ?? usual;
  if (audience === null) return refused(noAudience(issuer));
  if (!policies.some((policy) => policy.issuer === issuer.name)) return refused(noPolicyTakes(issuer));
  if (!ALGORITHMS.includes(read.alg)) return refused(wrongAlgorithm(read.alg));

  const keys = await keysOf(issuer, work);
  if (!keys.ok) return refused(unavailable(issuer, keys.why));
  const expected = { issuer, audience, now: work.now() };
  const tried = await tryKeys(keys.set, token, expected);
  if (tried.ok || !tried.isKeyUnknown) return tried;
  const newer = await newerKeysOf(issuer, work, keys.set);
  if (newer === null) return tried;
  return newer.ok ? tryKeys(newer.set, token, expected) : refused(unavailable(issuer, newer.why));
}

const unverified = z.object({ header: z.object({ alg: z.string() }), payload: z.object({ iss: z.string() }) });

/** What a token says that nobody has vouched for; null where it is no JWT. */
function readUnverified(token: string): { readonly alg: string; readonly iss: string } | null {
  try {
    const { header, payload } = unverified.parse({ header: decodeProtectedHeader(token), payload: decodeJwt(token) });
    return { alg: header.alg, iss: payload.iss };
  } catch {
    return null;
  }
}

interface Expected {
  readonly issuer: Issuer;
  readonly audience: string;
  /** Unix milliseconds. */
  readonly now: number;
}

type Tried = Verified & { readonly isKeyUnknown: boolean };

async function tryKeys({ find }: KeySet, token: string, { issuer, audience, now }: Expected): Promise<Tried> {
  try {
    const { payload } = await jwtVerify(token, find, {
      algorithms: ALGORITHMS,
      issuer: issuer.url,
      audience,
      requiredClaims: ["exp", "iat"],
      currentDate: new Date(now),
      clockTolerance: TOLERANCE_S,
    });
    const isEarly = (payload.iat ?? 0) > now / 1000 + TOLERANCE_S;
    return isEarly
      ? { ...refused(notYetValid("iat")), isKeyUnknown: false }
      : { ok: true, issuer, claims: payload, isKeyUnknown: false };
  } catch (error) {
    return {
      ...refused(reasonOf(error, issuer, audience)),
      isKeyUnknown: error instanceof errors.JWKSNoMatchingKey,
    };
  }
}

const refused = (refusal: AuthRefusal) => ({ ok: false, refusal }) as const;
const unauthorized = (
  message: string,
  rule: string,
  next = "Ask your CI for a new token, and send that.",
): AuthRefusal => ({
  code: "unauthorized",
  message,
  rule,
  next,
});

const unreadable = unauthorized(
  "This token is no JWT that can be read.",
  "must be a JWT, with `alg` in its header and `iss` among its claims",
);

const unknownIssuer = (iss: string): AuthRefusal =>
  unauthorized(
    `Tokens of the issuer ${cut(iss)} are not taken.`,
    "`iss` must be the url of a configured issuer, letter by letter",
    "An admin adds the issuer to mayfly.config.ts (issuers).",
  );

const noAudience = ({ name }: Issuer): AuthRefusal =>
  unauthorized(
    `Tokens of ${name} are not taken: nothing says whom they must be made for.`,
    "`aud` must be what is configured, and nothing is",
    "An admin sets OIDC_AUDIENCE, and writes a policy.",
  );

/** What is told of tokens that nobody has looked at: so of this one's claims nothing. */
export const noPolicyTakes = ({ name }: Issuer): AuthRefusal => ({
  code: "forbidden",
  message: `No policy takes tokens of ${name}.`,
  rule: `a policy with the issuer ${name} must fit`,
  next: "An admin writes policies into mayfly.config.ts; `npm run policy -- <token>` shows what one can be written from.",
});

const wrongAlgorithm = (alg: string): AuthRefusal =>
  unauthorized(
    `Tokens that are signed with the algorithm ${cut(alg)} are not taken.`,
    `\`alg\` must be one of ${ALGORITHMS.join(", ")}`,
  );

const unavailable = ({ name }: Issuer, why: string): AuthRefusal => ({
  code: "issuer_unavailable",
  message: `The keys of ${name} cannot be had: it ${why}.`,
  rule: "the issuer must serve its keys",
  next: "Send the same again in a while; if that goes on, an admin looks at the issuer.",
});

const notYetValid = (claim: string): AuthRefusal =>
  unauthorized("This token is not valid yet.", `\`${claim}\` must not lie ahead`, "Set the issuer's clock right.");

/** Why jose did not take a token. */
function reasonOf(error: unknown, { name }: Issuer, audience: string): AuthRefusal {
  if (error instanceof errors.JWTExpired) return unauthorized("This token has ended.", "`exp` must lie ahead");
  if (error instanceof errors.JWTClaimValidationFailed) return claimReason(error, audience);
  if (error instanceof errors.JWKSNoMatchingKey)
    return unauthorized(`${name} has no key of the kind and name that this token says.`, "`kid` must be a key's");
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return unauthorized(`${name} has several keys that may be meant.`, "`kid` must say which key it is signed with");
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return unauthorized("The signature of this token is not right.", `must be signed by ${name}`);
  return unauthorized(
    `The signature of this token cannot be verified with the key of ${name} that it names.`,
    "must be a JWT (RFC 7519) that is signed with a key of its algorithm and of a sufficient length",
  );
}

function claimReason({ claim, reason, payload }: errors.JWTClaimValidationFailed, audience: string): AuthRefusal {
  if (reason === "missing") return unauthorized(`This token has no claim \`${claim}\`.`, `\`${claim}\` is required`);
  if (claim === "nbf" && reason === "check_failed") return notYetValid(claim);
  if (claim === "aud")
    return unauthorized(
      `This token is made for somebody else: ${cut(valuesOf(payload, claim).join(", "))}.`,
      `\`aud\` must be ${audience}`,
      `Ask your CI for a token with the audience ${audience}.`,
    );
  return unauthorized(`The claim \`${claim}\` cannot be used.`, `\`${claim}\` must be a number`);
}
