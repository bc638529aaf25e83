/** What a policy forbids, whichever way a call came. Each refusal names the policy, the field and the rule. */
import { fitsOne } from "../auth/pattern.ts";
import type { Makeable, Policy } from "../auth/policy.ts";
import { existingText } from "../machine/attachment.ts";
import { formatDuration } from "../machine/duration.ts";
import type { ResourceKind, ResourceSpec } from "../machine/resource.ts";
import type { MachineRequest } from "../machine/spec.ts";
import type { CheckedOrder, CompleteOrder, MachineOrder, Ordering, Profiles } from "./order.ts";
import { done, refused, type Outcome, type Refused } from "./refusal.ts";

const MAKES: Readonly<Record<ResourceKind, Makeable>> = {
  firewall: "firewalls",
  network: "networks",
  ssh_key: "ssh_keys",
};

/**
 * Whether a policy lets its callers make machines, and say what they have said of one: here its profile's words count for nothing, for
 * they are the deployer's.
 */
export const checkSaid = (policy: Policy, said: MachineOrder): Outcome<void> =>
  checkMay(policy, "machines", "machines") ??
  checkProfile(policy, said) ??
  checkCloudInit(policy, said) ??
  checkSnapshot(policy, said) ??
  checkSpeltOut(policy, said) ??
  done(undefined);

/** Whether a policy allows a machine as it is to be made, whoever said what of it. */
export const checkMade = (policy: Policy, { order, request, ttlMs, keepOnFailureMs }: CheckedOrder): Outcome<void> =>
  checkImage(policy, request) ??
  checkPlaces(policy, order) ??
  checkExisting(policy, order) ??
  checkFirewall(policy, order) ??
  checkLength(policy, "ttl", ttlMs) ??
  checkLength(policy, "keep_on_failure", keepOnFailureMs) ??
  done(undefined);

/** Whether a policy lets its callers make a firewall, a network or a key that lives that long. */
export const checkResourceRights = (policy: Policy, spec: ResourceSpec, lengthMs: number): Outcome<void> =>
  checkMay(policy, MAKES[spec.kind], MAKES[spec.kind]) ??
  (spec.kind === "network" ? checkName(policy, "regions", policy.regions, spec.region, "region") : null) ??
  checkLength(policy, "ttl", lengthMs) ??
  done(undefined);

/** Whether a lease of that length is within what a policy allows; null where it is. */
export function checkLength(policy: Policy, field: string, lengthMs: number | null): Refused | null {
  const { longestMs } = policy;
  if (longestMs === null || lengthMs === null || lengthMs <= longestMs) return null;
  const limit = formatDuration(longestMs);
  return refused({
    code: "limit_lease",
    message: `The policy ${policy.name} allows a lease of ${limit} at most.`,
    next: `Ask for ${limit} or less.`,
    problem: { field, rule: `must be at most ${limit} (longest)` },
    policy: policy.name,
    figures: { limit, asked: formatDuration(lengthMs) },
  });
}

/** How long a policy lets what its callers make live, in milliseconds: what it says itself, within what holds for all. */
export const longestOf = ({ longestMs }: Policy, { maxAgeMs }: Pick<Ordering, "maxAgeMs">): number =>
  Math.min(longestMs ?? maxAgeMs, maxAgeMs);

/** The profiles that a policy lets its callers name. */
export const profilesOf = (policy: Policy, profiles: Profiles): Profiles =>
  new Map([...profiles].filter(([name]) => fitsOne(policy.profiles, name)));

/** Whether a server type may be used, which was not named but found by its architecture. */
export const mayName = ({ serverTypes }: Policy, serverType: string): boolean => fitsOne(serverTypes, serverType);

/** What is said to whoever wants an architecture of which a policy allows no type. */
export const noTypeOf = (policy: Policy): Refused =>
  forbidden(
    policy,
    "arch",
    `must be that of a type that may be used: ${(policy.serverTypes ?? []).join(", ")} (server_types)`,
  );

function checkMay(policy: Policy, what: Makeable, field: string): Refused | null {
  return policy.may.includes(what)
    ? null
    : forbidden(policy, field, `must not be made under this policy (may: ${policy.may.join(", ") || "nothing"})`);
}

function checkProfile(policy: Policy, said: MachineOrder): Refused | null {
  const { profile } = said;
  if (profile !== undefined && !fitsOne(policy.profiles, profile))
    return forbidden(policy, "profile", listed("profiles", policy.profiles));
  if (!policy.onlyProfiles) return null;
  if (profile === undefined) return forbidden(policy, "profile", "is required (only_profiles)");
  const more = moreThanProfile(said);
  if (more === null) return null;
  return forbidden(policy, more, "must be left to the profile (only_profiles); ttl alone may be said");
}

type Field = Exclude<keyof MachineOrder, "profile" | "ttl" | "attachments" | "without">;
const FIELDS: Readonly<Record<Field, string>> = {
  serverTypes: "server_type",
  regions: "region",
  arch: "arch",
  image: "image",
  labels: "labels",
  cloudInit: "cloud_init",
  enableIpv4: "enable_ipv4",
  enableIpv6: "enable_ipv6",
  keepOnFailure: "keep_on_failure",
};

