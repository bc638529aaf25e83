/** What a signed event asks for, as it is remembered: which machine, what is to become of it, and how recent the fact is. */
import type { Labels } from "./machine.ts";

export const DELIVERY_ACTS = ["create", "renew", "destroy"] as const;
export type DeliveryAct = (typeof DELIVERY_ACTS)[number];

/**
 * `pending`: it is still to be carried out. `done`: it was. `ignored`: a newer fact came first, or it is too old. `refused`: it was
 * not to be, and is not tried any more.
 */
export const DELIVERY_STATES = ["pending", "done", "ignored", "refused"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One thing that one event asks for. Times unix milliseconds. */
export interface NewDelivery {
  readonly uid: string;
  readonly hook: string;
  /** The sender's own id for the event; the same fact may come under several. */
  readonly delivery: string;
  /** Which rule of the hook it was; null where it has none. */
  readonly rule: number | null;
  /** The id of the repository or project that it came from; null where the sender has none. */
  readonly source: string | null;
  readonly owner: string;
  readonly name: string;
  readonly act: DeliveryAct;
  /** When the fact was so: of two facts about a machine the later counts. */
  readonly rank: number;
  /** A length, as `30m`; null = the profile's, or the default. */
  readonly ttl: string | null;
  readonly labels: Labels;
  readonly receivedAt: number;
}

export interface DeliveryRow extends NewDelivery {
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Nobody else tries before this. */
  readonly nextTryAt: number | null;
  readonly finishedAt: number | null;
  /** The machine that it made, renewed or ended; null while there is none. */
  readonly machineUid: string | null;
  /** Why it was not carried out, or not yet: the code of a refusal, or a word of {@link DeliveryReason}. */
  readonly reason: string | null;
  readonly detail: string | null;
}

/**
 * `outranked`: a newer fact about the machine came before, of a create or renewal also an end as recent. `too_old`: it may be a replay. `hook_gone`, `source_gone`: the configuration has
 * it no more. `no_machine`: there was none to renew. `creating`: its machine is on the way.
 */
export type DeliveryReason = "outranked" | "too_old" | "hook_gone" | "source_gone" | "no_machine" | "creating";

/** So long a `destroy` keeps older facts from making its machine again, and a `create` from ending it: longer than any `create` may be late. */
export const RANK_MEMORY_MS = 2 * 86_400_000;

/** What is ranked before that makes nothing: senders that sign no time can be replayed. */
export const OLDEST_RANK_MS = 86_400_000;
