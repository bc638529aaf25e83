import { KEY_LIFE_MS, uidOfKey } from "../auth/idempotency-key.ts";
import { tokenIdOf, type Principal } from "../auth/principal.ts";
import { areSame, checkCallerLabels } from "../machine/labels.ts";
import { checkLife } from "../machine/lease.ts";
import type { Labels } from "../machine/machine.ts";
import { checkName, providerName } from "../machine/name.ts";
import { isLiveResource, type ResourceKind, type ResourceRow, type ResourceSpec } from "../machine/resource.ts";
import { valid } from "../machine/validation.ts";
import { specText } from "../store/resource-row.ts";
import type { NewResource } from "../store/resources.ts";
import { checkRegion } from "./check-offer.ts";
import type { RequestContext } from "./context.ts";
import { claimInstallation } from "./installation.ts";
import { GOING, makeResource, tryingResource, type CreatedResource } from "./make-resource.ts";
import { mayAsk } from "./pace.ts";
import {
  breaksRule,
  CREATES_OFF,
  done,
  otherThanBefore,
  refused,
  specMismatch,
  type Outcome,
  type Refusal,
} from "./refusal.ts";
import { resourcesOf } from "./resources.ts";
import { checkResourceRights, longestOf } from "./rights.ts";
import { differingSpec } from "./spec-fields.ts";
import { claimAt, claimLeftMs } from "./trying.ts";

/** What a caller asks for: a firewall, a network or a key, under its own name for it. */
export interface ResourceOrder {
  readonly name: string;
  /** Checked by the rules of its kind. */
  readonly spec: ResourceSpec;
  /** Its owner's own; left out, none. */
  readonly labels?: Labels | undefined;
  /** Length of its lease, as `30m`; left out, the default. */
  readonly ttl?: string | undefined;
  /** By which a repeat of the call is known besides. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Makes a firewall, a network or a key: the row first, then the provider, then the record. Owner, kind and name decide which one is
 * meant, as with machines: a repeat is the same one, another spec is `spec_mismatch`. A repeat renews only a lease that has
 * ended. A key whose bytes the provider has already, under whatever name, is that key (S98, S100).
 */
export async function createResource(
  context: RequestContext,
  principal: Principal,
  { name, spec, labels = {}, ttl, idempotencyKey }: ResourceOrder,
): Promise<Outcome<CreatedResource>> {
  const { owner, policy } = principal;
  const { maxAgeMs, defaultTtlMs } = context.rules;
  const named = checkName(name);
  if (!named.ok) return breaksRule(named.problem);
  const labelled = checkCallerLabels(labels);
  if (!labelled.ok) return breaksRule(labelled.problem);
  const byDefault = Math.min(defaultTtlMs, longestOf(policy, context.rules));
  const life = ttl === undefined ? valid(byDefault) : checkLife("ttl", ttl, maxAgeMs);
  if (!life.ok) return breaksRule(life.problem);
  const allowed = checkResourceRights(policy, spec, life.value);
  if (!allowed.ok) return allowed;
  const offered = spec.kind === "network" ? await checkRegion(context, spec.region) : done(undefined);
  if (!offered.ok) return offered;
  const installation = await claimInstallation(context);
  if (!installation.ok) return installation;
  const tokenId = tokenIdOf(principal);
  const wanted = { owner, name, spec, labels, ttlMs: life.value, machineUid: null, tokenId };
  return idempotencyKey === undefined ? ensureResource(context, wanted) : makeOnce(context, wanted, idempotencyKey);
}

/** Further back under one key nobody looks. */
const MOST_SPENT = 5;

/**
 * The one that was made under a key, whose uid comes from it; else what is asked for. One that has ended is the answer for a day. What
 * was never made, or ended before, counts no more: it is asked for anew, whatever it was then.
 */
async function makeOnce(
  context: RequestContext,
  wanted: WantedResource,
  key: string,
): Promise<Outcome<CreatedResource>> {
  const { resources } = context.store;
  const since = context.now() - KEY_LIFE_MS;
  for (let spent = 0; spent < MOST_SPENT; spent++) {
    const uid = await uidOfKey(wanted.owner, wanted.spec.kind, key, spent);
    const before = await resources.byUid(uid);
    if (before !== null && isSpent(before, since)) continue;
    if (before !== null) return madeBefore(context, wanted, before);
    const made = await ensureResource(context, { ...wanted, uid });
    // Of two calls at once under this key the other may have been quicker.
    const quicker = made.ok || made.refusal !== GOING ? null : await resources.byUid(uid);
    return quicker === null ? made : madeBefore(context, wanted, quicker);
  }
  return ensureResource(context, wanted);
}

const isSpent = ({ phase, deletedAt }: ResourceRow, since: number): boolean =>
  phase === "failed" || (phase === "deleted" && (deletedAt ?? 0) <= since);

async function madeBefore(
  context: RequestContext,
  wanted: WantedResource,
  before: ResourceRow,
): Promise<Outcome<CreatedResource>> {
  const other = before.name === wanted.name ? otherThan(before, wanted) : ["name"];
  if (other !== null) return refused(otherThanBefore(other));
  return before.phase === "deleted" ? done({ row: before, isNew: false }) : ensureResource(context, wanted);
}

/** One to be made, for itself or with a machine. */
export interface WantedResource {
  /** Left out, a new one. */
  readonly uid?: string;
  readonly owner: string;
  readonly name: string;
  readonly spec: ResourceSpec;
  readonly labels: Labels;
  /** Length of its own lease; null for one that is made with a machine and goes when that goes. */
  readonly ttlMs: number | null;
  readonly machineUid: string | null;
  /** Of the minted token that asks for it, null where none does; revoked meanwhile, it makes nothing. */
  readonly tokenId: string | null;
}

/** The one of that name, made where there is none. */
export async function ensureResource(
  context: RequestContext,
  wanted: WantedResource,
): Promise<Outcome<CreatedResource>> {
  const { store, rules } = context;
  const { owner, name, spec } = wanted;
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.resources.byName(spec.kind, owner, name);
    if (existing !== null && isLiveResource(existing)) return repeat(context, existing, wanted);
    if (!rules.creates) return refused(CREATES_OFF);
    const paced = await mayAsk(context);
    if (!paced.ok) return paced;
    const made = await newResource(context, wanted);
    if (made.ok || made.refusal !== GOING) return made;
  }
  return refused(GOING);
}

