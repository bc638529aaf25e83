import { invalid, valid, type Checked } from "./validation.ts";
import type { Labels } from "./machine.ts";
import { isOwner } from "./name.ts";

/** The labels that every resource of ours carries from the create call on. Callers can neither set nor select them. */
export const LABEL = {
  managed: "mayfly-managed",
  uid: "mayfly-uid",
  installation: "mayfly-installation",
  owner: "mayfly-owner",
  /** Of machines alone: what they count against. */
  account: "mayfly-account",
  name: "mayfly-name",
  /** Unix seconds. */
  expires: "mayfly-expires",
  /** Unix seconds. */
  max: "mayfly-max",
  /** Unix seconds: what the reaper falls back on where the provider gives no creation time. */
  created: "created",
} as const;

/** Whoever runs this puts it on snapshots that callers may boot, with any value. Every other one is somebody's disk. */
export const IMAGE_LABEL = "mayfly-image";

/** What {@link ourLabels} are made of. Times unix milliseconds. */
interface Promised {
  readonly uid: string;
  readonly installation: string;
  readonly owner: string;
  /** Left out of what counts against none. */
  readonly account?: string;
  readonly name: string;
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly maxUntil: number;
}

/** All of our labels, as they are part of every create call (P2, P22). */
export const ourLabels = (row: Promised): Labels => ({
  [LABEL.managed]: "true",
  [LABEL.uid]: row.uid,
  [LABEL.installation]: row.installation,
  [LABEL.owner]: row.owner,
  ...(row.account === undefined ? {} : { [LABEL.account]: row.account }),
  [LABEL.name]: row.name,
  [LABEL.expires]: labelSeconds(row.expiresAt),
  [LABEL.max]: labelSeconds(row.maxUntil),
  [LABEL.created]: labelSeconds(row.requestedAt),
});

/** A time as a label tells it: unix seconds. */
export const labelSeconds = (milliseconds: number): string => String(Math.floor(milliseconds / 1000));

/** The uid that a resource carries, in canonical lower case, whatever a provider made of it (P59); `""` for none (P4). */
export const uidIn = (labels: Labels): string => (labels[LABEL.uid] ?? "").toLowerCase();

/** What a machine counts against by its labels; null where they tell nothing that could be an account. */
export function accountIn(labels: Labels): string | null {
  const account = labels[LABEL.account] ?? "";
  return isOwner(account) ? account : null;
}

const MAX_LABELS = 32;
const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const DNS_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const PREFIX = new RegExp(`^${DNS_LABEL}(\\.${DNS_LABEL})*$`);

/** Hetzner refuses a key with this in it, wherever it is: also `karpenter.hetzner.cloud/a`, and names with dots. */
const PROVIDERS_OWN = "hetzner.cloud";

/** Whether text can be a label key: an optional DNS prefix of at most 253, then a name of at most 63 (S29). */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash === -1) return NAME.test(key);
  const prefix = key.slice(0, slash);
  return prefix.length <= 253 && PREFIX.test(prefix) && NAME.test(key.slice(slash + 1));
}

/** Whether text can be a label value: empty, or at most 63 that begin and end alphanumerically (S30). */
export const isLabelValue = (value: string): boolean => value === "" || NAME.test(value);

/** Whether a key is ours alone to set. */
export const isReservedKey = (key: string): boolean => key.startsWith("mayfly-") || key === LABEL.created;

/** Checks labels that a provider must accept, ours included (S29-S31). */
export function checkProviderLabels(labels: Labels, field = "labels"): Checked<Labels> {
  for (const [key, value] of Object.entries(labels)) {
    if (key.includes(PROVIDERS_OWN))
      return invalid(
        `${field}.${shown(key)}`,
        `must not have ${PROVIDERS_OWN} in it: the provider keeps such keys to itself`,
      );
    if (!isLabelKey(key))
      return invalid(`${field}.${shown(key)}`, "must be a label key: letters, digits, `-`, `_`, `.`, at most 63");
    if (!isLabelValue(value))
      return invalid(
        `${field}.${key}`,
        "must be at most 63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit",
      );
  }
  return valid(labels);
}

/** Checks labels that a caller asks for: everything a provider accepts, save the keys that are ours. */
export function checkCallerLabels(labels: Labels): Checked<Labels> {
  if (Object.keys(labels).length > MAX_LABELS) return invalid("labels", `must be at most ${MAX_LABELS} pairs`);
  for (const key of Object.keys(labels))
    if (isReservedKey(key)) return invalid(`labels.${shown(key)}`, "is a key that mayfly sets itself");
  return checkProviderLabels(labels);
}

/** Whether two maps have the same pairs, in whichever order they stand. */
export function areSame(one: Labels, other: Labels): boolean {
  const [pairs, others] = [Object.entries(one), new Map(Object.entries(other))];
  return pairs.length === others.size && pairs.every(([key, value]) => others.get(key) === value);
}

const shown = (key: string): string => (key.length > 70 ? `${key.slice(0, 70)}…` : key);
