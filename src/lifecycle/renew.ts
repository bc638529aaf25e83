import type { Policy } from "../auth/policy.ts";
import type { Principal } from "../auth/principal.ts";
import { DriverError } from "../driver/driver.ts";
import { chargedSince } from "../machine/ledger.ts";
import { checkLife, endOf } from "../machine/lease.ts";
import { isOurs, isSame } from "../machine/ownership.ts";
import { LABEL, labelSeconds } from "../machine/labels.ts";
import { formatDuration } from "../machine/duration.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { breaksRule, done, IDENTITY_MISMATCH, refused, type Outcome, type Refusal, type Refused } from "./refusal.ts";
import type { Context, RequestContext } from "./context.ts";
import { beyondMoney } from "./limits-in-euro.ts";
import { accountOfRow, limitsOf } from "./limits.ts";
import { checkLength } from "./rights.ts";

/**
 * Moves a lease's end to `ttl` (`30m`) from now, never earlier than it is and never past `max_until`. The row decides, in one
 * guarded statement; then the label follows, which the sweep repeats until it has, and over the account's rate does alone. Of a
 * renewal and the end exactly one wins.
 */
export async function renewMachine(
  context: RequestContext,
  principal: Principal,
  row: MachineRow,
  ttl: string,
): Promise<Outcome<MachineRow>> {
  const { policy } = principal;
  const life = checkLife("ttl", ttl, context.rules.maxAgeMs);
  if (!life.ok) return breaksRule(life.problem);
  const tooLong = checkLength(policy, "ttl", life.value);
  if (tooLong !== null) return tooLong;
  const now = context.now();
  const until = now + life.value;
  const most = mostUntil(policy, row);
  if (until > most) return refused(beyond(policy, row, { now, until, most }));
  const limits = limitsOf(principal, context.rules, { now, expiresAt: until });
  const renewed = await context.store.leases.renew({ uid: row.uid, now, to: until, months: limits.months });
  if (renewed) {
    const isPaced = (await context.withinRate()).ok;
    if (isPaced && (await tellLabel(context, renewed)) === "stranger") return refused(IDENTITY_MISMATCH);
    return done(renewed);
  }
  const current = await context.store.machines.byUid(row.uid);
  if (current === null || !livesOn(current, now)) return refused(EXPIRED);
  // It lives at least that long already: what was asked for is so.
  if (current.expiresAt >= until) return done(current);
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

/** Why a lease does not go so far: its policy's word where that is what binds, else what the machine was promised at most. */
function beyond(
  policy: Policy,
  row: MachineRow,
  { now, until, most }: { readonly now: number; readonly until: number; readonly most: number },
): Refusal {
  const left = formatDuration(Math.max(0, Math.floor((most - now) / 1000) * 1000));
  const rule = `must be at most ${left}: this machine may live until ${new Date(most).toISOString()}`;
  const refusal = { next: "Ask for less, or create another machine.", problem: { field: "ttl", rule } };
  const { name, longestMs } = policy;
  if (longestMs === null || allowedUntil(policy, row) > row.maxUntil)
    return { ...refusal, code: "invalid_input", message: `\`ttl\` ${rule}.` };
  const limit = formatDuration(longestMs);
  return {
    ...refusal,
    code: "limit_lease",
    message: `The policy ${name} allows a lease of ${limit} at most, renewals included, counted from when the machine was asked for.`,
    policy: name,
    figures: { limit, asked: formatDuration(startedSeconds(until - row.requestedAt)) },
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
): Promise<"told" | "later" | "stranger"> {
  const { uid, providerId, expiresAt } = row;
  if (providerId === null || capabilities.relabel === undefined) return "later";
  try {
    const machine = await driver.get(providerId);
    if (!machine.hasLabels) return "later";
    if (!isSame(row, machine)) return "stranger";
    if (!isOurs(machine, rules.installations)) return "later";
    if ((await learnEnds(store, [{ row, machine }])).length > 0) return "told";
    await capabilities.relabel(machine, { [LABEL.expires]: labelSeconds(expiresAt) });
  } catch (error) {
    if (error instanceof DriverError) return "later";
    throw error;
  }
  await store.leases.markLabelled([{ uid, expiresAt }], now());
  return "told";
}
