/**
 * The domain: what a machine is, and every rule that can be decided from data alone.
 *
 * Nothing here reads a clock, a network or a database; `now` is always unix milliseconds, passed in.
 * A {@link Machine} is what a provider says exists; a {@link MachineRow} is what mayfly promised about it.
 * `decide.ts` is where the two meet.
 */

import type { Priced, Prices } from "./money.ts";
import type { RowReason } from "./reason.ts";

/** What a provider says of a machine, normalised by its driver and never by callers (S1, S2, P1). */
export const LIVE_STATUSES = ["creating", "running", "stopped", "deleting", "unknown"] as const;
/** Every status a row can show: a provider's, or `destroyed` once nothing is left. */
export const STATUSES = [...LIVE_STATUSES, "destroyed"] as const;
export type LiveStatus = (typeof LIVE_STATUSES)[number];
export type Status = (typeof STATUSES)[number];

/** What mayfly is doing with a row. `destroyed` and `failed` rows are tombstones: their uid must never live again. */
export const PHASES = ["requested", "active", "destroying", "destroyed", "failed", "disowned"] as const;
export type Phase = (typeof PHASES)[number];
/** The phases in which a machine may exist, and so hold its name. */
export const LIVE_PHASES: readonly Phase[] = ["requested", "active", "destroying"];

export type Labels = Readonly<Record<string, string>>;

/** Firewalls and networks, by the provider's ids. */
export interface Attachments {
  readonly firewallIds: readonly string[];
  readonly networkIds: readonly string[];
}

/** The same as a provider shows them. */
export interface Attached extends Attachments {
  /** Of the firewalls those that do not guard it yet, or of which nobody knows: such a one is neither had nor missing. */
  readonly pendingFirewallIds: readonly string[];
}

/**
 * A provider-neutral view of an existing machine, with what it costs now at its own location (S63, S65). An address that is not there
 * is `""`, never null.
 */
export interface Machine extends Prices {
  /** Opaque outside its driver; stable for the machine's life (P3, P7). */
  readonly providerId: string;
  readonly name: string;
  readonly status: LiveStatus;
  readonly labels: Labels;
  /** False where the provider's answer had no labels to read: nothing follows from what `labels` lacks then. */
  readonly hasLabels: boolean;
  /** `amd64`, `arm64`, whatever else the provider says, or `""` (S56). */
  readonly arch: string;
  readonly serverType: string;
  readonly region: string;
  readonly publicIpv4: string;
  /** The base address of the machine's own /64, without a suffix (S57). */
  readonly publicIpv6: string;
  readonly privateIpv4: string;
  /** Unix milliseconds by the provider's clock; null when it gave none that can be read (S62, P48). */
  readonly createdAt: number | null;
  /** Provider ids of the firewalls and networks that are on it; null where that cannot be read. */
  readonly attached: Attached | null;
  /** The provider will refuse to destroy it until somebody lifts this (S49). */
  readonly deleteProtected: boolean;
}

/** What mayfly remembers of a machine. All times unix milliseconds. */
export interface MachineRow extends Priced {
  readonly uid: string;
  /** The uid that the machine's label tells, where that is not this row's: it was found beside another of the same uid. */
  readonly labelUid: string | null;
  readonly owner: string;
  readonly account: string;
  readonly name: string;
  readonly provider: string;
  readonly providerName: string;
  readonly providerId: string | null;
  readonly installation: string;
  /** Fingerprint of the provider credential it was made under. */
  readonly credential: string;
  readonly phase: Phase;
  readonly status: Status;
  /** Why it ended, or is about to; null while nothing is wrong. */
  readonly reason: RowReason | null;
  /** Identifies the body it was asked with; cloud-init itself is never stored. */
  readonly specSha256: string;
  /** A hash of each field of that body, by its name in the API; null where nobody knows. */
  readonly specFields: Readonly<Record<string, string>> | null;
  readonly serverType: string;
  readonly region: string;
  readonly image: string;
  readonly arch: string;
  readonly labels: Labels;
  readonly publicIpv4: string;
  readonly publicIpv6: string;
  readonly privateIpv4: string;
  readonly requestedAt: number;
  /** When its create was last tried; its launch deadline counts from there. */
  readonly triedAt: number | null;
  /** The provider's own stamp; null until it answered. */
  readonly createdAt: number | null;
  readonly expiresAt: number;
  readonly maxUntil: number;
  /** How long its owner wants to keep it when the job fails; null = not at all. */
  readonly keepOnFailureMs: number | null;
  /** The end that the label at the provider tells, as the provider last confirmed it. */
  readonly labelExpiresAt: number | null;
  /** When the provider last showed it. */
  readonly observedAt: number | null;
  /** What it was made with and has not been seen with yet; null = nothing to wait for. */
  readonly attachments: Attachments | null;
  /** When it was first looked for and not seen; null while it was not. */
  readonly missingSince: number | null;
  /** When it was first seen that another machine stands at its provider id; null while none was. */
  readonly mismatchedSince: number | null;
  /** Set by the owner's DELETE, and then for ever: nothing may bring this uid back. */
  readonly destroyRequestedAt: number | null;
  /** When the provider agreed to delete it; gone is proven later. */
  readonly deleteAcceptedAt: number | null;
  readonly destroyedAt: number | null;
  /** Failed attempts to destroy it so far. */
  readonly attempts: number;
  /** Nobody tries before this: an attempt under way, or a back-off. */
  readonly nextTryAt: number | null;
  readonly lastError: string | null;
}

/** What of a row its owner is shown, and what tells whether to look again first. */
export type ShownMachine = Omit<
  MachineRow,
  | "labelUid"
  | "installation"
  | "credential"
  | "specSha256"
  | "specFields"
  | "triedAt"
  | "keepOnFailureMs"
  | "labelExpiresAt"
  | "attachments"
  | "missingSince"
  | "mismatchedSince"
  | "destroyRequestedAt"
  | "deleteAcceptedAt"
  | "attempts"
  | "lastError"
>;

/** The uid by which the provider knows a row's machine. */
export const labelUidOf = ({ labelUid, uid }: Pick<MachineRow, "uid" | "labelUid">): string => labelUid ?? uid;

/** Whether a row was closed only because nobody saw its machine: no owner's word, no claim and no failure speaks against it. */
export const isEndedForAbsence = ({ phase, reason, destroyRequestedAt }: MachineRow): boolean =>
  (phase === "destroyed" || phase === "failed") &&
  (reason === "lost" || reason === "never_seen" || reason === "gone") &&
  destroyRequestedAt === null;

export const isLive = (row: MachineRow): boolean => LIVE_PHASES.includes(row.phase);
