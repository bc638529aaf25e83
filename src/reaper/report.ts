import type { DriverErrorCode } from "../driver/driver.ts";
import { LABEL } from "../machine/labels.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { idOf } from "../machine/name.ts";
import type { Reason, ResourceReason } from "../machine/reason.ts";
import { resourceId, type ResourceKind } from "../machine/resource.ts";
import type { StopReason } from "./pace.ts";

/** Why something failed: the driver's word for it, or ours. */
export type FailureReason = DriverErrorCode | "store_unavailable" | "internal";

/** What a report says of one machine or resource. Stable; sentences for people stand beside it, as `detail`. */
export type SweepReason =
  | Reason
  | StopReason
  | FailureReason
  /** More would die early than a sweep may bring about. */
  | "held"
  /** The provider agreed to delete it, and did not. */
  | "delete_failed"
  | "backing_off"
  | "adopted"
  | "installation_shared"
  /** Its label was behind its lease and has been written; could not be written. */
  | "label"
  | "label_behind"
  /** What an event asked for was done; will never be; is tried again later. */
  | "carried_out"
  | "refused"
  | "put_off"
  | ResourceReason;

export interface SweepOrder {
  readonly startedBy: "cron" | "admin" | "create";
  /** Decides everything and does nothing. */
  readonly dryRun: boolean;
}

/** What became of one machine, or one resource, that a phase looked at; under a dry run, what would have become of it. */
export interface Item {
  /** What it is where it is no machine. */
  readonly kind?: ResourceKind;
  /** Null where the machine has no row, or nobody asked. */
  readonly uid: string | null;
  /** Whose it is and what its owner calls it, where anybody knows. */
  readonly owner: string | null;
  readonly name: string | null;
  readonly providerId: string | null;
  /**
   * `accepted`: the provider agreed to delete it. `destroyed`: that is proven. `kept`: not due after all. `alert`: somebody has to act. `error`: will be
   * tried again. `remaining`: due, and not tried this time. `unknown_age`: nobody knows how old it is. `settled`: a create or a
   * destroy that was under way is known to its end, or a label caught up with its lease.
   */
  readonly outcome: "accepted" | "destroyed" | "kept" | "alert" | "error" | "remaining" | "unknown_age" | "settled";
  readonly reason: SweepReason;
  /** The same for people, where there is more to say. */
  readonly detail: string | null;
}

type Named = Pick<MachineRow, "uid" | "owner" | "name">;

/** By what an item names its machine: by its row; where it has none, by what its labels tell. */
export const namesOf = (row: Named | null, labels: Machine["labels"] = {}): Pick<Item, keyof Named> =>
  row === null
    ? { uid: null, owner: labels[LABEL.owner] ?? null, name: labels[LABEL.name] ?? null }
    : { uid: row.uid, owner: row.owner, name: row.name };

/** What became of a row's machine. */
export const itemOf = (
  row: Named & Pick<MachineRow, "providerId">,
  outcome: Item["outcome"],
  reason: SweepReason,
  detail: string | null = null,
): Item => ({ ...namesOf(row), providerId: row.providerId, outcome, reason, detail });

export interface PhaseReport {
  readonly phase: "expire" | "reap" | "settle" | "reconcile" | "orphans" | "hooks" | "history";
  readonly items: readonly Item[];
  /** Why the phase as a whole could not run, or not to its end; null when it could. */
  readonly failure: string | null;
  /** Why it left something to the next sweep: what it names as `remaining`, or what it did not look at any more. Null where it did not. */
  readonly whyRemaining: SweepReason | null;
}

export interface SweepReport extends SweepOrder {
  /** Null while it is not kept: a dry run, or a sweep without news. */
  readonly id: number | null;
  /** Unix milliseconds, all three. */
  readonly scheduledAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly phases: readonly PhaseReport[];
  readonly fetches: number;
  readonly statements: number;
}

/** Why something remains, as the first item says of which that is told; null where none does. */
export const remainingIn = (items: readonly Item[]): SweepReason | null =>
  items.find(({ outcome }) => outcome === "remaining")?.reason ?? null;

/** `failed`: a phase could not do its work. `partial`: something due still lives. */
export function reportOutcome(phases: readonly PhaseReport[]): "ok" | "partial" | "failed" {
  if (phases.some(({ failure }) => failure !== null)) return "failed";
  const open = phases
    .flatMap(({ items }) => items)
    .some(({ outcome }) => outcome === "error" || outcome === "remaining");
  return open ? "partial" : "ok";
}

/** Whether a report is worth a row: something was done, failed or held. */
export const hasNews = ({ phases }: SweepReport): boolean =>
  phases.some(({ items, failure }) => failure !== null || items.some(({ outcome }) => !QUIET.has(outcome)));
const QUIET: ReadonlySet<Item["outcome"]> = new Set(["kept", "unknown_age", "settled"]);

/** Whether a machine was destroyed, or the provider agreed to. */
export const hasEnded = ({ phases }: SweepReport): boolean =>
  phases.some(({ items }) => items.some(({ outcome }) => outcome === "accepted" || outcome === "destroyed"));

const OUTCOMES = ["accepted", "destroyed", "kept", "alert", "error", "remaining", "unknown_age", "settled"] as const;
/** Of each outcome so many are named; the counts tell of all. A report must fit a row, however large the fleet. */
const MOST_NAMED = 100;

/** The id that callers know. */
function idIn({ uid, kind }: Item): string | null {
  if (uid === null) return null;
  return kind === undefined ? idOf(uid) : resourceId(kind, uid);
}

const itemJson = (item: Item) => ({
  id: idIn(item),
  owner: item.owner,
  name: item.name,
  provider_id: item.providerId,
  reason: item.reason,
  detail: item.detail,
});

/** A report in the words of the API. */
export function reportJson(report: SweepReport) {
  const time = (at: number) => new Date(at).toISOString();
  return {
    started_by: report.startedBy,
    dry_run: report.dryRun,
    scheduled_at: time(report.scheduledAt),
    started_at: time(report.startedAt),
    finished_at: time(report.finishedAt),
    outcome: reportOutcome(report.phases),
    phases: report.phases.map(({ phase, items, failure, whyRemaining }) => {
      const those = (outcome: Item["outcome"]) =>
        items
          .filter((item) => item.outcome === outcome)
          .slice(0, MOST_NAMED)
          .map(itemJson);
      return {
        phase,
        counts: Object.fromEntries(
          OUTCOMES.map((outcome) => [outcome, items.filter((item) => item.outcome === outcome).length]),
        ),
        accepted: those("accepted"),
        destroyed: those("destroyed"),
        kept: those("kept"),
        alerts: those("alert"),
        errors: those("error"),
        remaining: those("remaining"),
        why_remaining: whyRemaining,
        unknown_age: those("unknown_age"),
        settled: those("settled"),
        failure,
      };
    }),
    fetches: report.fetches,
    statements: report.statements,
  };
}

/** What the log is told of a sweep: one line for it, and one for each alert, which somebody may want to be woken by. */
export function logLines(report: SweepReport) {
  const alerts = report.phases.flatMap(({ phase, items }) =>
    items
      .filter(({ outcome }) => outcome === "alert")
      .map((item) => ({
        event: "alert" as const,
        phase,
        [item.kind ?? "machine"]: idIn(item),
        owner: item.owner,
        name: item.name,
        provider_id: item.providerId,
        reason: item.reason,
        detail: item.detail,
      })),
  );
  return [...alerts, { event: "sweep" as const, id: report.id, ...reportJson(report) }];
}
