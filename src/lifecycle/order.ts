import { MOST_ATTACHED, MOST_MADE_WITH, type Attachment } from "../machine/attachment.ts";
import { checkLife } from "../machine/lease.ts";
import type { Labels } from "../machine/machine.ts";
import type { ResourceKind } from "../machine/resource.ts";
import { checkRequest, DEFAULT_IMAGE, type MachineRequest } from "../machine/spec.ts";
import { invalid, valid, type Checked } from "../machine/validation.ts";

/**
 * All that a caller may ask of a machine. What is left out was not said, which is not the same as saying the default: the two are
 * different specs (`spec-hash.ts`).
 */
export interface MachineOrder {
  /** The name of a profile, which says what is left out here. */
  readonly profile?: string | undefined;
  /** In order of preference; left out where `arch` says what to pick from. */
  readonly serverTypes?: readonly string[] | undefined;
  /** In order of preference. */
  readonly regions?: readonly string[] | undefined;
  readonly arch?: string | undefined;
  /** A name, an id, or what labels the newest snapshot is to have. */
  readonly image?: string | number | { readonly labelSelector: string } | undefined;
  readonly labels?: Labels | undefined;
  readonly cloudInit?: string | undefined;
  readonly enableIpv4?: boolean | undefined;
  readonly enableIpv6?: boolean | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
  /** Kinds of which it is to have none, whatever its profile says. */
  readonly without?: readonly ResourceKind[] | undefined;
  /** A length, as `30m`; left out, the default. */
  readonly ttl?: string | undefined;
  /** A length; left out, a machine whose job failed is not kept. */
  readonly keepOnFailure?: string | undefined;
}

/** Templates of machines by their names. */
export type Profiles = ReadonlyMap<string, MachineOrder>;

/** An order with what its profile says, in which nothing is missing that has no default. */
export interface CompleteOrder extends MachineOrder {
  readonly regions: readonly string[];
}

/** An order that breaks no rule, its defaults filled in. */
export interface CheckedOrder {
  readonly order: CompleteOrder;
  readonly request: MachineRequest;
  readonly attachments: readonly Attachment[];
  /** Null = the default. */
  readonly ttlMs: number | null;
  /** Null = not at all. */
  readonly keepOnFailureMs: number | null;
}

/** What orders are checked by. */
export interface Ordering {
  readonly maxAgeMs: number;
  /** Those that may be named; whoever names another is told their names. */
  readonly profiles: Profiles;
}

/** Checks an order by every rule that needs neither provider nor database. The first broken rule is named. */
export function checkOrder(said: MachineOrder, { maxAgeMs, profiles }: Ordering): Checked<CheckedOrder> {
  const completed = complete(said, profiles);
  if (!completed.ok) return completed;
  const order = completed.value;
  const { attachments = [] } = order;
  if (order.serverTypes === undefined && order.arch === undefined)
    return invalid("server_type", "is required, unless `arch` says what to pick from, or a profile");
  const picked = checkPick(order);
  if (!picked.ok) return picked;
  const counted = checkNumber(attachments);
  if (!counted.ok) return counted;
  const request = checkRequest(requestOf(order), attachments);
  if (!request.ok) return request;
  const ttl = checkIfSaid("ttl", order.ttl, maxAgeMs);
  if (!ttl.ok) return ttl;
  const kept = checkIfSaid("keep_on_failure", order.keepOnFailure, maxAgeMs);
  if (!kept.ok) return kept;
  return valid({ order, request: request.value, attachments, ttlMs: ttl.value, keepOnFailureMs: kept.value });
}

/** Checks what a profile says by the rules that hold whatever a caller adds to it. */
export function checkProfile(profile: MachineOrder): Checked<MachineOrder> {
  const { attachments = [], ttl, keepOnFailure } = profile;
  const picked = checkPick(profile);
  if (!picked.ok) return picked;
  // How long is too long, the deployment that lends says.
  for (const length of [
    checkIfSaid("ttl", ttl, Number.POSITIVE_INFINITY),
    checkIfSaid("keep_on_failure", keepOnFailure, Number.POSITIVE_INFINITY),
  ])
    if (!length.ok) return length;
  const counted = checkNumber(attachments);
  if (!counted.ok) return counted;
  // Whether anything can reach the machine, the caller's fields decide as well.
  const request = checkRequest({ ...requestOf(profile), enableIpv6: true }, attachments);
  return request.ok ? valid(profile) : request;
}

