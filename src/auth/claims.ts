/**
 * Which policy the claims of a token fit, and why the others do not. Pure: whoever writes policies can ask without a token.
 */
import { stableIdsOf, type Issuer } from "./issuers.ts";
import { fitsOne } from "./pattern.ts";
import type { Policy } from "./policy.ts";

/** The claims of a token, as JSON; whether they are true, whoever made them knows. */
export type Claims = Readonly<Record<string, unknown>>;

/** The claim for which a policy is not the caller's. */
export interface FailedClaim {
  readonly claim: string;
  /** What the token says, cut; null = nothing. */
  readonly value: string | null;
  /** What the policy takes, in words that go on after "must be". */
  readonly wanted: string;
}

/** What became of one policy. */
export interface Judgement {
  readonly policy: Policy;
  /** Of the claims that do not hold, the first: ids before others. Null = all hold. */
  readonly failed: FailedClaim | null;
  /** Whether the caller is who the policy means, whatever else it lacks: every stable id that is named holds. */
  readonly isMeant: boolean;
  /** How many of its stable ids hold. */
  readonly heldIds: number;
  /** How many of its claims hold; 0 where it does not mean the caller, for who is not meant must not find out by trying. */
  readonly held: number;
}

const LONGEST_SHOWN = 200;

/** Text of somebody else's, short enough to be repeated. */
export const cut = (text: string): string =>
  text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN - 1)}…` : text;

/** Judges the policies of an issuer, in their order; those of others are left out. The first without a failed claim wins. */
export const judgeClaims = (policies: readonly Policy[], issuer: Issuer, claims: Claims): readonly Judgement[] =>
  policies.filter((policy) => policy.issuer === issuer.name).map((policy) => judge(policy, issuer, claims));

/**
 * The policy that the least is missing to: a stable id that holds counts more than all other claims, and of policies that do not mean
 * the caller nothing else counts; of equals the first. Null where there is none.
 */
export function nearestOf(judgements: readonly Judgement[]): Judgement | null {
  const isNearer = (one: Judgement, other: Judgement): boolean =>
    one.heldIds === other.heldIds ? one.held > other.held : one.heldIds > other.heldIds;
  const [first = null, ...others] = judgements;
  return others.reduce((best, one) => (best !== null && isNearer(one, best) ? one : best), first);
}

/** The claims that a policy can be written from, as text; those that the token lacks are left out. */
export function claimsThatCount(
  policies: readonly Policy[],
  issuer: Issuer,
  claims: Claims,
): Readonly<Record<string, string>> {
  const names = issuer.kind === "other" ? namedClaims(policies, issuer) : COUNTING[issuer.kind];
  const shown = names.map((name) => [name, shownClaim(claims, name)] as const);
  return Object.fromEntries(shown.filter((pair): pair is [string, string] => pair[1] !== null));
}

const COUNTING: Readonly<Record<"github" | "gitlab", readonly string[]>> = {
  github: [
    "sub",
    "repository",
    "repository_id",
    "repository_owner_id",
    "ref",
    "ref_type",
    "workflow_ref",
    "job_workflow_ref",
    "event_name",
    "environment",
    "actor",
    "run_id",
    "run_attempt",
  ],
  gitlab: [
    "sub",
    "namespace_id",
    "project_id",
    "project_path",
    "ref",
    "ref_type",
    "ref_protected",
    "pipeline_id",
    "pipeline_source",
    "environment",
    "user_login",
  ],
};

function namedClaims(policies: readonly Policy[], issuer: Issuer): readonly string[] {
  const named = policies.filter((policy) => policy.issuer === issuer.name).flatMap(({ claims }) => Object.keys(claims));
  return [...new Set(["sub", ...stableIdsOf(issuer), ...named])];
}

function judge(policy: Policy, issuer: Issuer, claims: Claims): Judgement {
  const ids = new Set(stableIdsOf(issuer));
  const names = Object.keys(policy.claims).toSorted((a, b) => Number(ids.has(b)) - Number(ids.has(a)));
  const holding = new Set(names.filter((name) => holds(policy.claims[name] ?? [], claims, name)));
  const lacking = names.find((name) => !holding.has(name));
  const isMeant = names.every((name) => !ids.has(name) || holding.has(name));
  return {
    policy,
    failed:
      lacking === undefined
        ? failedEvent(policy, issuer, claims)
        : { claim: lacking, value: shownClaim(claims, lacking), wanted: told(policy.claims[lacking] ?? []) },
    isMeant,
    heldIds: names.filter((name) => ids.has(name) && holding.has(name)).length,
    held: isMeant ? holding.size : 0,
  };
}

/** Events in which code of a fork may run with the rights of the repository that it was forked from. */
const PRIVILEGED_EVENTS: readonly string[] = ["pull_request_target", "workflow_run"];

function failedEvent(policy: Policy, { kind }: Issuer, claims: Claims): FailedClaim | null {
  if (kind !== "github" || policy.takesPrivilegedEvents) return null;
  const events = valuesOf(claims, "event_name");
  if (events.length > 0 && events.every((event) => !PRIVILEGED_EVENTS.includes(event))) return null;
  const wanted = `said, and none of ${PRIVILEGED_EVENTS.join(", ")}, in which a fork's code may run (privileged_events)`;
  return { claim: "event_name", value: shownClaim(claims, "event_name"), wanted };
}

/** Whether one of a claim's values fits one of the patterns. A claim that is missing has no value. */
const holds = (patterns: readonly string[], claims: Claims, name: string): boolean =>
  valuesOf(claims, name).some((value) => fitsOne(patterns, value));

const told = (patterns: readonly string[]): string => (patterns.length === 1 ? "" : "one of ") + patterns.join(", ");

/** A claim's values as text: one, or those of a list; none where it is missing, or neither text, number nor truth value. */
export function valuesOf(claims: Claims, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return (Array.isArray(value) ? value : [value]).flatMap(textOf);
}

/** JSON's numbers are doubles: two ids beyond what those tell apart would read alike, so such a one is no value. */
function textOf(value: unknown): readonly string[] {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return [];
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [String(value)] : [];
}

/** What a token says of a claim, cut; null = nothing. */
export function shownClaim(claims: Claims, name: string): string | null {
  const value = Object.hasOwn(claims, name) ? (claims[name] ?? null) : null;
  if (value === null) return null;
  return cut(typeof value === "string" ? value : JSON.stringify(value));
}
