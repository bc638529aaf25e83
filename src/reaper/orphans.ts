import { resourcesOf } from "../lifecycle/resources.ts";
import { onDriverError } from "../lifecycle/refusal.ts";
import { labelTime } from "../machine/age.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import { isUid } from "../machine/name.ts";
import { isOurs, ourSelector } from "../machine/ownership.ts";
import {
  isGivenUp,
  isLiveResource,
  RESOURCE_KINDS,
  type Resource,
  type ResourceKind,
  type ResourceRow,
  type ResourceSpec,
} from "../machine/resource.ts";
import type { Rules } from "../machine/rules.ts";
import type { OrphanResource } from "../store/resource-orphans.ts";
import type { PhaseContext } from "./context.ts";
import { namesOf, type SweepReason } from "./report.ts";

const EVERY_MS = 3_600_000;
/** A kind costs a few pages and the rows of them; each orphan is one more statement. */
const COST = { fetches: 4, statements: 2 };
/** Where fewer pages can be paid for, a list that is longer is no failure of the provider's, but one for a quieter tick. */
const PLENTY = 5;

/**
 * Once an hour: everything at the provider that is ours by its labels, against its rows. What has a tombstone landed late, and what
 * has no row was forgotten with the database: past the end that its label tells, and used by nobody, it gets a row that only asks
 * for its deletion, which then takes the one way that all take. What was given up is left alone.
 */
export async function lookForOrphans(context: PhaseContext): Promise<string | null> {
  const { memory, capabilities, pace, items } = context;
  const now = context.now();
  const isDue = now - memory.resourcesListedAt >= EVERY_MS || memory.resourcesListedAt > now;
  if (!isDue) return null;
  if (pace.affords({ fetches: 0, statements: 1 })) await context.store.resources.forgetUses(now);
  if (capabilities.hasHeadroom?.() === false) {
    pace.leave("rate_limit");
    return null;
  }
  let failure: string | null = null;
  let isWhole = true;
  for (const kind of RESOURCE_KINDS) {
    if (await pace.leaves(COST)) return failure;
    const { pages: maxPages } = pace;
    isWhole = await onDriverError(
      async () => (await markOrphans(context, kind, maxPages)) && isWhole,
      (error) => {
        if (error.code === "unexpected" && maxPages < PLENTY) {
          items.push({
            kind,
            ...namesOf(null),
            providerId: null,
            outcome: "remaining",
            reason: "budget",
            detail: error.message,
          });
          return false;
        }
        failure ??= error.message;
        return isWhole;
      },
    );
  }
  await context.store.reapFailures.forgetBefore(now - EVERY_MS);
  // What the budget left out the next tick takes up.
  if (failure === null && isWhole) memory.resourcesListedAt = now;
  return failure;
}

/** Gives the orphans of one kind their rows; false where the budget ended before all had one. */
async function markOrphans(context: PhaseContext, kind: ResourceKind, maxPages: number): Promise<boolean> {
  const { store, capabilities, rules, pace, items } = context;
  const seen = (await resourcesOf(capabilities, kind)?.list(ourSelector(rules.installations), { maxPages })) ?? [];
  const ours = seen.filter((one) => isOurs(one, rules.installations));
  const keys = ours.map(({ id, labels }) => ({ id, uid: uidIn(labels) }));
  const rows = await store.resources.ofResources(kind, keys);
  for (const one of ours) {
    const uid = uidIn(one.labels);
    const atId = rows.some((row) => row.providerId === one.id && (isLiveResource(row) || isGivenUp(row)));
    const ofUid = rows.find((row) => row.uid === uid) ?? null;
    const isBeingMade = ofUid !== null && isLiveResource(ofUid) && ofUid.providerId === null;
    if (atId || isBeingMade) continue;
    if (!pace.affords({ fetches: 0, statements: 1 })) {
      pace.leave("budget");
      return false;
    }
    const reason = await markOrphan(context, kind, one, ofUid);
    const outcome = reason === "unreadable" ? "alert" : "kept";
    if (reason !== null)
      items.push({
        kind,
        ...namesOf(null, one.labels),
        uid: isUid(uid) ? uid : null,
        providerId: one.id,
        outcome,
        reason,
        detail: null,
      });
  }
  return true;
}

/** Gives one its row, and answers why; null where it is left alone. `ofUid` is the row that its uid label names. */
async function markOrphan(
  context: PhaseContext,
  kind: ResourceKind,
  one: Resource,
  ofUid: ResourceRow | null,
): Promise<SweepReason | null> {
  const { resources } = context.store;
  const now = context.now();
  const uid = uidIn(one.labels);
  if (!isUid(uid)) return "unreadable";
  if (ofUid === null) {
    if (!isForgotten(one, now, context.rules)) return null;
    await resources.insertOrphan(orphanOf(context, kind, { uid, labelUid: null }, one), now);
    return "no_row";
  }
  if (isLiveResource(ofUid) || isGivenUp(ofUid)) {
    await resources.insertOrphan(orphanOf(context, kind, { uid: context.newUid(), labelUid: uid }, one), now);
    return "duplicate";
  }
  await resources.reopen(uid, one.id, now);
  return "late_landing";
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
function orphanOf(
  { provider, now }: PhaseContext,
  kind: ResourceKind,
  { uid, labelUid }: Pick<ResourceRow, "uid" | "labelUid">,
  seen: Resource,
): OrphanResource {
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
