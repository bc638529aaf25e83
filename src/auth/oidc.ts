/**
 * Callers without a secret: a CI job shows what its forge says of it (OpenID Connect), and a policy says what that grants.
 */
import * as z from "zod";
import { claimsThatCount, judgeClaims, nearestOf, shownClaim, type Claims, type Judgement } from "./claims.ts";
import { sha256Hex } from "./hash.ts";
import { checkShortHashes, digits, shortHash, stableIdsOf, type Issuer } from "./issuers.ts";
import type { Policy } from "./policy.ts";
import { accountOf, identified, notIdentified, type AuthRefusal, type Identified } from "./principal.ts";
import type { AuthSettings, Identifying } from "./settings.ts";
import { noPolicyTakes, verifyJwt } from "./verify.ts";

/** Whether a bearer token looks like a JWT (RFC 7519). */
export const isJwt = (token: string): boolean => /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/.test(token);

/** Finds out who holds a JWT of a configured issuer. Reads no row. Throws `Misconfigured` where issuers cannot be told apart. */
export async function identifyJwt(token: string, work: Identifying, settings: AuthSettings): Promise<Identified> {
  await checkShortHashes(settings.issuers);
  const verified = await verifyJwt(token, work, settings);
  if (!verified.ok) return notIdentified(verified.refusal);
  return identifyClaims(verified.issuer, verified.claims, settings.policies);
}

/** Who a caller is whose token says that; whether it is true is for others to know. */
export async function identifyClaims(issuer: Issuer, claims: Claims, policies: readonly Policy[]): Promise<Identified> {
  const source = readSource(issuer, claims);
  if ("refusal" in source) return notIdentified(source.refusal);
  const judgements = judgeClaims(policies, issuer, claims);
  const counting = claimsThatCount(policies, issuer, claims);
  const policy = judgements.find(({ failed }) => failed === null)?.policy;
  if (policy === undefined) return notIdentified(noPolicyFits(issuer, nearestOf(judgements), counting));
  const owner = await ownerOf(issuer, source, policy);
  return identified({
    kind: "oidc",
    owner,
    account: policy.hasOwnAccount ? `pol.${policy.name}` : accountOf(owner),
    policy,
    evidence: { by: "oidc", issuer: issuer.name, claims: evidentOf(issuer, counting) },
    seesAll: false,
  });
}

/** The claims that are kept with what a caller did: of a subject, which says the others once more, only one that is the id itself. */
function evidentOf(issuer: Issuer, { sub, ...others }: Readonly<Record<string, string>>) {
  return sub !== undefined && stableIdsOf(issuer).includes("sub") ? { sub, ...others } : others;
}

/** Where a call comes from, by ids that never pass to another. */
interface Source {
  /** The repository, the project, or the value of the issuer's `id_claim`. */
  readonly id: string;
  /** The run or pipeline; an issuer of no known kind says none. */
  readonly run: string;
}

const text = z.union([z.string(), z.int()], "must be text or a number").transform(String);
const filled = text.pipe(z.string().min(1, "must not be empty"));
const numbered = text.pipe(digits);

const SOURCES = {
  github: { id: "repository_id", run: "run_id" },
  gitlab: { id: "project_id", run: "pipeline_id" },
} as const;

function readSource(issuer: Issuer, claims: Claims): Source | { readonly refusal: AuthRefusal } {
  const [idClaim = ""] = stableIdsOf(issuer);
  const names = issuer.kind === "other" ? { id: idClaim, run: null } : SOURCES[issuer.kind];
  const id = (issuer.kind === "other" ? filled : numbered).safeParse(claims[names.id]);
  if (!id.success) return { refusal: unusable(names.id, id.error, claims) };
  if (names.run === null) return { id: id.data, run: "" };
  const run = numbered.safeParse(claims[names.run]);
  return run.success ? { id: id.data, run: run.data } : { refusal: unusable(names.run, run.error, claims) };
}

function unusable(claim: string, { issues }: z.ZodError, claims: Claims): AuthRefusal {
  const value = shownClaim(claims, claim);
  return {
    code: "unauthorized",
    message: `The claim \`${claim}\` of this token ${value === null ? "is missing" : `is ${value}`}.`,
    rule: `\`${claim}\` ${value === null ? "is required" : (issues[0]?.message ?? "cannot be read")}`,
    next: "Machines are kept under this claim: ask your CI for a token that has it.",
  };
}

/** The key that a caller's machines are kept under. Issuers are told apart by their urls, for their ids count from one each. */
async function ownerOf(issuer: Issuer, { id, run }: Source, policy: Policy): Promise<string> {
  const { name, kind } = issuer;
  const last = policy.hasWideOwner ? policy.name : run;
  if (name === "github") return `gh.${id}.${last}`;
  const hash = await shortHash(issuer);
  if (kind === "other") return `id.${hash}.${(await sha256Hex(id)).slice(0, 32)}`;
  return `${kind === "github" ? "gh" : "gl"}.${hash}.${id}.${last}`;
}

/** What a caller is told whose token is right and grants nothing: its own claims; and what a policy wants, where that means it. */
function noPolicyFits(
  issuer: Issuer,
  nearest: Judgement | null,
  claims: Readonly<Record<string, string>>,
): AuthRefusal {
  if (nearest === null || nearest.failed === null) return noPolicyTakes(issuer);
  const { policy, isMeant, failed } = nearest;
  const said = failed.value === null ? "missing" : failed.value;
  return {
    code: "forbidden",
    message: `No policy fits this token. ${policy.name} comes nearest, but for \`${failed.claim}\`, which is ${said}.`,
    rule: `\`${failed.claim}\` must be ${isMeant ? failed.wanted : "what the policy names"}`,
    next: "An admin writes policies into mayfly.config.ts; `claims` are what one can be written from.",
    policy: policy.name,
    claims: { iss: issuer.url, ...claims },
  };
}
