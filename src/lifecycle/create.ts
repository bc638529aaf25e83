import { tokenIdOf, type Principal } from "../auth/principal.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { providerName } from "../machine/name.ts";
import type { Priced } from "../machine/money.ts";
import type { Limits } from "../store/machine-limits.ts";
import type { NewMachine } from "../store/machines.ts";
import { KEY_LIFE_MS } from "../auth/idempotency-key.ts";
import { checkAttachments, noted, toConfirm, type Standing } from "./attachments.ts";
import { attempt, tryingMachine } from "./attempt.ts";
import { knownCatalogue } from "./catalogue.ts";
import { checkImage, checkOffer, refusedOffer } from "./check-offer.ts";
import type { RequestContext } from "./context.ts";
import { claimInstallation } from "./installation.ts";
import { beyondMoney } from "./limits-in-euro.ts";
import { accountOfRow, beyondCount, limitsOf } from "./limits.ts";
import { mayAsk } from "./pace.ts";
import { hasEndedSince, toldOnce, whileEnding } from "./once.ts";
import type { MachineOrder } from "./order.ts";
import { endOf, planOf, priceWithin, siteOf, type Plan, type Sited } from "./plan.ts";
import { known, RELEASING, type Created } from "./record.ts";
import { CREATES_OFF, done, otherThanBefore, refused, specMismatch, type Outcome, type Refusal } from "./refusal.ts";
import { checkLength, longestOf } from "./rights.ts";
import { differingFields, hashFields } from "./spec-fields.ts";
import { claimAt, claimLeftMs } from "./trying.ts";

/**
 * Lends a machine: the row first, then the provider, then the record. Owner and name decide which machine is meant: a
 * repeat is the same machine and never renews it, another spec is `spec_mismatch`, and a name whose machine is gone starts
 * anew (I3, P20). While one call is trying, others are told of the machine to come.
 *
 * With `isOnce` the name stands for one call and its repeats: for a day after its machine has ended, that machine is the answer.
 *
 * An ambiguous failure leaves the row `requested`: the same call again looks and tries once more under the same provider
 * name, which the provider itself refuses to double. So does a call that was cut off, once its claim has passed.
 */
export async function createMachine(
  context: RequestContext,
  principal: Principal,
  name: string,
  said: MachineOrder,
  { isOnce = false }: { readonly isOnce?: boolean } = {},
): Promise<Outcome<Created>> {
  const { store, rules } = context;
  const { owner } = principal;
  const planned = await planOf(context, principal, name, said);
  if (!planned.ok) return planned;
  const plan = { ...planned.value, isOnce };
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.machines.byName(owner, name);
    if (existing !== null && isLive(existing)) return repeat(context, existing, plan);
    const onceSince = isOnce ? context.now() - KEY_LIFE_MS : null;
    if (existing !== null && hasEndedSince(existing, onceSince)) {
      const other = await otherBody(existing, plan);
      return other === null ? known(existing) : refused(other);
    }
    if (!rules.creates) return refused(CREATES_OFF);
    const now = context.now();
    const forbidden = await store.tombstones.until(owner, name, now);
    if (forbidden !== null) return refused(givenUp(forbidden - now));
    const usable = await checkAttachments(context, owner, plan.attachments);
    if (!usable.ok) return usable;
    const offered = await checkOffer(context, plan.order);
    if (!offered.ok) return offered;
    const paced = await mayAsk(context);
    if (!paced.ok) return paced;
    const choice = await siteOf(context, plan);
    if (!choice.ok) return refusedOffer(context, plan.order, choice);
    const limits = limitsOf(principal, rules, { now, expiresAt: endOf(context, plan, now) });
    const sited = choice.value;
    const price = await priceWithin(context, sited, limits, offered.value);
    if (!price.ok) return refusedOffer(context, plan.order, price);
    const lent = await checkImage(context, plan.request);
    if (!lent.ok) return lent;
    const claimed = await claimFirst(context, plan);
    if (!claimed.ok) return claimed;
    const standing = usable.value;
    const row = await rowOf(context, { ...sited, standing }, price.value, now);
    const made = await begin(context, row, { ...sited, standing, limits, onceSince });
    if (made !== null) return isOnce ? toldOnce(made) : made;
    const beyond =
      (await beyondCount(context, principal, limits)) ??
      (await beyondMoney(context, principal, limits, { is: null, wanted: { ...row, since: now } }));
    if (beyond !== null) return beyond;
  }
  return refused(RELEASING);
}

/** The first create of all says which installation this database serves: last of what is settled before something is made. */
const claimFirst = async (context: RequestContext, { isClaimed }: Plan): Promise<Outcome<unknown>> =>
  isClaimed ? done(undefined) : claimInstallation(context);

/** What is written down of a create, and with what. */
interface Ready extends Sited {
  /** Null where something is to be made with it. */
  readonly standing: Standing | null;
}

