import { StoreError } from "../store/db.ts";
import { createAllowance } from "./allowance.ts";
import { AFTER_A_REQUEST, cpuOf, PLANS, type Limit, type Plan, type Share } from "./budget.ts";
import { refreshCatalogue } from "./catalogue.ts";
import { failureOf, type PhaseContext, type SweepContext } from "./context.ts";
import { expire, roomToExpire, settle } from "./due-rows.ts";
import { endResources } from "./ended-resources.ts";
import { keepHistory } from "./history.ts";
import { isPassDue, reconcile, SLICE } from "./inventory.ts";
import { lookForOrphans } from "./orphans.ts";
import { lookAhead, NOTHING_KNOWN } from "./outlook.ts";
import { createPace, type Pace, type Time } from "./pace.ts";
import { reapBlind } from "./reap-blind.ts";
import { reap } from "./reap.ts";
import { remainingIn, type PhaseReport, type SweepOrder, type SweepReport } from "./report.ts";

/**
 * What each phase leaves to those after it at least; what it does not use itself passes on too. Of CPU that is a page of the oldest to reap, and
 * a list to settle. And how long it may take, though the sweep has taken its time by then: that one list is slow must not keep what it shows alive.
 */
const LEFT_BY = {
  expire: { fetches: 8, statements: 22, cpuUs: 2_200, ownMs: 45_000 },
  reap: { fetches: 4, statements: 16, cpuUs: 900, ownMs: 35_000 },
  settle: { fetches: 2, statements: 2, cpuUs: 0, ownMs: 0 },
  reconcile: { fetches: 2, statements: 6, cpuUs: 0, ownMs: 0 },
  orphans: { fetches: 0, statements: 0, cpuUs: 0, ownMs: 0 },
  hooks: { fetches: 0, statements: 0, cpuUs: 0, ownMs: 0 },
  history: { fetches: 0, statements: 0, cpuUs: 0, ownMs: 0 },
};
const BEFORE_PASS: ReadonlySet<keyof typeof LEFT_BY> = new Set(["expire", "reap", "settle"]);
/** After so long a sweep begins nothing more, save what a phase has time of its own for: one call may hang for half a minute. */
const SWEEP_MS = 45_000;
/** A list that takes longer ends with what it has shown. */
const LIST_MS = 20_000;
const PHASES = ["expire", "reap", "settle", "reconcile", "orphans", "history"] as const;
/** A tick's time that lies so far ahead of the clock is wrong: all that lives would seem to be at its end. */
const MOST_AHEAD_MS = 5 * 60_000;
/** A create waits for an expire pass no longer. */
const PASS_MS = 10_000;
const NO_SLICE: Share = { fetches: 0, statements: 0 };
/** The report and the release still have to be paid for. */
const CLOSING_STATEMENTS = 2;

/** What all phases share; each has a pace of its own. */
export type Opened = Omit<PhaseContext, "pace" | "allowance" | "items" | "known"> & {
  readonly holdLock: () => Promise<boolean>;
};

/** Runs the phases one after the other, each within its share. */
export async function runPhases(
  context: SweepContext,
  order: SweepOrder,
  startedAt: number,
  { holdLock, ...common }: Opened,
): Promise<SweepReport> {
  const { meter, now, wallNow } = context;
  const ahead = aheadOfTime(context);
  if (ahead !== null) return reportOf(context, order, startedAt, untried(ahead));
  const limit = limitOf(context.plan, order);
  // Only when an inventory pass is due is a slice of it left its calls and its CPU.
  const slice = isPassDue(common.memory, now()) ? SLICE : NO_SLICE;
  const paceOf = (name: keyof typeof LEFT_BY): Pace => {
    const left = LEFT_BY[name];
    const share = {
      fetches: limit.fetches - left.fetches - (name === "settle" ? slice.fetches : 0),
      statements: limit.statements - CLOSING_STATEMENTS - left.statements,
      cpuUs: (limit.cpuUs ?? Infinity) - left.cpuUs - (BEFORE_PASS.has(name) ? cpuOf(slice) : 0),
    };
    return createPace(meter, share, holdLock, timeOf(wallNow, startedAt, left.ownMs));
  };
  const known = await lookAhead(common.store, meter, now(), roomToExpire(paceOf("expire")));
  const shared = { ...common, known, allowance: createAllowance(common.store, common.rules, now()) };
  const phase = (name: keyof typeof LEFT_BY): PhaseContext => ({ ...shared, pace: paceOf(name), items: [] });
  const refusals: StoreError[] = [];
  const expired = await isolated("expire", phase("expire"), (opened) =>
    expire(opened).catch((error: unknown) => {
      if (error instanceof StoreError) refusals.push(error);
      throw error;
    }),
  );
  const reaped = await isolated("reap", phase("reap"), (opened) => reapAsItCan(opened, refusals[0]));
  const settled = await isolated("settle", phase("settle"), settle);
  const reconciled = await isolated("reconcile", phase("reconcile"), reconcile);
  const orphans = await isolated("orphans", phase("orphans"), endAndLook);
  const reports = [expired, reaped, settled, reconciled, orphans];
  if (!order.dryRun)
    for (const { name, run } of context.extraPhases) {
      const report = await isolated(name, phase(name), run);
      if (report.items.length > 0 || report.failure !== null || report.whyRemaining !== null) reports.push(report);
    }
  reports.push(await isolated("history", phase("history"), keepHistory));
  return reportOf(context, order, startedAt, reports);
}

