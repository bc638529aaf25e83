import * as z from "zod";
import { Misconfigured } from "../machine/misconfigured.ts";
import { sha256Hex } from "./hash.ts";

/** Whose claims a token's claims read like. `other` has no stable id that is known here: `id_claim` names it. */
export type IssuerKind = "github" | "gitlab" | "other";

/** Somebody whose signed tokens say who is calling (OpenID Connect). */
export interface Issuer {
  /** What policies call it. */
  readonly name: string;
  /** A token's `iss`, letter by letter. */
  readonly url: string;
  /** Where its keys are; null = where its discovery document says. */
  readonly jwks: string | null;
  /** A token's `aud`; null = the setting `OIDC_AUDIENCE`. */
  readonly audience: string | null;
  readonly kind: IssuerKind;
  /** Of an issuer of no known kind, the claim that is the caller's stable id; null for the others. */
  readonly idClaim: string | null;
}

/** Issuers that exist without configuration. */
export const BUILT_IN_ISSUERS: readonly Issuer[] = [
  {
    name: "github",
    url: "https://token.actions.githubusercontent.com",
    jwks: "https://token.actions.githubusercontent.com/.well-known/jwks",
    audience: null,
    kind: "github",
    idClaim: null,
  },
  {
    name: "gitlab",
    url: "https://gitlab.com",
    jwks: "https://gitlab.com/oauth/discovery/keys",
    audience: null,
    kind: "gitlab",
    idClaim: null,
  },
];

const STABLE_IDS: Readonly<Record<"github" | "gitlab", readonly string[]>> = {
  github: ["repository_id", "repository_owner_id"],
  gitlab: ["project_id", "namespace_id"],
};

/** The claims that never pass to somebody else, as a name may: one of them must be in every policy. */
export const stableIdsOf = ({ kind, idClaim }: Pick<Issuer, "kind" | "idClaim">): readonly string[] =>
  kind === "other" ? (idClaim === null ? [] : [idClaim]) : STABLE_IDS[kind];

/** An id of a repository, a project or a run: as many digits leave room in an owner's key for all that stands beside them. */
export const digits = z.string().regex(/^[1-9]\d{0,17}$/, "must be a number of at most 18 digits");

/** Of every token the same, or of every token another: they tell no caller from others. */
const TELL_NOBODY = ["iss", "aud", "exp", "nbf", "iat", "jti"];

const LOOPBACK_HOST = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/** Whether a URL is of this machine. */
export const isLoopback = (url: string): boolean => LOOPBACK_HOST.test(new URL(url).hostname);

/** An address that tokens or keys come from: https, or this machine where `mayBeLocal`. */
export const address = (mayBeLocal: boolean) =>
  z
    .url({ protocol: /^https?$/, error: "must be an https URL", abort: true })
    .refine(
      (text) => new URL(text).protocol === "https:" || (mayBeLocal && isLoopback(text)),
      "must be https: keys that came in the clear could be anybody's",
    );

const NAME = /^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$/;
/** Of policies, profiles and issuers: no digit leads, so that none reads like an id in an owner's key. */
export const configName = z
  .string("must be text")
  .regex(NAME, "must be 1 to 32 lower-case letters, digits and inner hyphens, beginning with a letter");

/** Whom tokens must be made for. What a person pastes along, like a space, no token's `aud` would ever be. */
export const audience = z
  .string("must be text")
  .regex(/^[!-~]{1,255}$/, "must be 1 to 255 letters, digits and signs of ASCII, without spaces");

/** An entry of `issuers`, as it is written. */
export const issuerEntry = (isLocal: boolean) =>
  z.strictObject({
    name: configName,
    url: address(isLocal),
    jwks: address(isLocal).optional(),
    audience: audience.optional(),
    kind: z.enum(["github", "gitlab"], "must be github or gitlab, or left out").optional(),
    id_claim: z
      .string()
      .min(1, "must not be empty")
      .refine(
        (claim) => !TELL_NOBODY.includes(claim),
        `must tell callers apart, as none of ${TELL_NOBODY.join(", ")} does`,
      )
      .optional(),
  });

export type IssuerEntry = z.input<ReturnType<typeof issuerEntry>>;

/** An entry in the words of the code. */
export const issuerOf = (entry: IssuerEntry): Issuer => ({
  name: entry.name,
  url: entry.url,
  jwks: entry.jwks ?? null,
  audience: entry.audience ?? null,
  kind: entry.kind ?? "other",
  idClaim: entry.id_claim ?? null,
});

/** What is wrong with an issuer among those before it: the field and the rule; null where nothing is. */
export function faultInIssuer(issuer: Issuer, others: readonly Issuer[]): { field: string; rule: string } | null {
  if (others.some(({ name }) => name === issuer.name))
    return { field: "name", rule: "must be another: an issuer of that name is there already" };
  if (others.some(({ url }) => url === issuer.url))
    return { field: "url", rule: "must be another: an issuer of that url is there already" };
  if (issuer.kind !== "other" && issuer.idClaim !== null)
    return { field: "id_claim", rule: "must be left out where kind says which claims are ids" };
  if (stableIdsOf(issuer).length === 0)
    return {
      field: "id_claim",
      rule: "is required without a kind: the claim that tells callers apart and never passes to another",
    };
  return null;
}

/** How owners' keys tell issuers apart whose ids count from one each. */
export const shortHash = async ({ url }: Pick<Issuer, "url">): Promise<string> => (await sha256Hex(url)).slice(0, 8);

/** Throws {@link Misconfigured} where two issuers have one short hash: callers of the one would have what callers of the other made. */
export async function checkShortHashes(issuers: readonly Issuer[]): Promise<void> {
  const seen = new Map<string, string>();
  for (const { name, url } of issuers) {
    const hash = await shortHash({ url });
    const other = seen.get(hash);
    if (other !== undefined)
      throw new Misconfigured(
        `issuers.${name}.url`,
        `must be another: its SHA-256 begins like that of ${other}, and what their callers make is kept under that`,
      );
    seen.set(hash, name);
  }
}
