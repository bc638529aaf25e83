import { onDriverError } from "../lifecycle/refusal.ts";
import { resourcesOf } from "../lifecycle/resources.ts";
import { labelTime } from "../machine/age.ts";
import { isOurs, ourSelector } from "../machine/ownership.ts";
import type { Rules } from "../machine/rules.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isUid } from "../machine/name.ts";
import {
  isLiveResource,
  RESOURCE_KINDS,
  type Resource,
  type ResourceKind,
  type ResourceRow,
  type ResourceSpec,
} from "../machine/resource.ts";
import type { Leftover } from "../store/resource-endings.ts";
import type { PhaseContext } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

const EVERY_MS = 3_600_000;
/** A kind costs a few pages and the rows of them; each stray is one more statement. */
const COST = { fetches: 4, statements: 2 };

/**
 * Once an hour: everything at the provider that is ours by its labels, against its rows. What has a tombstone landed late, and what
 * has no row was forgotten with the database: past the end that its label tells, and used by nobody, it gets a row that only asks
 * for its deletion, which then takes the one way that all take.
 */
export async function lookForStrays(context: PhaseContext): Promise<Omit<PhaseReport, "phase">> {
  const { memory } = context;
  const now = context.now();
  const items: Item[] = [];
  const isDue = now - memory.resourcesListedAt >= EVERY_MS || memory.resourcesListedAt > now;
  if (!isDue || context.capabilities.hasHeadroom?.() === false) return { items, failure: null };
  let failure: string | null = null;
  let isWhole = true;
  for (const kind of RESOURCE_KINDS) {
    if (!context.budget.allows(COST) || !(await context.mayGoOn())) return { items, failure };
    const noted = await onDriverError(
      () => noteStrays(context, kind, items),
      ({ message }) => message,
    );
    if (typeof noted === "string") failure ??= noted;
    else isWhole &&= noted;
  }
  // What the budget left out the next tick takes up.
  if (failure === null && isWhole) memory.resourcesListedAt = now;
  return { items, failure };
}

/** Gives the strays of one kind their rows; false where the budget ended before all had one. */
async function noteStrays(context: PhaseContext, kind: ResourceKind, items: Item[]): Promise<boolean> {
  const { store, capabilities, rules, budget } = context;
  const now = context.now();
  const seen = (await resourcesOf(capabilities, kind)?.list(ourSelector(rules.installations))) ?? [];
  const ours = seen.filter((one) => isOurs(one, rules.installations));
  const keys = ours.map(({ id, labels }) => ({ id, uid: uidIn(labels) }));
  const rows = await store.resources.ofResources(kind, keys);
  for (const one of ours) {
    const uid = uidIn(one.labels);
    const tell = (outcome: Item["outcome"], reason: string) =>
      items.push({ kind, uid: isUid(uid) ? uid : null, providerId: one.id, outcome, reason });
    const atId = rows.some((row) => isLiveResource(row) && row.providerId === one.id);
    const ofUid = rows.find((row) => row.uid === uid);
    const isBeingMade = ofUid !== undefined && isLiveResource(ofUid) && ofUid.providerId === null;
    if (atId || isBeingMade) continue;
    if (!budget.allows({ fetches: 0, statements: 1 })) return false;
    if (!isUid(uid)) tell("alert", "unreadable");
    else if (ofUid === undefined) {
      if (!isForgotten(one, now, rules)) continue;
      await store.resources.insertLeftover(leftoverOf(context, kind, { uid, labelUid: null }, one), now);
      tell("kept", "no_row");
    } else if (isLiveResource(ofUid)) {
      await store.resources.insertLeftover(
        leftoverOf(context, kind, { uid: context.newUid(), labelUid: uid }, one),
        now,
      );
      tell("kept", "duplicate");
    } else {
      await store.resources.reopen(uid, one.id, now);
      tell("kept", "late_landing");
    }
  }
  return true;
}

/** Without a row: past its end by label and by age, and nobody uses it. A doubtful age is no age. */
function isForgotten({ labels, createdAt, machineIds }: Resource, now: number, rules: Rules): boolean {
  const created = createdAt ?? labelTime(labels, LABEL.created);
  if (created === null || machineIds?.length !== 0) return false;
  const end = labelTime(labels, LABEL.expires) ?? created + rules.maxAgeMs;
  return now >= end && now - created > rules.graceMs;
}

/** What was asked for is not known any more: a spec that nobody can ask for, save of a key, which is its bytes. */
function specOf(kind: ResourceKind, { material }: Resource): ResourceSpec {
  if (kind === "ssh_key") return { kind, publicKey: material ?? "" };
  return kind === "firewall" ? { kind, rules: [], denyAll: false } : { kind, ipRange: "", region: "" };
}

/** The row of one that is to go. */
function leftoverOf(
  { provider, now }: PhaseContext,
  kind: ResourceKind,
  { uid, labelUid }: Pick<ResourceRow, "uid" | "labelUid">,
  seen: Resource,
): Leftover {
  const { id, labels, createdAt } = seen;
  return {
    uid,
    labelUid,
    owner: labels[LABEL.owner] ?? "",
    provider,
    providerName: labels[LABEL.name] ?? "",
    providerId: id,
    installation: labels[LABEL.installation] ?? "",
    reason: labelUid === null ? "no_row" : "duplicate",
    spec: specOf(kind, seen),
    requestedAt: createdAt ?? now(),
    createdAt,
  };
}
