/** What is settled of a create before a row is written. */
import type { Policy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import type { Attachment } from "../machine/attachment.ts";
import { Misconfigured } from "../machine/misconfigured.ts";
import type { MachineRow } from "../machine/machine.ts";
import { checkName } from "../machine/name.ts";
import { hourMicroEur, type Priced } from "../machine/money.ts";
import type { ServerType } from "../machine/server-type.ts";
import type { Limits } from "../store/machine-limits.ts";
import type { Repositories } from "../store/store.ts";
import type { Whose } from "../store/whose.ts";
import { namesOf } from "./attachments.ts";
import type { Wanted } from "./attempt.ts";
import { candidatesOf, coolLast } from "./candidates.ts";
import type { RequestContext } from "./context.ts";
import { checkInstallation } from "./installation.ts";
import { unpriced } from "./limits-in-euro.ts";
import { limitMoney } from "./limits.ts";
import { checkOrder, type CheckedOrder, type MachineOrder } from "./order.ts";
import { priceOfCandidates } from "./price-of-candidates.ts";
import { breaksRule, done, type Outcome } from "./refusal.ts";
import { checkMade, checkSaid, longestOf, profilesOf } from "./rights.ts";
import { formerSpecHash, specHash } from "./spec-hash.ts";

/** What is known of a create before anything is read. */
interface Told {
  readonly name: string;
  readonly attachments: readonly Attachment[];
}

/** All that a create reads before it writes, for whoever has it read ahead. */
export const readsOfCreate = (
  { provider, now }: Pick<RequestContext, "provider" | "now">,
  reads: Pick<Repositories, "settings" | "machines" | "tombstones" | "resources" | "catalogues" | "cooldowns">,
  whose: Whose,
  { name, attachments }: Told,
): readonly Promise<unknown>[] => [
  reads.settings.installation(),
  reads.machines.byName(whose, name),
  reads.tombstones.until(whose, name, now()),
  reads.resources.named(whose, namesOf(attachments)),
  reads.catalogues.read(provider),
  reads.cooldowns.current(now()),
];

/** What a create is to come to, as far as that is known before the first look at a row. */
export interface Plan extends CheckedOrder, Pick<MachineRow, "name" | "credential" | "specSha256"> {
  readonly principal: Principal;
  /** As it was said, without what its profile says. */
  readonly said: MachineOrder;
  /** What an older version remembered of the same order; null where it is what this one does. */
  readonly formerSpecSha256: string | null;
  /** Whether this database knows which installation it serves. */
  readonly isClaimed: boolean;
}

/** The same, and where it is tried. */
export type Sited = Plan & Pick<Wanted, "candidates" | "inOrder" | "cooling">;

/** Where a machine is tried that is planned. */
export async function siteOf(context: RequestContext, plan: Plan): Promise<Outcome<Sited>> {
  const choice = await candidatesOf(context, plan);
  if (!choice.ok) return choice;
  // Before the row is written, which so says from the start what is tried first.
  return done({ ...plan, candidates: choice.value, ...(await coolLast(context, choice.value)) });
}

/** What a caller's order comes to, if it may be made here at all; nothing is written for that. */
export async function planOf(
  context: RequestContext,
  principal: Principal,
  name: string,
  said: MachineOrder,
): Promise<Outcome<Plan>> {
  const named = checkName(name);
  if (!named.ok) return breaksRule(named.problem);
  const allowed = mayCreate(context, principal.policy, said);
  if (!allowed.ok) return allowed;
  const installation = await checkInstallation(context);
  if (!installation.ok) return installation;
  const { isClaimed } = installation.value;
  const [credential, specSha256] = [await context.credential(), await specHash(said)];
  const formerSpecSha256 = await formerSpecHash(said);
  return done({ ...allowed.value, principal, name, said, credential, specSha256, formerSpecSha256, isClaimed });
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
export function endOf({ rules }: RequestContext, { principal, ttlMs }: Plan, now: number): number {
  return now + (ttlMs ?? Math.min(rules.defaultTtlMs, longestOf(principal.policy, rules)));
}

/** What it costs at most; refused where that is unknown, and limits in euro are to hold. */
export async function priceWithin(
  context: RequestContext,
  { principal, request, candidates }: Sited,
  limits: Limits,
  offers: readonly ServerType[],
): Promise<Outcome<Priced>> {
  const mustBeKnown = limitMoney(limits);
  const price = await priceOfCandidates(context, candidates, { offers, hasIpv4: request.enableIpv4, mustBeKnown });
  if (!mustBeKnown) return done(price);
  // A price that is known was told under another CURRENCY then, and is no amount of this one.
  const currency = context.capabilities.otherCurrency?.() ?? null;
  if (currency !== null)
    throw new Misconfigured("CURRENCY", `must be ${currency}, which the provider's project pays in: limits go by it`);
  if (hourMicroEur(price) !== null) return done(price);
  return principal.policy.takesUnknownPrice ? done(price) : unpriced(context, principal);
}
