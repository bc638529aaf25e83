import type { Policy } from "../auth/policy.ts";
import { tokenIdOf, type Principal } from "../auth/principal.ts";
import { Misconfigured } from "../machine/misconfigured.ts";
import { isLive, type MachineRow } from "../machine/machine.ts";
import { checkName, providerName } from "../machine/name.ts";
import { hourMicroEur, type Priced } from "../machine/money.ts";
import type { Limits } from "../store/machine-limits.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { NewMachine } from "../store/machines.ts";
import { checkAttachments } from "./attachments.ts";
import { attempt, tryingMachine, type Wanted } from "./attempt.ts";
import { checkImage, checkOffer } from "./check-offer.ts";
import { candidatesOf } from "./candidates.ts";
import type { RequestContext } from "./context.ts";
import { claimInstallation } from "./installation.ts";
import { beyondMoney, unpriced } from "./limits-in-euro.ts";
import { accountOfRow, beyondCount, limitMoney, limitsOf } from "./limits.ts";
import { mayAsk } from "./pace.ts";
import { priceOfCandidates } from "./price-of-candidates.ts";
import { checkOrder, type CheckedOrder, type MachineOrder } from "./order.ts";
import { known, RELEASING, type Created } from "./record.ts";
import { breaksRule, CREATES_OFF, done, refused, specMismatch, type Outcome, type Refusal } from "./refusal.ts";
import { checkLength, checkMade, checkSaid, longestOf, profilesOf } from "./rights.ts";
import { specHash } from "./spec-hash.ts";
import { claimAt, claimLeftMs } from "./trying.ts";

/**
 * Lends a machine: the row first, then the provider, then the record. Owner and name decide which machine is meant: a
 * repeat is the same machine and never renews it, another spec is `spec_mismatch`, and a name whose machine is gone starts
 * anew (I3, P20). While one call is trying, others are told of the machine to come.
 *
 * An ambiguous failure leaves the row `requested`: the same call again looks and tries once more under the same provider
 * name, which the provider itself refuses to double. So does a call that was cut off, once its claim has passed.
 */
export async function createMachine(
  context: RequestContext,
  principal: Principal,
  name: string,
  said: MachineOrder,
): Promise<Outcome<Created>> {
  const { store, rules } = context;
  const { owner } = principal;
  const planned = await planOf(context, principal, name, said);
  if (!planned.ok) return planned;
  const plan = planned.value;
  // Twice, because a row can appear, or end, between the look and the insert.
  for (let look = 0; look < 2; look++) {
    const existing = await store.machines.byName(owner, name);
    if (existing !== null && isLive(existing)) return repeat(context, existing, plan);
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
    const choice = await candidatesOf(context, plan);
    if (!choice.ok) return choice;
    const limits = limitsOf(principal, rules, { now, expiresAt: endOf(context, plan, now) });
    const sited = { ...plan, candidates: choice.value };
    const price = await priceWithin(context, sited, limits, offered.value);
    if (!price.ok) return price;
    const lent = await checkImage(context, plan.request);
    if (!lent.ok) return lent;
    const row = await rowOf(context, sited, price.value, now);
    const made = await begin(context, row, { ...sited, limits });
    if (made !== null) return made;
    const beyond =
      (await beyondCount(context, principal, limits)) ??
      (await beyondMoney(context, principal, limits, { is: null, wanted: { ...row, since: now } }));
    if (beyond !== null) return beyond;
  }
  return refused(RELEASING);
}

/** What a create is to come to, as far as that is known before the first look at a row. */
interface Plan extends CheckedOrder, Pick<MachineRow, "name" | "credential" | "specSha256"> {
  readonly principal: Principal;
}

/** The same, and where it is tried. */
type Sited = Plan & Pick<Wanted, "candidates">;

async function planOf(
  context: RequestContext,
  principal: Principal,
  name: string,
  said: MachineOrder,
): Promise<Outcome<Plan>> {
  const named = checkName(name);
  if (!named.ok) return breaksRule(named.problem);
  const allowed = mayCreate(context, principal.policy, said);
  if (!allowed.ok) return allowed;
  const installation = await claimInstallation(context);
  if (!installation.ok) return installation;
  const [credential, specSha256] = [await context.credential(), await specHash(said)];
  return done({ ...allowed.value, principal, name, credential, specSha256 });
}

