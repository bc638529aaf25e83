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
import { onDriverError } from "../lifecycle/refusal.ts";
import { decide } from "../machine/decide.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { machineIn, type Sighting } from "../machine/sighting.ts";
import { acceptedIn, proveGone, type Accepted } from "./accepted.ts";
import { isDoomed, RECORDS, remaining, type Case, type Queue } from "./case.ts";
import { actAll, claim, failed } from "./carry-out.ts";
import type { PhaseContext } from "./context.ts";
import { inPace } from "./in-pace.ts";
import { LABEL_CALLS, settleLabels } from "./labels.ts";
import { BATCH, listByUid, lookById, lookByName, sightingIn, type Listed } from "./look.ts";
import type { Pace } from "./pace.ts";
import { itemOf, type Item } from "./report.ts";
import { writeCases } from "./write-cases.ts";

const EXPIRE: Queue = { name: "expire", looks: 1 };
const SETTLE: Queue = { name: "settle", looks: 2 };
/** To list a batch, and to write down what becomes of it. */
const TO_LIST = { fetches: 1, statements: RECORDS };
/** So many tries that fail are bad luck; the next one somebody should look at. */
const PATIENCE = 2;

/** How many due rows can be looked at and their machines destroyed: more are not worth reading. At least one, so that what is left is told. */
export const roomToExpire = (pace: Pace): number =>
  Math.max(1, pace.room({ fetches: 1, statements: 0, entries: 1 }, TO_LIST, BATCH));

/** Destroys the machines of rows whose end has come, as far as the budget goes. */
export async function expire(context: PhaseContext): Promise<string | null> {
  let last: MachineRow | null = null;
  let rows = context.known.due();
  let most = roomToExpire(context.pace);
  const accepted: Accepted[] = [];
  for (;;) {
    rows ??= await context.store.work.due(context.now(), most, last);
    if (rows.length === 0) break;
    const { cases, failure } = await workOn(context, EXPIRE, rows);
    accepted.push(...acceptedIn(context, cases));
    if (failure !== null) return failure;
    if (rows.length < most || cases.some(({ outcome }) => outcome === "remaining")) break;
    last = rows.at(-1) ?? null;
    rows = null;
    most = roomToExpire(context.pace);
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
  const { store, capabilities, memory, known, pace, now } = context;
  const most = Math.max(1, pace.room({ fetches: 0, statements: 0, entries: 1 }, TO_LIST, BATCH));
  if (capabilities.hasHeadroom?.() === false) {
    const { failure } = await settleRows(context, await store.work.unproven(now(), most));
    if (failure === null) await settleLabels(context);
    return failure;
  }
  const rows = known.lacks("unsettled") ? [] : await store.work.unsettled(now(), most);
  if (rows.length === most) pace.leave("budget");
  const { isDone, failure } = await settleRows(context, rows);
  if (isDone) memory.settledAt = now();
  return failure;
}

async function settleRows(
  context: PhaseContext,
  rows: readonly MachineRow[],
): Promise<{ isDone: boolean; failure: string | null }> {
  if (rows.length === 0) return { isDone: true, failure: null };
  const stop = await context.pace.stop({ ...TO_LIST, entries: rows.length });
  if (stop !== null) {
    context.items.push(...rows.map((row) => toItem(remaining(row, stop))));
    return { isDone: false, failure: null };
  }
  const { cases, failure } = await workOn(context, SETTLE, rows);
  await proveGone(context, acceptedIn(context, cases));
  return { isDone: failure === null, failure };
}

async function workOn(
  context: PhaseContext,
  queue: Queue,
  rows: readonly MachineRow[],
): Promise<{ cases: readonly Case[]; failure: string | null }> {
  const listed = await listByUid(context, rows);
  const judged = await judgeAll(context, queue, rows, listed);
  const claimed = await claim(context, judged);
  const cases: Case[] = [];
  try {
    await actAll(context, claimed, (one) => {
      cases.push(one);
      // Told before it is written down: what was done is done, though D1 may not take it.
      context.items.push(toItem(one));
    });
  } finally {
    // Where the batch breaks off, what was done of it is written down all the same.
    await writeCases(context, queue, cases);
  }
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
  await inPace(context.pace, rows, {
    costOf: () => ({ fetches: queue.looks + 1, statements: 0 }),
    rest: () => ({ fetches: planned, statements: RECORDS }),
    act: (row) => lookAndJudge(context, queue, row, listed),
    stopped: remaining,
    async tell(_row, judged) {
      const one = await heldBack(context, judged);
      planned += one.act === "destroy" ? 1 : one.act === "label" ? LABEL_CALLS : 0;
      cases.push(one);
    },
  });
  return cases;
}

async function lookAndJudge(context: PhaseContext, queue: Queue, row: MachineRow, listed: Listed): Promise<Case> {
  try {
    return await judge(context, queue, row, await look(context, queue, row, listed));
  } catch (error) {
    return failed(context, remaining(row, "budget"), error);
  }
}

/** Takes a death from the allowance, in the order of the rows; what is beyond it is held. */
async function heldBack(context: PhaseContext, one: Case): Promise<Case> {
  if (!isDoomed(one)) return one;
  const { row, machine, why: reason } = one;
  try {
    if (await context.allowance.take({ reason }, row, machine)) return one;
    return { ...one, act: "wait", reason: "held", outcome: "alert" };
  } catch (error) {
    return failed(context, remaining(row, "budget"), error);
  }
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

const toItem = ({ row, machine, outcome, reason, detail }: Case): Item => ({
  ...itemOf(row, outcome, reason, detail),
  providerId: row.providerId ?? machine?.providerId ?? null,
});
