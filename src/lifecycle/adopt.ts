import { accountOf } from "../auth/principal.ts";
import { creationTime, labelTime } from "../machine/age.ts";
import { promiseOf } from "../machine/lease.ts";
import type { Rules } from "../machine/rules.ts";
import { accountIn, isReservedKey, LABEL, uidIn } from "../machine/labels.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { checkName, isOwner, isUid } from "../machine/name.ts";
import type { OrphanMachine } from "../store/machine-orphans.ts";

/** A machine that was just adopted lives at least so long, that its owner may still renew it. */
const LEAST_MS = 15 * 60_000;
/** Who has what carries no readable owner. */
const NOBODY = "lost";

/**
 * The row that a machine without one gets (I5): its labels' owner, name and lease, never ending before a quarter of an hour from now
 * and never after what it was promised at most. Where its uid has another row, `known`, it gets a uid of its own beside the one
 * that its label tells. One of unknown age begins to age now.
 */
export function orphanOf(
  machine: Machine,
  known: MachineRow | null,
  { provider, credential, newUid, rules, now }: Adoption,
): OrphanMachine {
  const { labels } = machine;
  const uid = uidIn(labels);
  const isOwn = known === null && isUid(uid);
  const told = labels[LABEL.owner] ?? "";
  const owner = isOwner(told) ? told : NOBODY;
  const name = labels[LABEL.name] ?? "";
  const created = creationTime(machine, now) ?? now;
  const { end, most: maxUntil } = promiseOf(known, machine, created, rules);
  const rowUid = isOwn ? uid : newUid();
  return {
    uid: rowUid,
    labelUid: isOwn ? null : uid,
    owner,
    account: accountIn(labels) ?? accountOf(owner),
    name: checkName(name).ok ? name : rowUid,
    provider,
    installation: labels[LABEL.installation] ?? "",
    credential,
    requestedAt: created,
    expiresAt: Math.min(Math.max(end ?? maxUntil, now + LEAST_MS), maxUntil),
    labelExpiresAt: labelTime(labels, LABEL.expires),
    maxUntil,
    machine,
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !isReservedKey(key))),
  };
}

interface Adoption {
  readonly provider: string;
  readonly credential: string;
  readonly newUid: () => string;
  readonly rules: Rules;
  readonly now: number;
}
