/**
 * Rows that are due, worked on batch by batch: select, look, decide, act, write.
 *
 *   expire   rows whose end has come, oldest end first; what failed before comes last
 *   settle   rows of a create, a destroy or a label that is under way, those that nobody looked at for longest first
 *
 * One list by uid reads a batch again; what is to be concluded from absence is asked for by id. The intent is written before
 * the first one dies, and claims the lease as it was read. A row closes when the provider has nothing of that id; where it has agreed to
 * delete, settle proves it. What cannot be done backs off and stays in the set.
 */
import { destroySeen } from "../driver/destroy-seen.ts";
import { isGone } from "../lifecycle/destroy.ts";
import { adoptCredential } from "../lifecycle/credential.ts";
import { onDriverError } from "../lifecycle/refusal.ts";
import { tellLabel } from "../lifecycle/renew.ts";
import { decide } from "../machine/decide.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { selectorOf } from "../machine/ownership.ts";
import type { Reason } from "../machine/reason.ts";
import { machineIn, type Sighting } from "../machine/sighting.ts";
import { concernsAll, failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { LABEL_CALLS, settleLabels } from "./labels.ts";
import { BATCH, listByUid, lookById, lookByName, sightingIn, type Listed } from "./look.ts";
import type { StopReason } from "./pace.ts";
import { itemOf, type Item } from "./report.ts";
import { isDoomed, type Case, type Queue } from "./case.ts";
import { writeCases } from "./write-cases.ts";

/** What a batch still writes after its reads, however large it is. */
const RECORDS = 9;

const EXPIRE: Queue = { name: "expire", looks: 1 };
const SETTLE: Queue = { name: "settle", looks: 2 };
/** So many tries that fail are bad luck; the next one somebody should look at. */
const PATIENCE = 2;

/** Destroys the machines of rows whose end has come, as far as the budget goes. */
export async function expire(context: PhaseContext): Promise<string | null> {
  let last: MachineRow | null = null;
  const accepted: Accepted[] = [];
  for (;;) {
    const rows: MachineRow[] = await context.store.work.due(context.now(), BATCH, last);
    if (rows.length === 0) break;
    const { cases, failure } = await workOn(context, EXPIRE, rows);
    accepted.push(...acceptedIn(context, cases));
    if (failure !== null) return failure;
    if (rows.length < BATCH || cases.some(({ outcome }) => outcome === "remaining")) break;
    last = rows.at(-1) ?? null;
  }
  await proveGone(context, accepted);
  return context.pace.refusal;
}

/**
 * Follows creates and destroys to their end, and writes labels that are behind their lease. A machine whose beginning has failed is
 * destroyed with the reason kept; a row whose machine never came is closed, tombstone and all. While little is left of the provider's rate
 * limit only deletions are followed, and some labels written.
 */
export async function settle(context: PhaseContext): Promise<string | null> {
  const { work } = context.store;
  if (context.capabilities.hasHeadroom?.() !== false)
    return settleRows(context, await work.unsettled(context.now(), BATCH));
  const failure = await settleRows(context, await work.unproven(context.now(), BATCH));
  return failure ?? settleLabels(context);
}

async function settleRows(context: PhaseContext, rows: readonly MachineRow[]): Promise<string | null> {
  if (rows.length === 0) return null;
  const stop = await context.pace.stop({ fetches: 1, statements: RECORDS });
  if (stop !== null) {
    context.items.push(...rows.map((row) => toItem(remaining(row, stop))));
    return null;
  }
  const { cases, failure } = await workOn(context, SETTLE, rows);
  await proveGone(context, acceptedIn(context, cases));
  return failure;
}

async function workOn(
  context: PhaseContext,
  queue: Queue,
  rows: readonly MachineRow[],
): Promise<{ cases: readonly Case[]; failure: string | null }> {
  const listed = await listByUid(context, rows);
  const judged = await judgeAll(context, queue, rows, listed);
  const cases = await actAll(context, await claim(context, judged));
  // Told before it is written down: what was done is done, though D1 may not take it.
  context.items.push(...cases.map(toItem));
  await writeCases(context, queue, cases);
  return { cases, failure: listed.failure?.detail ?? context.pace.refusal };
}

/** Looks at every row's machine and decides, as far as the budget can also pay for what is decided. */
async function judgeAll(
  context: PhaseContext,
  queue: Queue,
  rows: readonly MachineRow[],
  listed: Listed,
): Promise<Case[]> {
  const cases: Case[] = [];
  let planned = 0;
  for (const row of rows) {
    const stop = await context.pace.stop({ fetches: planned + queue.looks + 1, statements: RECORDS });
    if (stop !== null) {
      cases.push(remaining(row, stop));
      continue;
    }
    try {
      const one = await judge(context, queue, row, await look(context, queue, row, listed));
      planned += one.act === "destroy" ? 1 : one.act === "label" ? LABEL_CALLS : 0;
      cases.push(one);
    } catch (error) {
      cases.push(failed(context, remaining(row, "budget"), error));
    }
  }
  return cases;
}

/** A deletion that was agreed to, and an end that has come, are asked for by id; else the list must do. */
async function look(context: PhaseContext, { name }: Queue, row: MachineRow, listed: Listed): Promise<Sighting> {
  const sighting = await sightingIn(context, row, listed);
  const { providerId, deleteAcceptedAt } = row;
  if (providerId === null) return lookByName(context, row, sighting);
  const isListed = sighting.seen === "present" && deleteAcceptedAt === null;
  const isAsked = name === "expire" || deleteAcceptedAt !== null;
  return isAsked && !isListed ? lookById(context, row, providerId) : sighting;
}

async function judge(context: PhaseContext, queue: Queue, row: MachineRow, sighting: Sighting): Promise<Case> {
  const { act, reason, alert } = decide(row, sighting, context.now(), context.rules);
  const machine = machineIn(sighting);
  const isMissing = sighting.seen === "absent" && row.providerId === null;
  const one = { row, machine, isMissing, isClaimed: false, isUndeleted: false, act, why: reason, reason, detail: null };
  if (act === "destroy" && machine && row.deleteAcceptedAt !== null) return undeleted(context, { ...one, machine });
  if (act === "destroy" && machine && !(await context.allowance.take({ reason }, row, machine)))
    return { ...one, act: "wait", reason: "held", outcome: "alert" };
  if (act === "destroy") return { ...one, outcome: "accepted" };
  if (act === "close") return { ...one, outcome: reason === "never_seen" ? "settled" : "destroyed" };
  if (alert) return { ...one, outcome: "alert" };
  if (queue.name === "expire" || reason !== "live") return { ...one, outcome: "kept" };
  const isBehind = row.phase === "active" && row.labelExpiresAt !== row.expiresAt;
  return { ...one, outcome: "settled", act: isBehind ? "label" : act };
}

/** The provider agreed to delete it, and it lives: a failed try, whose reason the provider may tell. It is deleted again later. */
async function undeleted(
  { capabilities }: PhaseContext,
  one: Omit<Case, "outcome"> & { readonly machine: Machine },
): Promise<Case> {
  const detail = await onDriverError(
    async () => (await capabilities.deletionError?.(one.machine.providerId)) ?? null,
    () => null,
  );
  const outcome = one.row.attempts < PATIENCE ? "error" : "alert";
  return { ...one, act: "wait", isUndeleted: true, outcome, reason: "delete_failed", detail };
}

/** Writes down the intent to destroy. What was renewed between the look and the claim is kept: the renewal won. */
async function claim({ store, credential, now }: PhaseContext, cases: readonly Case[]): Promise<Case[]> {
  const doomed = cases.filter(isDoomed);
  await adoptCredential(
    { store, credential },
    doomed.map(({ row }) => row),
  );
  const dooms = doomed.map(({ row, machine, why }) => ({
    uid: row.uid,
    reason: why,
    expiresAt: row.expiresAt,
    lacking: why === "attach_failed" ? row.attachments : null,
    providerId: machine.providerId,
  }));
  const won = await store.endings.claimDestroy(dooms, now());
  return cases.map((one) => {
    if (!isDoomed(one)) return one;
    return won.has(one.row.uid)
      ? { ...one, isClaimed: true }
      : { ...one, act: "keep", outcome: "kept", reason: "live" };
  });
}

/** Carries out what was decided, one after the other. */
async function actAll(context: PhaseContext, cases: readonly Case[]): Promise<Case[]> {
  const acted: Case[] = [];
  for (const one of cases) acted.push(await carryOut(context, one));
  return acted;
}

/** Each failure is its own (I8), save those that would meet all. */
async function carryOut(context: PhaseContext, one: Case): Promise<Case> {
  const isLabel = one.act === "label";
  if (!isDoomed(one) && !isLabel) return one;
  const stop = await context.pace.stop({ fetches: isLabel ? LABEL_CALLS : 1, statements: RECORDS - 1 });
  if (stop !== null) return remaining(one.row, stop);
  try {
    if (isDoomed(one)) await destroySeen(context.driver, one.machine, selectorOf(one.row, context.rules));
    else if ((await tellLabel(context, one.row)) === "told") return { ...one, reason: "label" };
    else return { ...one, act: "wait", outcome: "error", reason: "label_behind" };
    return one;
  } catch (error) {
    return failed(context, one, error);
  }
}

/** A machine that the provider agreed to delete, and the item that tells it. */
interface Accepted {
  readonly uid: string;
  readonly providerId: string;
  readonly reason: Reason;
  readonly item: number;
}

/** Those of the cases that were told last. */
function acceptedIn({ items }: PhaseContext, cases: readonly Case[]): Accepted[] {
  const first = items.length - cases.length;
  return cases.flatMap((one, index) =>
    isDoomed(one)
      ? [{ uid: one.row.uid, providerId: one.machine.providerId, reason: one.why, item: first + index }]
      : [],
  );
}

/**
 * Looks once more when all deletes are done, as far as the budget goes: what is not there any more can close; the rest settle proves
 * later (P51).
 */
async function proveGone(
  { driver, pace, items, store, now }: PhaseContext,
  accepted: readonly Accepted[],
): Promise<void> {
  const gone: Accepted[] = [];
  for (const one of accepted) {
    if ((await pace.stop({ fetches: 1, statements: 2 })) !== null) break;
    if (await isGone(driver, one.providerId)) gone.push(one);
  }
  for (const { item } of gone) {
    const told = items[item];
    if (told) items[item] = { ...told, outcome: "destroyed" };
  }
  await store.endings.close(
    gone.map(({ uid, reason }) => ({ uid, reason, phase: "destroyed" as const })),
    now(),
  );
}

const remaining = (row: MachineRow, reason: StopReason): Case => ({
  row,
  machine: null,
  isMissing: false,
  isClaimed: false,
  isUndeleted: false,
  act: "wait",
  why: "not_seen",
  outcome: "remaining",
  reason,
  detail: null,
});

/** A failure of one; where it would meet every other too, nothing more is begun. */
function failed(context: PhaseContext, one: Case, error: unknown): Case {
  const failure = failureOf(error);
  if (concernsAll(error)) context.pace.refuse(failure.detail);
  return { ...one, act: "wait", outcome: needsSomebody(error) ? "alert" : "error", ...failure };
}

const toItem = ({ row, machine, outcome, reason, detail }: Case): Item => ({
  ...itemOf(row, outcome, reason, detail),
  providerId: row.providerId ?? machine?.providerId ?? null,
});