/** Runs the expire phase alone, while a create waits for it: in seconds, and leaving the create so much of the budget. */
export async function runExpire(
  context: SweepContext,
  startedAt: number,
  { holdLock, ...common }: Opened,
  leaving: Share,
): Promise<SweepReport> {
  const { meter, plan, wallNow, now } = context;
  const order: SweepOrder = { startedBy: "create", dryRun: false };
  const limit = limitOf(plan, order);
  const share = {
    ...limit,
    fetches: limit.fetches - leaving.fetches,
    statements: limit.statements - CLOSING_STATEMENTS - leaving.statements,
  };
  const isLeft = () => wallNow() - startedAt < PASS_MS;
  const pace = createPace(meter, share, holdLock, { isLeft, isLeftToList: isLeft });
  const allowance = createAllowance(common.store, common.rules, now());
  const expired = await isolated("expire", { ...common, known: NOTHING_KNOWN, allowance, pace, items: [] }, expire);
  return reportOf(context, order, startedAt, [expired]);
}

/** The time of a phase that begins now. */
function timeOf(wallNow: () => number, startedAt: number, ownMs: number): Time {
  const beganAt = wallNow();
  return {
    isLeft: () => wallNow() - startedAt < SWEEP_MS || wallNow() - beganAt < ownMs,
    isLeftToList: () => wallNow() - beganAt < LIST_MS,
  };
}

/** D1 refuses: no lock, no rows, no report row. */
export async function runBlind(
  context: SweepContext,
  order: SweepOrder,
  startedAt: number,
  cause: StoreError,
): Promise<SweepReport> {
  const { meter, plan, driver, rules, now, wallNow } = context;
  const ahead = aheadOfTime(context);
  if (ahead !== null) return reportOf(context, order, startedAt, untried(ahead));
  const pace = createPace(meter, limitOf(plan, order), async () => true, timeOf(wallNow, startedAt, SWEEP_MS));
  const reaped = await isolated("reap", { driver, rules, now, pace, items: [] }, (opened) => reapUnder(cause, opened));
  const phases = untried(cause.hint).map((phase) => (phase.phase === "reap" ? reaped : phase));
  return reportOf(context, order, startedAt, phases);
}

/**
 * Where the database let expire do nothing, it is tried once more: one refusal may be a hiccup, two are none. One that answers and takes nothing
 * down, as when it is full, would let live what is due just as well. That it is full is no hiccup: a second try would only spend the calls that are left, on looks for what is gone.
 */
async function reapAsItCan(context: PhaseContext, refusal: StoreError | undefined): Promise<string | null> {
  if (refusal?.isFull === true) return reapUnder(refusal, context);
  try {
    if (refusal !== undefined) await expire(context);
    return await reap(context);
  } catch (error) {
    if (!(error instanceof StoreError) || refusal === undefined) throw error;
    return reapUnder(error, context);
  }
}

async function endAndLook(context: PhaseContext): Promise<string | null> {
  await endResources(context);
  const failure = await lookForOrphans(context);
  return (await refreshCatalogue(context)) ?? failure;
}

function reportOf(
  { meter, now, wallNow }: SweepContext,
  order: SweepOrder,
  startedAt: number,
  phases: readonly PhaseReport[],
): SweepReport {
  const { fetches, statements } = meter;
  return { ...order, id: null, scheduledAt: now(), startedAt, finishedAt: wallNow(), phases, fetches, statements };
}

/** An error boundary around a phase (I8): whatever happens in it, what it did is told and the next one runs. */
async function isolated<Context extends Pick<PhaseContext, "items" | "pace">>(
  phase: PhaseReport["phase"],
  context: Context,
  act: (context: Context) => Promise<string | null>,
): Promise<PhaseReport> {
  const { items, pace } = context;
  const reportOfIt = (failure: string | null): PhaseReport => ({
    phase,
    items,
    failure,
    whyRemaining: remainingIn(items) ?? pace.left,
  });
  try {
    return reportOfIt(await act(context));
  } catch (error) {
    return reportOfIt(failureOf(error).detail);
  }
}

/** The report of a sweep that begins none of its phases. */
const untried = (failure: string): PhaseReport[] =>
  PHASES.map((phase) => ({ phase, items: [], failure, whyRemaining: null }));

/** Why nothing may be concluded from a tick's time; null where it may be believed. */
function aheadOfTime({ now, wallNow, mayPlayTime }: SweepContext): string | null {
  const ahead = now() - wallNow();
  if (mayPlayTime || ahead <= MOST_AHEAD_MS) return null;
  return `the tick's time lies ${Math.round(ahead / 60_000)} min ahead of the clock; nothing is concluded from it`;
}

/** What the provider shows and its labels tell is enough to end what is overdue: also where rows can be read, and not be written. */
const reapUnder = async ({ hint }: StoreError, context: Parameters<typeof reapBlind>[0]): Promise<string> =>
  (await reapBlind(context)) ?? hint;

const limitOf = (plan: Plan, { startedBy }: SweepOrder): Limit =>
  startedBy === "create" ? { ...PLANS[plan], ...AFTER_A_REQUEST[plan] } : PLANS[plan];

/** What D1 answers, or its refusal. */
export async function orRefusal<T>(answer: Promise<T>): Promise<T | StoreError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}
