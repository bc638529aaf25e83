import type { Policy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { DriverError, getIfThere } from "../driver/driver.ts";
import { chargedSince } from "../machine/ledger.ts";
import { checkLife, endOf } from "../machine/lease.ts";
import { isOurs, isSame } from "../machine/ownership.ts";
import { LABEL, labelSeconds } from "../machine/labels.ts";
import { formatDuration } from "../machine/duration.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import {
  breaksRule,
  brokenRule,
  done,
  IDENTITY_MISMATCH,
  refused,
  type Outcome,
  type Refusal,
  type Refused,
} from "./refusal.ts";
import type { Context, RequestContext } from "./context.ts";
import { lookAgain, noteLook, type Looked } from "./look-again.ts";
import { beyondMoney } from "./limits-in-euro.ts";
import { accountOfRow, limitsOf } from "./limits.ts";

/** A lease as it is after a renewal, and what was seen of its machine. */
export interface Renewed extends Looked {
  /** What it goes no further for than this, though more was asked for; null where it goes as far as that. */
  readonly clampedTo: "max_until" | "max_age" | "policy" | null;
}

/**
 * Moves a lease's end to `ttl` (`30m`) from now, never earlier than it is, and no further than `max_until`, the policy and `MAX_AGE` from
 * now allow: what goes beyond is cut there, and refused only where nothing would move. The row decides, in one guarded statement; then
 * the label follows, which the sweep repeats until it has, and over the account's rate does alone. Of a renewal and the end exactly one
 * wins.
 */
export async function renewMachine(
  context: RequestContext,
  principal: Principal,
  row: MachineRow,
  ttl: string,
): Promise<Outcome<Renewed>> {
  const { policy } = principal;
  const life = checkLife("ttl", ttl, Number.POSITIVE_INFINITY);
  if (!life.ok) return breaksRule(life.problem);
  const now = context.now();
  if (!livesOn(row, now)) return refused(EXPIRED);
  const most = mostUntil(policy, row);
  const asked = now + life.value;
  const until = Math.min(asked, most, now + context.rules.maxAgeMs);
  const clampedTo = until === asked ? null : until < most ? "max_age" : most === row.maxUntil ? "max_until" : "policy";
  // `MAX_AGE` was lowered since; what it has left is no less than what is asked for, and nobody has made a mistake.
  const hasAsMuch = clampedTo === "max_age" && asked <= row.expiresAt;
  if (clampedTo !== null && until <= row.expiresAt && !hasAsMuch)
    return clampedTo === "max_age" ? refusedByMaxAge(context.rules) : refused(atItsMost(policy, row, asked));
  const limits = limitsOf(principal, context.rules, { now, expiresAt: until });
  const renewed = await context.store.leases.renew({ uid: row.uid, now, to: until, months: limits.months });
  if (renewed) {
    if (!(await context.withinRate()).ok) return done({ row: renewed, observed: null, clampedTo });
    const { outcome, machine } = await tellLabel(context, renewed);
    if (outcome === "stranger") return refused(IDENTITY_MISMATCH);
    const looked = machine === undefined ? { row: renewed, observed: null } : await noteLook(context, renewed, machine);
    return done({ ...looked, clampedTo });
  }
  const current = await context.store.machines.byUid(row.uid);
  if (current === null || !livesOn(current, now)) return refused(EXPIRED);
  // It lives at least that long already: what was asked for is so.
  if (current.expiresAt >= until)
    return done({ ...(await lookAgain(context, current)), clampedTo: current.expiresAt >= asked ? null : clampedTo });
  return (await beyondEnd(context, principal, current, until)) ?? refused(MOVED);
}

/** Why a machine would cost too much if it lived until then; null where it would not. */
function beyondEnd(
  context: RequestContext,
  principal: Principal,
  row: MachineRow,
  expiresAt: number,
): Promise<Refused | null> {
  const limits = limitsOf(principal, context.rules, { now: context.now(), expiresAt });
  const lease = { ...row, since: chargedSince(row) };
  const wish = { is: lease, wanted: { ...lease, expiresAt } };
  return beyondMoney(context, accountOfRow(principal, row), limits, wish);
}

const livesOn = ({ phase, expiresAt }: MachineRow, now: number): boolean =>
  (phase === "requested" || phase === "active") && expiresAt > now;

/** Until when a policy lets a machine live, counted from when it was asked for; unix milliseconds. */
const allowedUntil = ({ longestMs }: Policy, { requestedAt }: MachineRow): number =>
  longestMs === null ? Number.POSITIVE_INFINITY : requestedAt + longestMs;

/** What its row was promised at most, within what the policy allows now, which may be less. */
const mostUntil = (policy: Policy, row: MachineRow): number => Math.min(row.maxUntil, allowedUntil(policy, row));

/** What lives was promised more than `MAX_AGE` is by now. */
function refusedByMaxAge({ maxAgeMs }: RequestContext["rules"]): Refused {
  const rule = `must not move the end past ${formatDuration(maxAgeMs)} from now (MAX_AGE)`;
  return refused({ ...brokenRule({ field: "ttl", rule }), about: "end" });
}

