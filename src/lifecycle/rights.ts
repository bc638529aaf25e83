/** What a policy forbids, whichever way a call came. Each refusal names the policy, the field and the rule. */
import { fitsOne } from "../auth/pattern.ts";
import type { Makeable, Policy } from "../auth/policy.ts";
import { formatDuration } from "../machine/duration.ts";
import type { ResourceKind, ResourceSpec } from "../machine/resource.ts";
import type { CheckedOrder, CompleteOrder, MachineOrder } from "./order.ts";
import { done, refused, type Outcome, type Refused } from "./refusal.ts";

const MAKES: Readonly<Record<ResourceKind, Makeable>> = {
  firewall: "firewalls",
  network: "networks",
  ssh_key: "ssh_keys",
};

/** Whether a policy lets its callers make machines as ordered. `said` is what the caller sent, without what a profile adds. */
export function checkRights(policy: Policy, said: MachineOrder, checked: CheckedOrder): Outcome<void> {
  const { order, ttlMs, keepOnFailureMs } = checked;
  return (
    checkMay(policy, "machines", "machines") ??
    checkSaid(policy, said) ??
    checkImage(policy, checked) ??
    checkNames(policy, order) ??
    checkFirewall(policy, order) ??
    checkLength(policy, "ttl", ttlMs) ??
    checkLength(policy, "keep_on_failure", keepOnFailureMs) ??
    done(undefined)
  );
}

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
    next: `Ask for ${limit} or less, and renew.`,
    problem: { field, rule: `must be at most ${limit} (longest)` },
    policy: policy.name,
    figures: { limit, asked: formatDuration(lengthMs) },
  });
}

/** Whether a server type may be used, which was not named but found by its architecture. */
export const mayName = ({ serverTypes }: Policy, serverType: string): boolean => fitsOne(serverTypes, serverType);

function checkMay(policy: Policy, what: Makeable, field: string): Refused | null {
  return policy.may.includes(what)
    ? null
    : forbidden(policy, field, `must not be made under this policy (may: ${policy.may.join(", ") || "nothing"})`);
}

/** What only counts where the caller says it, and not where a profile does. */
function checkSaid(policy: Policy, said: MachineOrder): Refused | null {
  const { profile, cloudInit, attachments = [] } = said;
  if (profile !== undefined && !fitsOne(policy.profiles, profile))
    return forbidden(policy, "profile", listed("profiles", policy.profiles));
  if (policy.onlyProfiles) {
    if (profile === undefined) return forbidden(policy, "profile", "is required (only_profiles)");
    const more = moreThanProfile(said);
    if (more !== null)
      return forbidden(policy, more, "must be left to the profile (only_profiles); ttl alone may be said");
  }
  if (cloudInit !== undefined && !policy.takesCloudInit)
    return forbidden(policy, "cloud_init", "must be left out (cloud_init: false)");
  for (const { by, kind, field } of attachments) {
    const refusal = by === "spec" ? checkMay(policy, MAKES[kind], field) : null;
    if (refusal !== null) return refusal;
  }
  return null;
}

const FIELDS: Readonly<Record<keyof MachineOrder, string | null>> = {
  profile: null,
  ttl: null,
  serverTypes: "server_type",
  regions: "region",
  arch: "arch",
  image: "image",
  labels: "labels",
  cloudInit: "cloud_init",
  enableIpv4: "enable_ipv4",
  enableIpv6: "enable_ipv6",
  attachments: "attachments",
  without: "attachments",
  keepOnFailure: "keep_on_failure",
};

/** The first field that an order says beside its profile and its length. */
function moreThanProfile(said: MachineOrder): string | null {
  const [attached] = said.attachments ?? [];
  if (attached !== undefined) return attached.field;
  for (const [key, field] of Object.entries(FIELDS)) {
    const value: unknown = Reflect.get(said, key);
    const isSaid = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (field !== null && isSaid) return field;
  }
  return null;
}

/** A snapshot is named by an id or by labels; a system image has a name. */
function checkImage(policy: Policy, { request: { image, isImageSelector } }: CheckedOrder): Refused | null {
  const isSnapshot = isImageSelector || /^\d+$/.test(image);
  if (isSnapshot && !policy.may.includes("snapshots"))
    return forbidden(policy, "image", "must be a system image by its name: this policy boots no snapshots (may)");
  return checkName(policy, "images", policy.images, image, "image");
}

/** Whatever was said and by whom, each must be one that may be named. */
function checkNames(policy: Policy, { serverTypes = [], regions, attachments = [] }: CompleteOrder): Refused | null {
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

function checkFirewall(policy: Policy, { attachments = [] }: CompleteOrder): Refused | null {
  const isGuarded = attachments.some(({ kind }) => kind === "firewall");
  return !policy.needsFirewall || isGuarded
    ? null
    : forbidden(policy, "firewalls", "must name at least one (needs_firewall)");
}

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
    message: `\`${field}\` ${rule}: the policy ${policy.name} forbids it.`,
    next: "Ask for what the policy allows.",
    problem: { field, rule },
    policy: policy.name,
  });