/** Whether an order breaks no rule and no policy, as far as that can be told without asking anybody. */
export function mayCreate(
  { rules }: Pick<RequestContext, "rules">,
  policy: Policy,
  said: MachineOrder,
): Outcome<CheckedOrder> {
  // First what the caller may not say at all: no rule of a profile that is not his to name is told.
  const sayable = checkSaid(policy, said);
  if (!sayable.ok) return sayable;
  // Nor are others' profiles named to whoever mistypes one.
  const checked = checkOrder(said, { ...rules, profiles: profilesOf(policy, rules.profiles) });
  if (!checked.ok) return breaksRule(checked.problem);
  const allowed = checkMade(policy, checked.value);
  return allowed.ok ? done(checked.value) : allowed;
}

/** When the lease ends of a machine that is asked for at `now`; unix milliseconds. */
function endOf({ rules }: RequestContext, { principal, ttlMs }: Plan, now: number): number {
  return now + (ttlMs ?? Math.min(rules.defaultTtlMs, longestOf(principal.policy, rules)));
}

/** What it costs at most; refused where that is unknown, and limits in euro are to hold. */
async function priceWithin(
  context: RequestContext,
  { principal, request, candidates }: Sited,
  limits: Limits,
  offers: readonly ServerType[],
): Promise<Outcome<Priced>> {
  const mustBeKnown = limitMoney(limits);
  const price = await priceOfCandidates(context, candidates, { offers, hasIpv4: request.enableIpv4, mustBeKnown });
  if (!mustBeKnown || hourMicroEur(price) !== null) return done(price);
  const currency = context.capabilities.otherCurrency?.() ?? null;
  if (currency !== null)
    throw new Misconfigured("CURRENCY", `must be ${currency}, which the provider's project pays in: limits go by it`);
  return principal.policy.takesUnknownPrice ? done(price) : unpriced(context, principal);
}

async function rowOf(context: RequestContext, plan: Sited, price: Priced, now: number): Promise<NewMachine> {
  const { principal, name, credential, specSha256, request, candidates, keepOnFailureMs } = plan;
  const { owner, account } = principal;
  const [installation] = context.rules.installations;
  return {
    uid: context.newUid(),
    owner,
    account,
    name,
    provider: context.provider,
    providerName: await providerName(installation, owner, name),
    installation,
    credential,
    specSha256,
    ...candidates[0],
    image: request.image,
    labels: request.labels,
    requestedAt: now,
    expiresAt: endOf(context, plan, now),
    maxUntil: now + longestOf(principal.policy, context.rules),
    keepOnFailureMs,
    ...price,
  };
}

/** Writes down the row and makes its machine; null where none may be written by now. */
function begin(
  context: RequestContext,
  row: NewMachine,
  plan: Sited & { readonly limits: Limits },
): Promise<Outcome<Created> | null> {
  const { store } = context;
  const claim = claimAt(row.requestedAt, false, tokenIdOf(plan.principal));
  const [until = row.requestedAt] = claim.untils;
  return tryingMachine(context, row.uid, claim, async () =>
    (await store.machines.insert(row, until, { tokenId: claim.tokenId, limits: plan.limits }))
      ? attempt(context, row, plan, claim)
      : null,
  );
}

async function repeat(context: RequestContext, row: MachineRow, plan: Plan): Promise<Outcome<Created>> {
  const { principal } = plan;
  const now = context.now();
  if (row.phase === "destroying" || row.expiresAt <= now) return refused(RELEASING);
  // A row that was lost and found again does not know what was asked for.
  if (row.specSha256 !== "" && row.specSha256 !== plan.specSha256) return refused(specMismatch(row.name));
  if (row.phase !== "requested" || claimLeftMs(row, now) > 0) return known(row);
  if (!context.rules.creates) return refused(CREATES_OFF);
  // It was begun when the policy allowed more: what was made then lives, and what is made now goes by what holds now.
  const tooLong = checkLength(principal.policy, "ttl", row.expiresAt - row.requestedAt);
  if (tooLong !== null) return tooLong;
  const paced = await mayAsk(context);
  if (!paced.ok) return paced;
  const choice = await candidatesOf(context, plan);
  if (!choice.ok) return choice;
  // Since the first try it may have been taken back.
  const lent = await checkImage(context, plan.request);
  if (!lent.ok) return lent;
  const wanted = { ...plan, candidates: choice.value };
  const limits = limitsOf(principal, context.rules, { now, expiresAt: row.expiresAt });
  const offers = (await context.store.catalogues.read(context.provider))?.serverTypes ?? [];
  const price = await priceWithin(context, wanted, limits, offers);
  if (!price.ok) return price;
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

const givenUp = (leftMs: number): Refusal => ({
  code: "released",
  message: `Its owner gave this name up, for ${Math.ceil(leftMs / 1000)} s more.`,
  next: "Nothing, if that was meant; else repeat the call when the tombstone has ended, or use another name.",
  retryAfterSeconds: Math.ceil(leftMs / 1000),
});