/** The same of one whose name is known to be new. */
export async function newResource(context: RequestContext, wanted: WantedResource): Promise<Outcome<CreatedResource>> {
  const { store, provider, now } = context;
  const { owner, name, spec, labels, ttlMs, machineUid, tokenId } = wanted;
  const [installation] = context.rules.installations;
  if (resourcesOf(context.capabilities, spec.kind) === undefined) return refused(notOffered(spec.kind));
  const row: NewResource = {
    uid: wanted.uid ?? context.newUid(),
    owner,
    name,
    provider,
    providerName: await providerName(installation, owner, name),
    installation,
    spec,
    labels,
    requestedAt: now(),
    expiresAt: now() + (ttlMs ?? 0),
  };
  const claim = claimAt(row.requestedAt, false, tokenId);
  const [until = row.requestedAt] = claim.untils;
  return tryingResource(context, row.uid, claim, async () =>
    (await store.resources.insert(row, until, machineUid, tokenId))
      ? makeResource(context, row, claim)
      : refused(GOING),
  );
}

async function repeat(
  context: RequestContext,
  row: ResourceRow,
  wanted: WantedResource,
): Promise<Outcome<CreatedResource>> {
  const { store, rules } = context;
  const now = context.now();
  if (row.phase === "deleting" || row.deleteRequestedAt !== null) return refused(GOING);
  const other = otherThan(row, wanted);
  if (other !== null) return refused(specMismatch(row.name, other));
  const isToMake = row.phase === "requested" && claimLeftMs(row, now) === 0;
  if (isToMake && !rules.creates) return refused(CREATES_OFF);
  // Before the lease, so that one that is refused has changed nothing.
  const paced = isToMake ? await mayAsk(context) : done(undefined);
  if (!paced.ok) return paced;
  const isOver = row.expiresAt <= now && wanted.ttlMs !== null;
  const known = isOver ? await store.resources.renew(row.uid, now + wanted.ttlMs) : row;
  if (known === null) return refused(GOING);
  if (!isToMake) return done({ row: known, isNew: false });
  const claim = claimAt(now, true, wanted.tokenId);
  const [until = now] = claim.untils;
  return tryingResource(context, row.uid, claim, async () =>
    (await store.resources.claimTry(row.uid, now, until, wanted.tokenId))
      ? makeResource(context, known, claim)
      : done({ row: known, isNew: false }),
  );
}

/** The fields in which what stands under a name is not what is asked for; null where it is. */
function otherThan(row: ResourceRow, { spec, labels }: WantedResource): readonly string[] | null {
  const isOther = specText(row.spec) !== specText(spec);
  const isLabelled = areSame(row.labels, labels);
  if (!isOther && isLabelled) return null;
  return [...(isOther ? differingSpec(row.spec, spec) : []), ...(isLabelled ? [] : ["labels"])];
}

const notOffered = (kind: ResourceKind): Refusal => ({
  code: "invalid_input",
  message: `The provider offers no ${kind}.`,
  next: "Leave it out.",
});