const checkPick = ({ serverTypes, arch }: MachineOrder): Checked<void> =>
  serverTypes !== undefined && arch !== undefined
    ? invalid("arch", "must be left out where server_type is given: a type has its own")
    : valid(undefined);

/** What was said, and of what was not, what the profile says. */
function complete(said: MachineOrder, profiles: Profiles): Checked<CompleteOrder> {
  const profile = said.profile === undefined ? {} : profiles.get(said.profile);
  if (profile === undefined) return invalid("profile", unknownProfile(profiles));
  const merged = said.profile === undefined ? said : merge(said, profile);
  const { regions } = merged;
  const [region] = regions ?? [];
  if (regions === undefined || region === undefined) return invalid("region", "is required, unless a profile says it");
  return valid({ ...merged, regions, attachments: (merged.attachments ?? []).map((one) => placed(one, region)) });
}

const unknownProfile = (profiles: Profiles): string =>
  profiles.size === 0
    ? "must be left out: there are no profiles to name"
    : `must be one of ${[...profiles.keys()].toSorted().join(", ")}`;

function merge(said: MachineOrder, profile: MachineOrder): MachineOrder {
  const sent = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  // Type and architecture stand for each other: whichever was said, the profile's word for the other is overruled.
  const picks =
    said.serverTypes === undefined && said.arch === undefined ? {} : { serverTypes: undefined, arch: undefined };
  const isSaid = ({ kind }: Attachment): boolean =>
    said.without?.includes(kind) === true || said.attachments?.some((one) => one.kind === kind) === true;
  return {
    ...profile,
    ...picks,
    ...sent,
    ...(profile.labels && said.labels ? { labels: { ...profile.labels, ...said.labels } } : {}),
    attachments: [
      ...(said.attachments ?? []),
      ...(profile.attachments ?? []).filter((one) => !isSaid(one)).map((one) => located(one, "")),
    ],
  };
}

/** A network that is made with a machine is where the machine is tried first, wherever its profile would have tried it. */
const placed = (one: Attachment, region: string): Attachment =>
  one.by === "spec" && one.spec.kind === "network" && one.spec.region === "" ? located(one, region) : one;

const located = (one: Attachment, region: string): Attachment =>
  one.by === "spec" && one.spec.kind === "network" ? { ...one, spec: { ...one.spec, region } } : one;

function checkNumber(attachments: readonly Attachment[]): Checked<readonly Attachment[]> {
  const [made] = attachments.filter(({ by }) => by === "spec").slice(MOST_MADE_WITH);
  if (made !== undefined)
    return invalid(made.field, `must be created before: at most ${MOST_MADE_WITH} are made with a machine`);
  const isBeyond = (one: Attachment): boolean =>
    attachments.filter(({ kind }) => kind === one.kind).indexOf(one) >= MOST_ATTACHED[one.kind];
  const beyond = attachments.find(isBeyond);
  return beyond === undefined
    ? valid(attachments)
    : invalid(beyond.field, `must be left out: a machine takes at most ${MOST_ATTACHED[beyond.kind]} of them`);
}

const checkIfSaid = (field: string, text: string | undefined, maxAgeMs: number): Checked<number | null> =>
  text === undefined ? valid(null) : checkLife(field, text, maxAgeMs);

const requestOf = ({ image, cloudInit, labels, enableIpv4, enableIpv6 }: MachineOrder): MachineRequest => ({
  image: typeof image === "object" ? image.labelSelector.trim() : String(image ?? DEFAULT_IMAGE),
  isImageSelector: typeof image === "object",
  cloudInit: cloudInit ?? "",
  labels: labels ?? {},
  enableIpv4: enableIpv4 ?? true,
  enableIpv6: enableIpv6 ?? true,
});
