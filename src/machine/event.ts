/** What is remembered of each thing that happened: to which machine, on whose word, why, and what it had cost by then. */
import { costMicroEur, type Priced } from "./money.ts";
import type { RowReason } from "./reason.ts";

/** What happens to machines; then what an admin does besides. */
export const EVENT_KINDS = [
  "requested",
  "created",
  "adopted",
  "renewed",
  "kept",
  "destroy_requested",
  "destroyed",
  "failed",
  "disowned",
  "token_minted",
  "token_revoked",
  "hold_released",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** After these a machine is no longer: `failed` never came to be, `disowned` was given up. */
const ENDINGS: readonly string[] = ["destroyed", "failed", "disowned"] satisfies readonly EventKind[];

/** On whose word something happened: what a caller has shown, or the sweep of that number. Never a secret. */
export type Word =
  | { readonly by: "admin_token" }
  | { readonly by: "token"; readonly id: string }
  /** The claims that count, as text. */
  | { readonly by: "oidc"; readonly issuer: string; readonly claims: Readonly<Record<string, string>> }
  /** The hook and the sender's id for the event. */
  | { readonly by: "hook"; readonly hook: string; readonly delivery: string }
  | { readonly by: "sweep"; readonly id: number };

/** One event. What an older version did not keep is null. */
export interface EventRow extends Priced {
  readonly id: number;
  /** Unix milliseconds. */
  readonly at: number;
  /** `unknown` is a word of another version. */
  readonly kind: EventKind | "unknown";
  readonly reason: RowReason | null;
  /** The machine; null where it is about none, or about one that had no row. */
  readonly uid: string | null;
  readonly name: string | null;
  readonly owner: string | null;
  readonly account: string | null;
  /** Null where nobody knows. */
  readonly word: Word | null;
  readonly requestId: string | null;
  /** What else it is about. */
  readonly detail: EventDetail;
  /** Since when the provider had the machine, unix milliseconds; null while it had said nothing. */
  readonly createdAt: number | null;
}

/** A token by its id, a hold by its name; a machine that no row tells of, by the provider's id for it. */
export interface EventDetail {
  readonly token?: string | undefined;
  readonly hold?: string | undefined;
  readonly providerId?: string | undefined;
}

/** How long a machine lived, in milliseconds, and what it cost: both null where that is unknown. */
export interface Toll {
  readonly livedMs: number | null;
  readonly costMicroEur: number | null;
}

/** What an ending tells of the life before it; null of every other event. One that never came to be lived for nothing and cost nothing. */
export function tollOf(event: EventRow): Toll | null {
  const { kind, at, account, word, detail, createdAt } = event;
  if (!ENDINGS.includes(kind)) return null;
  // An older version kept neither account, word nor price; and what the provider had without a row was no figment, whatever its age.
  const isOld = account === null && word === null;
  const isAgeless = createdAt === null && detail.providerId !== undefined;
  if (isOld || isAgeless) return { livedMs: null, costMicroEur: null };
  return {
    livedMs: createdAt === null ? 0 : Math.max(0, at - createdAt),
    costMicroEur: costMicroEur({ ...event, providerId: null, destroyedAt: at }, at),
  };
}
