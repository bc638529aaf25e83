import { DriverError } from "../driver/driver.ts";
import { resourcesOf } from "../lifecycle/resources.ts";
import { labelTime } from "../machine/age.ts";
import { ourSelector, type Rules } from "../machine/decide.ts";
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
import type { PhaseDeps } from "./phase.ts";
import type { Item, PhaseReport } from "./report.ts";

const EVERY_MS = 3_600_000;
/** A kind costs a page and the rows of it at least; each stray is one more statement. */
const COST = { fetches: 1, statements: 2 };

/**
 * Once an hour: everything at the provider that is ours by its labels, against its rows. What has a tombstone landed late, and what
 * has no row was forgotten with the database: past the end that its label tells, and used by nobody, it gets a row that only asks
 * for its deletion, which then takes the one way that all take.
 */
export async function lookForStrays(deps: PhaseDeps): Promise<Omit<PhaseReport, "phase">> {
  const { memory } = deps;
  const now = deps.now();
  const items: Item[] = [];
  const isDue = now - memory.resourcesListedAt >= EVERY_MS || memory.resourcesListedAt > now;
  if (!isDue || deps.extras.isSpare?.() === false) return { items, failure: null };
  try {
    for (const kind of RESOURCE_KINDS) {
      if (!deps.budget.allows(COST) || !(await deps.mayGoOn())) return { items, failure: null };
      items.push(...(await strays(deps, kind)));
    }
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { items, failure: error.message };
  }
  memory.resourcesListedAt = now;
  return { items, failure: null };
}

async function strays({ store, extras, rules, budget, now }: PhaseDeps, kind: ResourceKind): Promise<Item[]> {
  const seen = (await resourcesOf(extras, kind)?.list(ourSelector(rules.installations))) ?? [];
  const keys = seen.map(({ id, labels }) => ({ id, uid: uidIn(labels) }));
  const rows = await store.resources.ofResources(kind, keys);
  const items: Item[] = [];
  for (const one of seen) {
    const uid = uidIn(one.labels);
    const isHeld = rows.some((row) => isLiveResource(row) && (row.uid === uid || row.providerId === one.id));
    const tell = (outcome: Item["outcome"], reason: string) =>
      items.push({ kind, uid: isUid(uid) ? uid : null, providerId: one.id, outcome, reason });
    if (isHeld || !budget.allows({ fetches: 0, statements: 1 })) continue;
    if (!isUid(uid)) tell("alert", "unreadable");
    else if (rows.some((row) => row.uid === uid)) {
      await store.resources.reopen(uid, one.id, now());
      tell("kept", "late_landing");
    } else if (isForgotten(one, now(), rules)) {
      await store.resources.insertLeftover(rowOf(kind, uid, one, now()), now());
      tell("kept", "no_row");
    }
  }
  return items;
}

/** Without a row: past its end by label and by age, and nobody uses it. A doubtful age is no age. */
function isForgotten({ labels, createdAt, machineIds }: Resource, now: number, rules: Rules): boolean {
  const created = createdAt ?? labelTime(labels, LABEL.created);
  if (created === null || machineIds.length > 0) return false;
  const end = labelTime(labels, LABEL.expires) ?? created + rules.maxAgeMs;
  return now >= end && now - created > rules.graceMs;
}

/** A spec that nobody can ask for, since what was asked is not known any more. */
const UNKNOWN: Readonly<Record<ResourceKind, ResourceSpec>> = {
  firewall: { kind: "firewall", rules: [], denyAll: false },
  network: { kind: "network", ipRange: "", region: "" },
  ssh_key: { kind: "ssh_key", publicKey: "" },
};

const rowOf = (kind: ResourceKind, uid: string, { id, labels, createdAt }: Resource, now: number): ResourceRow => ({
  uid,
  owner: labels[LABEL.owner] ?? "",
  name: uid,
  provider: "",
  providerName: labels[LABEL.name] ?? "",
  providerId: id,
  installation: labels[LABEL.installation] ?? "",
  phase: "deleting",
  reason: "no_row",
  spec: UNKNOWN[kind],
  requestedAt: createdAt ?? now,
  createdAt,
  expiresAt: now,
  deleteRequestedAt: null,
  idleSince: now,
  missingSince: null,
  deletedAt: null,
  attempts: 0,
  nextTryAt: null,
  lastError: null,
});
