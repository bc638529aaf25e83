import { creationTime } from "./age.ts";
import { isWithout } from "./attachment.ts";
import { uidIn } from "./labels.ts";
import { endOf, isAtItsBeginning, isLaunchOver, labelEnd, promiseOf } from "./lease.ts";
import { isEndedForAbsence, isLive, type Machine, type MachineRow } from "./machine.ts";
import { isOurs, isSame } from "./ownership.ts";
import { isEarlyDeath, type Reason } from "./reason.ts";
import { isSecondLook, type Rules } from "./rules.ts";
import { present, type Absent, type Present, type Sighting } from "./sighting.ts";

export interface Verdict {
  /**
   * `close` ends a row whose machine is not there. `disown` gives the row up and leaves the machine alone. `adopt` gives the machine
   * a row of its own.
   */
  readonly act: "keep" | "destroy" | "close" | "disown" | "adopt";
  readonly reason: Reason;
  /** Somebody should look: mayfly wanted to act and could not, or does not know what it sees. */
  readonly alert: boolean;
}

/**
 * The one decision that every path shares, the dry run included; `docs/decide.md` is its table, line by line. The first line that
 * fits wins: what a machine is comes before what its row says, an owner's word before an end, an end before a failed beginning.
 *
 * `row` is the live row at the machine's provider id, else the row that its uid label names, else null.
 */
export function decide(row: MachineRow | null, sighting: Sighting, now: number, rules: Rules): Verdict {
  if (sighting.seen !== "present")
    return row === null || sighting.seen === "unknown" ? keep("not_seen") : judgeAbsent(row, sighting, now, rules);
  const verdict = judge(row, sighting, now, rules);
  return verdict.act === "destroy" && sighting.machine.deleteProtected ? alert("provider_protected") : verdict;
}

/** So long after it agreed to delete a machine, a provider that still shows it alive has not done so. */
const DELETE_MS = 60_000;

function judge(row: MachineRow | null, { machine, isInventory }: Present, now: number, rules: Rules): Verdict {
  const ours = isOurs(machine, rules.installations);
  const known = row !== null && isLive(row) ? row : null;
  if (row === null && !ours) return keep("foreign");
  if (ours && machine.status === "deleting") return keep("dying");
  if (known?.deleteAcceptedAt && now - known.deleteAcceptedAt <= DELETE_MS) return keep("dying");
  if (!machine.hasLabels) return alert("unreadable");
  if (known?.providerId === machine.providerId && !isSame(known, machine))
    return isSecondLook(known.mismatchedSince, now)
      ? { ...alert("identity_mismatch"), act: "disown" }
      : alert("identity_mismatch");
  if (!ours) return keep("foreign");
  if (row === null || row.phase === "disowned") return judgeRowless(machine, isInventory, now, rules);
  if (isEndedForAbsence(row)) return judgeReappeared(row, { machine, isInventory }, now, rules);
  if (known === null) return destroy("late_landing");
  if (isInventory && known.providerId !== null && known.providerId !== machine.providerId)
    return { ...alert("duplicate"), act: "adopt" };
  return judgeLive(known, machine, now, rules);
}

function judgeLive(row: MachineRow, machine: Machine, now: number, rules: Rules): Verdict {
  if (row.destroyRequestedAt !== null) return destroy("requested");
  if (row.phase === "destroying") return destroy(isEarlyDeath(row.reason) ? row.reason : "expired");
  if (now >= endOf(row, machine)) return destroy("expired");
  if (!isAtItsBeginning(row, machine, now, rules)) return keep("live");
  const isLate = isLaunchOver(row, now, rules);
  if (row.status === "creating" && machine.status !== "running" && isLate) return destroy("launch_failed");
  if (machine.status !== "running") return keep("live");
  const isFirewallLate = now - (row.createdAt ?? row.requestedAt) > FIREWALL_MS;
  const isBare =
    (isFirewallLate && isWithout(row, machine, "firewallIds")) || (isLate && isWithout(row, machine, "networkIds"));
  return isBare ? destroy("attach_failed") : keep("live");
}

/** A firewall is on a machine from its creation on, applied or still to be; so long after it one that is not will not come. */
const FIREWALL_MS = 2 * 60_000;

function judgeRowless(machine: Machine, isInventory: boolean, now: number, rules: Rules): Verdict {
  const created = creationTime(machine, now);
  const isNobodys = isInventory && uidIn(machine.labels) === "";
  if (created === null)
    return isNobodys ? alert("unattributed") : { ...keep("unknown_age"), act: isInventory ? "adopt" : "keep" };
  const age = now - created;
  const end = labelEnd(machine, created, rules);
  if (age > rules.maxAgeMs && (end === null || now >= end)) return destroy("max_age");
  if (age < rules.graceMs) return keep("young");
  // Nobody could ever say whose it is; `MAX_AGE` ends it all the same.
  return isNobodys ? alert("unattributed") : { ...keep("no_row"), act: isInventory ? "adopt" : "keep" };
}

/** Nobody has ended it but that it was not seen: its labels and that row say what was promised. */
function judgeReappeared(
  row: MachineRow,
  { machine, isInventory }: Pick<Present, "machine" | "isInventory">,
  now: number,
  rules: Rules,
): Verdict {
  const created = creationTime(machine, now);
  const end = created === null ? null : promiseOf(row, machine, created, rules).end;
  if (end === null) return judgeRowless(machine, isInventory, now, rules);
  return now >= end ? destroy("expired") : { ...keep("reappeared"), act: isInventory ? "adopt" : "keep" };
}

function judgeAbsent(row: MachineRow, { by, doubt }: Absent, now: number, rules: Rules): Verdict {
  if (!isLive(row)) return keep("not_seen");
  if (doubt === "other_credential") return alert("other_credential");
  if (by === "id" && (row.phase === "destroying" || now >= endOf(row, null))) return close("gone");
  if (doubt !== null) return keep(doubt);
  if (!isSecondLook(row.missingSince, now)) return keep("not_seen");
  if (by === "id") return close("lost");
  const isNeverSeen = by === "name" && row.providerId === null && isLaunchOver(row, now, rules);
  return isNeverSeen ? close("never_seen") : keep("not_seen");
}

/** An hour past the end that a label tells, a machine is overdue even where no row can be asked. */
const OVERDUE_MS = 3_600_000;

/**
 * The decision while D1 refuses, by what the provider shows alone: that nobody can say whether there is a row is no reason to
 * let machines live for ever, and no reason to end one early.
 */
export function decideBlind(machine: Machine, now: number, rules: Rules): Verdict {
  const verdict = decide(null, present(machine), now, rules);
  if (verdict.reason !== "no_row" && verdict.reason !== "young") return verdict;
  const created = creationTime(machine, now);
  const end = created === null ? null : labelEnd(machine, created, rules);
  if (end === null || now - end < OVERDUE_MS) return verdict;
  return machine.deleteProtected ? alert("provider_protected") : destroy("expired");
}

const keep = (reason: Reason): Verdict => ({ act: "keep", reason, alert: false });
const alert = (reason: Reason): Verdict => ({ act: "keep", reason, alert: true });
const destroy = (reason: Reason): Verdict => ({ act: "destroy", reason, alert: false });
const close = (reason: Reason): Verdict => ({ act: "close", reason, alert: false });