/** Why a lease cannot move any more: its policy's word where that is what binds, else what the machine was promised at most. */
function atItsMost(policy: Policy, row: MachineRow, asked: number): Refusal {
  const rule = `cannot move the end: this machine may live until ${new Date(mostUntil(policy, row)).toISOString()}, and does`;
  const refusal = { next: "Create another machine.", about: "end" as const, problem: { field: "ttl", rule } };
  const { name, longestMs } = policy;
  if (longestMs === null || allowedUntil(policy, row) > row.maxUntil)
    return { ...refusal, code: "invalid_input", message: `\`ttl\` ${rule}.` };
  const limit = formatDuration(longestMs);
  return {
    ...refusal,
    code: "limit_lease",
    message: `The policy ${name} allows a lease of ${limit} at most, renewals included, counted from when the machine was asked for.`,
    policy: name,
    figures: { limit, asked: formatDuration(startedSeconds(asked - row.requestedAt)) },
  };
}

/** Rounded up, so that what is beyond a limit never reads like it. */
const startedSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1000) * 1000;

const EXPIRED: Refusal = {
  code: "expired",
  message: "The lease has ended; an ended one is never brought back.",
  next: "Create a machine anew.",
};

/** What would have passed a limit a moment ago would not by now. */
const MOVED: Refusal = {
  code: "limit_money",
  message: "It would have cost more than may be spent, and something has ended since.",
  next: "Repeat the call.",
  retryAfterSeconds: 1,
};

/** Over the rate an end that would move later by less than this stays, so that the same word again and again is not written each time. */
const LEAST_MOVE_MS = 60_000;

/**
 * Keeps a machine after its job failed, for as long as it was asked with, counted from now and within `max_until`; over the account's
 * rate to a minute. Nothing changes where it is kept until then already. Null when there is nothing to keep: it was not asked for, or
 * the machine is at its end. Refused where it would cost more than may be spent.
 */
export async function keepOnFailure(
  context: RequestContext,
  principal: Principal,
  row: MachineRow,
): Promise<Outcome<MachineRow> | null> {
  const { policy } = principal;
  if (row.keepOnFailureMs === null) return null;
  const now = context.now();
  const until = Math.min(now + row.keepOnFailureMs, mostUntil(policy, row));
  // Under a policy that has been narrowed since it may have lived its time.
  if (until <= now) return null;
  const isPaced = (await context.withinRate()).ok;
  const moveMs = until - row.expiresAt;
  if (livesOn(row, now) && moveMs >= 0 && moveMs < (isPaced ? 1 : LEAST_MOVE_MS)) return done(row);
  const { months } = limitsOf(principal, context.rules, { now, expiresAt: until });
  const kept = await context.store.leases.keep({ uid: row.uid, now, to: until, months });
  if (kept === null) return beyondEnd(context, principal, row, until);
  // Over the rate its label is left to the sweep: whoever is done with a machine is never refused.
  if (isPaced) await tellLabel(context, kept);
  return done(kept);
}

/**
 * Rows that were set back know less than their machines' labels: from here on they promise the later end too, and do not write over
 * it. Answers those that learnt one.
 */
export async function learnEnds<Seen extends { readonly row: MachineRow; readonly machine: Machine | null }>(
  { leases }: Pick<Context["store"], "leases">,
  seen: readonly Seen[],
): Promise<readonly Seen[]> {
  const later = seen.filter(({ row, machine }) => endOf(row, machine) > row.expiresAt);
  await leases.learnEnds(
    later.map(({ row, machine }) => ({ uid: row.uid, from: row.expiresAt, to: endOf(row, machine) })),
  );
  return later;
}

/**
 * Writes a row's end to its machine's label, after a fresh read that must be the machine that was recorded (I2). `later`: that
 * could not be done now, and settle repeats it until it has; `stranger`: another machine stands there, and was left alone. So is one of an
 * installation that is not named as ours any more, until it is.
 */
export async function tellLabel(
  { store, driver, capabilities, rules, now }: Pick<Context, "store" | "driver" | "capabilities" | "rules" | "now">,
  row: MachineRow,
): Promise<Labelling> {
  const { uid, providerId, expiresAt } = row;
  if (providerId === null || capabilities.relabel === undefined) return { outcome: "later" };
  let machine: Machine | null | undefined;
  try {
    machine = await getIfThere(driver, providerId);
    if (machine === null || !machine.hasLabels) return { outcome: "later", machine };
    if (!isSame(row, machine)) return { outcome: "stranger", machine };
    if (!isOurs(machine, rules.installations)) return { outcome: "later", machine };
    if ((await learnEnds(store, [{ row, machine }])).length > 0) return { outcome: "told", machine };
    await capabilities.relabel(machine, { [LABEL.expires]: labelSeconds(expiresAt) });
  } catch (error) {
    if (error instanceof DriverError) return { outcome: "later", machine };
    throw error;
  }
  await store.leases.markLabelled([{ uid, expiresAt }], now());
  return { outcome: "told", machine };
}

/** What came of writing a label, and the machine as it was read before: null where it is not there, undefined where that is not known. */
interface Labelling {
  readonly outcome: "told" | "later" | "stranger";
  readonly machine?: Machine | null | undefined;
}
