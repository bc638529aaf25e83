import { isOurs } from "./ownership.ts";
import type { Rules } from "./rules.ts";
import { uidIn } from "./labels.ts";
import type { FirewallRule } from "./firewall.ts";
import type { Labels } from "./machine.ts";
import { checkName, isUid, type Ref } from "./name.ts";
import type { RowReason } from "./reason.ts";
import { invalid, valid, type Checked } from "./validation.ts";

/** What machines need beside them, in the order in which it is taken down once they are gone (S52). */
export const RESOURCE_KINDS = ["firewall", "network", "ssh_key"] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** What is asked for. Two that are equal mean the same thing. */
export type ResourceSpec =
  | { readonly kind: "firewall"; readonly rules: readonly FirewallRule[]; readonly denyAll: boolean }
  | { readonly kind: "network"; readonly ipRange: string; readonly region: string }
  /** `type base64`, without the comment. */
  | { readonly kind: "ssh_key"; readonly publicKey: string };

/** A provider-neutral view of one that exists. */
export interface Resource {
  /** The provider's. */
  readonly id: string;
  readonly labels: Labels;
  /** False where the provider's answer had no labels to read. */
  readonly hasLabels: boolean;
  /** Unix milliseconds by the provider's clock; null when it gave none that can be read. */
  readonly createdAt: number | null;
  /** Provider ids of what is seen to use it; a key never tells. Null where that cannot be read. */
  readonly machineIds: readonly string[] | null;
  /** Of a key its bytes, as `ResourceSpec` has them; null elsewhere. */
  readonly material: string | null;
  /** Of a firewall the label selectors that it is applied to, as the provider writes them; none elsewhere, and where it cannot be read. */
  readonly selectors: readonly string[];
}

/** `deleted` and `failed` rows are tombstones, as with machines. */
export const RESOURCE_PHASES = ["requested", "active", "deleting", "deleted", "failed"] as const;

/** What mayfly remembers of one. All times unix milliseconds. */
export interface ResourceRow {
  readonly uid: string;
  /** The uid that its label tells, where that is not this row's: it was found beside another of the same uid. */
  readonly labelUid: string | null;
  readonly owner: string;
  readonly name: string;
  readonly provider: string;
  readonly providerName: string;
  readonly providerId: string | null;
  readonly installation: string;
  readonly phase: (typeof RESOURCE_PHASES)[number];
  /** Why it ended, or cannot end yet; null while nothing is wrong. */
  readonly reason: RowReason | null;
  readonly spec: ResourceSpec;
  /** Its owner's own. */
  readonly labels: Labels;
  readonly requestedAt: number;
  readonly createdAt: number | null;
  /** The end of its own lease. One that was made with a machine has none: it ends when no machine uses it. */
  readonly expiresAt: number;
  /** Set by its owner's DELETE, and then for ever. */
  readonly deleteRequestedAt: number | null;
  /** When it was first found past its end and used by nobody. */
  readonly idleSince: number | null;
  /** When it was first looked for without an id and not seen. */
  readonly missingSince: number | null;
  readonly deletedAt: number | null;
  readonly attempts: number;
  readonly nextTryAt: number | null;
  readonly lastError: string | null;
}

export const isLiveResource = ({ phase }: ResourceRow): boolean => phase !== "deleted" && phase !== "failed";

/** Whether it is there still and left alone, though its row has ended: its name is free here, and not at the provider. */
export const isGivenUp = ({ reason }: Pick<ResourceRow, "reason">): boolean => reason === "given_up";

export type ResourceStatus = "creating" | "active" | "deleting" | "deleted" | "failed";

/** How a row looks to its owner. */
export function resourceStatus({ phase, deleteRequestedAt }: ResourceRow): ResourceStatus {
  if (phase === "deleted" || phase === "failed") return phase;
  if (phase === "deleting" || deleteRequestedAt !== null) return "deleting";
  return phase === "requested" ? "creating" : "active";
}

/**
 * Whether what the provider shows is what a row was recorded for (I2): ours, of its uid and, where known, of its creation time. One
 * SSH key may serve many owners and carries the uid of the first; what it is its bytes say, which never change.
 */
export function isSameResource(row: ResourceRow, seen: Resource, rules: Pick<Rules, "installations">): boolean {
  if (!isOurs(seen, rules.installations)) return false;
  if (row.spec.kind === "ssh_key") return true;
  const isSameTime = row.createdAt === null || seen.createdAt === null || row.createdAt === seen.createdAt;
  return uidIn(seen.labels) === (row.labelUid ?? row.uid) && isSameTime;
}

const ID_PREFIXES: Readonly<Record<ResourceKind, string>> = { firewall: "fw_", network: "net_", ssh_key: "key_" };

/** The id that callers see. No name can look like it: names have no underscore. */
export const resourceId = (kind: ResourceKind, uid: string): string => ID_PREFIXES[kind] + uid;

/** Reads `{name or id}` of one kind. */
export function parseResourceRef(kind: ResourceKind, text: string, field = "ref"): Checked<Ref> {
  const prefix = ID_PREFIXES[kind];
  if (text.startsWith(prefix)) {
    const uid = text.slice(prefix.length);
    return isUid(uid) ? valid({ by: "uid", uid }) : invalid(field, `must be \`${prefix}\` and a UUID, or a name`);
  }
  const name = checkName(text, field);
  return name.ok ? valid({ by: "name", name: name.value }) : name;
}