async function rowOf(context: RequestContext, plan: Ready, price: Priced, now: number): Promise<NewMachine> {
  const { principal, name, said, credential, specSha256, request, inOrder, keepOnFailureMs, standing } = plan;
  const { owner, account } = principal;
  const [installation] = context.rules.installations;
  const uid = context.newUid();
  return {
    uid,
    owner,
    account,
    name,
    provider: context.provider,
    providerName: await providerName(installation, owner, name),
    installation,
    credential,
    specSha256,
    specFields: await hashFields(said, uid),
    ...inOrder[0],
    image: request.image,
    labels: request.labels,
    requestedAt: now,
    expiresAt: endOf(context, plan, now),
    maxUntil: now + longestOf(principal.policy, context.rules),
    keepOnFailureMs,
    attachments: standing && toConfirm(standing.ids),
    ...price,
  };
}

/** Writes down the row and makes its machine; null where none may be written by now. */
function begin(
  context: RequestContext,
  row: NewMachine,
  plan: Ready & { readonly limits: Limits; readonly onceSince: number | null },
): Promise<Outcome<Created> | null> {
  const { machines } = context.store;
  const { limits, standing } = plan;
  const claim = claimAt(row.requestedAt, false, tokenIdOf(plan.principal));
  const [until = row.requestedAt] = claim.untils;
  return tryingMachine(context, row.uid, claim, async () => {
    const used = await machines.insertUsing(row, until, {
      tokenId: claim.tokenId,
      limits,
      onceSince: plan.onceSince,
      uses: standing?.uids ?? [],
    });
    return used === null
      ? null
      : attempt(context, row, { ...plan, attached: standing && noted(standing, used) }, claim);
  });
}

/** What is planned, and whether its name stands for one call. */
interface Asked extends Plan {
  readonly isOnce: boolean;
}

async function repeat(context: RequestContext, row: MachineRow, plan: Asked): Promise<Outcome<Created>> {
  const { principal } = plan;
  const now = context.now();
  const isEnding = row.phase === "destroying" || row.expiresAt <= now;
  if (isEnding && !plan.isOnce) return refused(RELEASING);
  const other = await otherBody(row, plan);
  if (other !== null) return refused(other);
  if (isEnding) return whileEnding(row);
  if (row.phase !== "requested" || claimLeftMs(row, now) > 0) return known(row);
  if (!context.rules.creates) return refused(CREATES_OFF);
  // It was begun when the policy allowed more: what was made then lives, and what is made now goes by what holds now.
  const tooLong = checkLength(principal.policy, "ttl", row.expiresAt - row.requestedAt);
  if (tooLong !== null) return tooLong;
  const paced = await mayAsk(context);
  if (!paced.ok) return paced;
  const choice = await siteOf(context, plan);
  if (!choice.ok) return choice;
  // Since the first try it may have been taken back.
  const lent = await checkImage(context, plan.request);
  if (!lent.ok) return lent;
  const wanted = { ...choice.value, attached: null };
  const limits = limitsOf(principal, context.rules, { now, expiresAt: row.expiresAt });
  const offers = (await knownCatalogue(context))?.serverTypes ?? [];
  const price = await priceWithin(context, wanted, limits, offers);
  if (!price.ok) return price;
  const claimed = await claimFirst(context, plan);
  if (!claimed.ok) return claimed;
  const claim = claimAt(now, true, tokenIdOf(principal));
  const [until = now] = claim.untils;
  // The try goes out under the credential of now, whatever the one before did, and with what its profile says now.
  const { credential, keepOnFailureMs, request } = plan;
  const retried = { ...row, credential, keepOnFailureMs, labels: request.labels };
  const next = { now, until, tokenId: claim.tokenId, priced: price.value, limits };
  return tryingMachine(context, row.uid, claim, async () => {
    if (await context.store.work.claimTry(row.uid, next)) return attempt(context, retried, wanted, claim);
    const lease = { ...row, since: row.requestedAt };
    const beyond = await beyondMoney(context, accountOfRow(principal, row), limits, {
      is: lease,
      wanted: { ...lease, ...price.value },
    });
    return beyond ?? known(row);
  });
}

/**
 * Why a row is not what is asked for; null where it is. A row that was lost and found again does not know what was asked for. A name is
 * the same machine whatever its `ttl`, for that may move; a repeat under a key says the very same.
 */
async function otherBody(
  row: MachineRow,
  { isOnce, said, specSha256, formerSpecSha256 }: Asked,
): Promise<Refusal | null> {
  const isOther = !["", specSha256, formerSpecSha256].includes(row.specSha256);
  const fields = isOther || isOnce ? await differingFields(row, said, isOnce) : [];
  if (!isOther && fields.length === 0) return null;
  return isOnce ? otherThanBefore(fields) : specMismatch(row.name, fields);
}

const givenUp = (leftMs: number): Refusal => ({
  code: "released",
  message: `Its owner gave this name up, for ${Math.ceil(leftMs / 1000)} s more.`,
  next: "Nothing, if that was meant; else repeat the call when the tombstone has ended, or use another name.",
  retryAfterSeconds: Math.ceil(leftMs / 1000),
});