/** The first field that an order says beside its profile and its length; an empty one is said as well. */
function moreThanProfile(said: MachineOrder): string | null {
  const [attached] = said.attachments ?? [];
  if (attached !== undefined) return attached.field;
  const [without] = said.without ?? [];
  if (without !== undefined) return MAKES[without];
  const more = Object.entries(FIELDS).find(([key]) => Reflect.get(said, key) !== undefined);
  return more?.[1] ?? null;
}

/** An empty one counts as well: it would take the place of the profile's. */
function checkCloudInit(policy: Policy, { cloudInit }: MachineOrder): Refused | null {
  return cloudInit === undefined || policy.takesCloudInit
    ? null
    : forbidden(policy, "cloud_init", "must be left out (cloud_init: false)");
}

/** A snapshot is named by its id or by labels; a system image has a name, and an id as well, which nothing here tells apart. */
function checkSnapshot(policy: Policy, { image }: MachineOrder): Refused | null {
  const isName = image === undefined || (typeof image === "string" && Number.isNaN(Number(image)));
  return isName || policy.may.includes("snapshots")
    ? null
    : forbidden(policy, "image", "must be a system image by its name: this policy boots no snapshots (may)");
}

function checkSpeltOut(policy: Policy, { attachments = [] }: MachineOrder): Refused | null {
  for (const { by, kind, field } of attachments) {
    const refusal = by === "spec" ? checkMay(policy, MAKES[kind], field) : null;
    if (refusal !== null) return refusal;
  }
  return null;
}

/** What a label selector has, but neither an image's name nor the key of a label alone. */
const SELECTS = /[=!\s()]/;

/** A selector that fitted a pattern of names could go on to say anything: it must be written in the policy as it is. */
function checkImage(policy: Policy, { image, isImageSelector }: MachineRequest): Refused | null {
  const { images } = policy;
  if (!isImageSelector) return checkName(policy, "images", images, image, "image");
  const isListed = images === null || (SELECTS.test(image) && images.includes(image));
  return isListed ? null : forbidden(policy, "image", listed("images", images));
}

function checkPlaces(policy: Policy, { serverTypes = [], regions, attachments = [] }: CompleteOrder): Refused | null {
  for (const [index, type] of serverTypes.entries()) {
    const field = serverTypes.length === 1 ? "server_type" : `server_type.${index}`;
    const refusal = checkName(policy, "server_types", policy.serverTypes, type, field);
    if (refusal !== null) return refusal;
  }
  for (const [index, region] of regions.entries()) {
    const field = regions.length === 1 ? "region" : `region.${index}`;
    const refusal = checkName(policy, "regions", policy.regions, region, field);
    if (refusal !== null) return refusal;
  }
  for (const one of attachments) {
    if (one.by !== "spec" || one.spec.kind !== "network") continue;
    const refusal = checkName(policy, "regions", policy.regions, one.spec.region, one.field);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** What stands in the provider's project is somebody's, and the policy alone says whose may be used: a profile's word does not do. */
function checkExisting(policy: Policy, { attachments = [] }: CompleteOrder): Refused | null {
  for (const one of attachments) {
    const usable = one.kind === "ssh_key" ? [] : policy.existing[one.kind];
    if (one.by !== "id" || usable.includes(one.id)) continue;
    const which = ["one of your own", ...usable.map(existingText)].join(", or ");
    return forbidden(policy, one.field, `must be ${which} (${MAKES[one.kind]})`);
  }
  return null;
}

function checkFirewall(policy: Policy, { attachments = [] }: CompleteOrder): Refused | null {
  const isGuarded = attachments.some(({ kind }) => kind === "firewall");
  return !policy.needsFirewall || isGuarded
    ? null
    : forbidden(policy, "firewalls", "must name at least one, which takes a public address (needs_firewall)");
}

/**
 * Whether a policy lets its callers change what their machines are attached to; `field` is where the machines were named. Under
 * `only_profiles` that is the profile's word, after the create as at it. Null where it does.
 */
export const checkChange = (policy: Policy, field: string): Refused | null =>
  policy.onlyProfiles ? forbidden(policy, field, "must be left as their profile made them (only_profiles)") : null;

/** What is said to whoever takes its last firewall off a machine under a policy that needs one; `field` is where that was named. */
export const lastFirewall = (policy: Policy, field: string): Refused =>
  forbidden(policy, field, "must have another firewall that guards it already (needs_firewall)");

function checkName(
  policy: Policy,
  key: string,
  patterns: readonly string[] | null,
  name: string,
  field: string,
): Refused | null {
  return fitsOne(patterns, name) ? null : forbidden(policy, field, listed(key, patterns));
}

const listed = (key: string, patterns: readonly string[] | null): string =>
  `must be one of ${(patterns ?? []).join(", ")} (${key})`;

const forbidden = (policy: Policy, field: string, rule: string): Refused =>
  refused({
    code: "forbidden",
    message: `Under the policy ${policy.name} \`${field}\` ${rule}.`,
    next: "Ask for what the policy allows.",
    problem: { field, rule },
    policy: policy.name,
  });
