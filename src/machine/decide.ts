import { creationTime } from "./age.ts";
import { uidIn } from "./labels.ts";
import { endOf, isLaunchOver, labelEnd } from "./lease.ts";
import { isLive, type Machine, type MachineRow } from "./machine.ts";
import { isOurs, isSame } from "./ownership.ts";
import { isSecondLook, type Rules } from "./rules.ts";

export type Reason =
  | "foreign"
  | "provider_protected"
  | "dying"
  | "identity_mismatch"
  | "unreadable"
  | "late_landing"
  | "requested"
  | "expired"
  | "launch_failed"
  | "attach_failed"
  | "live"
  | "max_age"
  | "young"
  | "no_row"
  | "unknown_age";

export interface Verdict {
  /** `disown` gives the row up and leaves the machine alone. */
  readonly act: "keep" | "destroy" | "disown";
  readonly reason: Reason;
  /** Somebody should look: mayfly wanted to act and could not, or does not know what it sees. */
  readonly alert: boolean;
}

/**
 * The one decision that every deleting path and the dry run share; `docs/decide.md` is its table. First rule that fits
 * wins.
 *
 * `machine` is a fresh read. `row` is the row its uid label names, else the live row at its provider id, else null.
 */
export function decide(row: MachineRow | null, machine: Machine, now: number, rules: Rules): Verdict {
  const verdict = judge(row, machine, now, rules);
  return verdict.act === "destroy" && machine.deleteProtected ? alert("provider_protected") : verdict;
}

function judge(row: MachineRow | null, machine: Machine, now: number, rules: Rules): Verdict {
  const ours = isOurs(machine, rules.installations);
  if (row === null && !ours) return keep("foreign");
  if (ours && machine.status === "deleting") return keep("dying");
  if (row !== null && !machine.hasLabels) return alert("unreadable");
  if (row !== null && isLive(row) && row.providerId === machine.providerId && !isSame(row, machine))
    return isSecondLook(row.mismatchedSince, now)
      ? { ...alert("identity_mismatch"), act: "disown" }
      : alert("identity_mismatch");
  if (!ours) return keep("foreign");
  if (row === null || row.phase === "disowned") return judgeByLabels(machine, now, rules);
  if (!isLive(row)) return destroy("late_landing");
  if (row.destroyRequestedAt !== null) return destroy("requested");
  if (row.phase === "destroying") return destroy(DECIDED.find((one) => one === row.reason) ?? "expired");
  if (now >= endOf(row, machine)) return destroy("expired");
  if (!isAtItsBeginning(row, machine, now, rules)) return keep("live");
  if (row.status === "creating" && machine.status !== "running" && isLaunchOver(row, now, rules))
    return destroy("launch_failed");
  if (machine.status === "running" && lacks(row, machine, now, rules)) return destroy("attach_failed");
  return keep("live");
}

/** So long after its launch deadline a machine that nobody has judged is left to its lease. */
const JUDGED_MS = 3_600_000;

/** Whether what a row says of a machine's beginning may be believed: it is no old story, and the row has not been set back. */
const isAtItsBeginning = (row: MachineRow, machine: Machine, now: number, { launchDeadlineMs }: Rules): boolean =>
  now <= (row.triedAt ?? row.requestedAt) + launchDeadlineMs + JUDGED_MS && endOf(row, machine) <= row.expiresAt;

/** What was decided over a live machine before its end, and is still to be brought about. */
const DECIDED = ["launch_failed", "attach_failed"] as const;
/** A firewall is on a machine from its creation on, applied or still to be; so long after it one that is not will not come. */
const FIREWALL_MS = 2 * 60_000;

/** Whether a machine is without a firewall or a network that it was made with, and nothing more is to be expected. */
function lacks(row: MachineRow, { attached }: Machine, now: number, rules: Rules): boolean {
  const { attachments } = row;
  if (attachments === null || attached === null) return false;
  const isOpen = !hasAll(attachments.firewallIds, attached.firewallIds);
  const isApart = !hasAll(attachments.networkIds, attached.networkIds);
  return (
    (isOpen && now - (row.createdAt ?? row.requestedAt) > FIREWALL_MS) || (isApart && isLaunchOver(row, now, rules))
  );
}

const hasAll = (these: readonly string[], those: readonly string[]): boolean => these.every((id) => those.includes(id));

/** Whether a machine is seen with all that it was made with. */
export const isComplete = ({ attachments }: MachineRow, machine: Machine): boolean =>
  attachments !== null &&
  machine.attached !== null &&
  hasAll(attachments.firewallIds, machine.attached.firewallIds) &&
  hasAll(attachments.networkIds, machine.attached.networkIds);

/** An hour past the end that a label tells, a machine is overdue even where no row can be asked. */
const OVERDUE_MS = 3_600_000;

/**
 * The decision while D1 refuses, by what the provider shows alone: that nobody can say whether there is a row is no reason to
 * let machines live for ever, and no reason to end one early.
 */
export function decideBlind(machine: Machine, now: number, rules: Rules): Verdict {
  const verdict = decide(null, machine, now, rules);
  if (verdict.reason !== "no_row" && verdict.reason !== "young") return verdict;
  const created = creationTime(machine);
  const end = created === null ? null : labelEnd(machine, created, rules);
  if (end === null || now - end < OVERDUE_MS) return verdict;
  return machine.deleteProtected ? alert("provider_protected") : destroy("expired");
}

function judgeByLabels(machine: Machine, now: number, rules: Rules): Verdict {
  const created = creationTime(machine);
  if (created === null) return keep("unknown_age");
  const age = now - created;
  const end = labelEnd(machine, created, rules);
  if (age > rules.maxAgeMs && (end === null || now >= end)) return destroy("max_age");
  return keep(age < rules.graceMs ? "young" : "no_row");
}

/**
 * The same decision where a reconcile meets a machine without a row of its own. It is never destroyed for that: it gets a row with its
 * labels' owner and lease, and dies by the one normal path. `row` is the row that its id or its uid label finds.
 */
export function decideRowless(
  row: MachineRow | null,
  machine: Machine,
  now: number,
  rules: Rules,
):
  | Verdict
  | { readonly act: "adopt"; readonly reason: "no_row" | "duplicate" | "unknown_age"; readonly alert: boolean } {
  const isElsewhere = row !== null && isLive(row) && row.providerId !== null && row.providerId !== machine.providerId;
  if (isElsewhere && isOurs(machine, rules.installations) && machine.status !== "deleting")
    return { act: "adopt", reason: "duplicate", alert: true };
  const verdict = decide(row, machine, now, rules);
  // Nobody could ever say whose it is; `MAX_AGE` ends it all the same.
  if (uidIn(machine.labels) === "") return verdict;
  if (verdict.reason === "no_row") return { act: "adopt", reason: "no_row", alert: false };
  if (verdict.reason === "unknown_age") return { act: "adopt", reason: "unknown_age", alert: false };
  return verdict;
}

const keep = (reason: Reason): Verdict => ({ act: "keep", reason, alert: false });
const alert = (reason: Reason): Verdict => ({ act: "keep", reason, alert: true });
const destroy = (reason: Reason): Verdict => ({ act: "destroy", reason, alert: false });
