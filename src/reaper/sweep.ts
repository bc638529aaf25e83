/**
 * The reaper: one sweep a minute destroys what has passed its end. Its phases, each in a file of its own, are isolated from
 * one another and share the invocation's budget; what is left over the next sweep takes up, oldest first.
 *
 *   expire     rows whose end has come, found by D1
 *   reap       machines older than MAX_AGE, found at the provider: it needs no row and finds what D1 forgot
 *   settle     rows of a create or a destroy under way: followed to its end
 *   reconcile  every quarter of an hour the inventory against the rows, and the rows against it
 *   leftovers  firewalls, networks and keys that nobody uses any more: deleted
 */
import { invalidInput } from "../driver/driver.ts";
import { AFTER_A_REQUEST, budgetOf, PLANS, type Plan, type Share } from "./budget.ts";
import { dryRunProvider } from "./dry-run.ts";
import { StoreError } from "../store/db.ts";
import { createBlastCap } from "./blast-cap.ts";
import { expire } from "./expire.ts";
import { findEnded, leftovers } from "./leftovers.ts";
import { messageOf, type PhaseContext, type SweepContext } from "./phase.ts";
import { reapBlind } from "./reap-blind.ts";
import { reap } from "./reap.ts";
import { isReconcileDue, reconcile } from "./reconcile.ts";
import { settle } from "./settle.ts";
import { hasNews, outcomeOf, reportJson, type PhaseReport, type SweepOrder, type SweepReport } from "./report.ts";

/** How long the lock holds without a sign of life. */
const LOCK_MS = 90_000;
/** A sweep that goes on for longer than this shows one. */
const RENEW_AFTER_MS = 30_000;
const REPORT_EVERY_MS = 3_600_000;
/** What each phase leaves to those after it at least; what it does not use itself passes on too. */
const LEFT_BY = {
  expire: { fetches: 8, statements: 22 },
  reap: { fetches: 4, statements: 16 },
  settle: { fetches: 2, statements: 1 },
  reconcile: { fetches: 2, statements: 5 },
  leftovers: { fetches: 0, statements: 0 },
};
/** A slice of the reconcile at least. */
const WALK_FETCHES = 3;
/** The report and the release still have to be paid for. */
const CLOSING_STATEMENTS = 2;

/**
 * Runs one sweep and answers its report, or null when another is running. A dry run takes no lock and writes nothing.
 * Whatever fails is told in the report.
 */
export async function sweep(deps: SweepContext, order: SweepOrder): Promise<SweepReport | null> {
  const { meter, now, wallNow, openStore } = deps;
  if (Number.isNaN(new Date(now()).getTime())) throw invalidInput({ field: "now", rule: "must be a time" });
  const startedAt = wallNow();
  if (order.dryRun) {
    const store = openStore({ readOnly: true });
    const memory = await orRefusal(store.lock.recall());
    const pretended = { ...deps, ...dryRunProvider(deps, meter) };
    if (memory instanceof StoreError) return runBlind(pretended, order, startedAt, memory);
    return run(deps, order, startedAt, { ...pretended, store, memory, mayGoOn: async () => true });
  }

  const { lock: locks, sweeps } = openStore();
  const lock = await orRefusal(locks.acquire(deps.newUid(), startedAt, startedAt + LOCK_MS));
  if (lock instanceof StoreError) return runBlind(deps, order, startedAt, lock);
  if (lock === null) return null;
  const { fence, lastReportAt, memory } = lock;
  const mayGoOn = holding((until) => locks.renew(fence, until), wallNow, startedAt);
  const report = await run(deps, order, startedAt, { ...deps, store: openStore({ fence }), memory, mayGoOn });

  const outcome = outcomeOf(report.phases);
  const isToKeep = hasNews(report) || report.finishedAt - lastReportAt >= REPORT_EVERY_MS;
  const kept = await closing(async () =>
    isToKeep ? sweeps.insert({ ...report, outcome, report: reportJson(report) }) : null,
  );
  const released = await closing(async () =>
    locks.release(fence, {
      now: report.finishedAt,
      error: report.phases.find(({ failure }) => failure !== null)?.failure ?? null,
      goodByCron: order.startedBy === "cron" && outcome !== "failed",
      reported: kept.value !== null,
      memory,
    }),
  );
  const closingFailure = kept.failure ?? released.failure;
  const phases = report.phases.map((phase) => ({ ...phase, failure: phase.failure ?? closingFailure }));
  return { ...report, id: kept.value, phases };
}

const limitOf = (plan: Plan, { startedBy }: SweepOrder): Share =>
  startedBy === "create" ? AFTER_A_REQUEST[plan] : PLANS[plan];

/** What D1 answers, or its refusal. */
async function orRefusal<T>(answer: Promise<T>): Promise<T | StoreError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}

/** What was done is done and is told, though D1 may not take it down; a lock that was not released ends by itself. */
async function closing<T>(act: () => Promise<T>): Promise<{ value: T | null; failure: string | null }> {
  try {
    return { value: await act(), failure: null };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { value: null, failure: error.hint };
  }
}

/** D1 refuses: no lock, no rows, no report row. */
async function runBlind(
  deps: SweepContext,
  order: SweepOrder,
  startedAt: number,
  cause: StoreError,
): Promise<SweepReport> {
  const { meter, plan, driver, rules, now, wallNow } = deps;
  const budget = budgetOf(meter, limitOf(plan, order));
  const untried = { items: [], failure: cause.hint };
  const phases: PhaseReport[] = [
    { phase: "expire", ...untried },
    await isolated("reap", () => reapUnder(cause, { driver, rules, now, budget })),
    { phase: "settle", ...untried },
    { phase: "reconcile", ...untried },
    { phase: "leftovers", ...untried },
  ];
  const { fetches, statements } = meter;
  return { ...order, id: null, scheduledAt: now(), startedAt, finishedAt: wallNow(), phases, fetches, statements };
}

/** What the provider shows and its labels tell is enough to end what is overdue. */
async function reapUnder(
  { hint }: StoreError,
  deps: Parameters<typeof reapBlind>[0],
): Promise<Omit<PhaseReport, "phase">> {
  const { items, failure } = await reapBlind(deps);
  return { items, failure: failure ?? hint };
}

/** Where expire could not read its rows, they are asked for once more: one refusal may be a hiccup, two are none. */
async function reapAsItCan(deps: PhaseContext, isInDoubt: boolean): Promise<Omit<PhaseReport, "phase">> {
  try {
    if (isInDoubt) await deps.store.work.due(deps.now(), 1, null);
    return await reap(deps);
  } catch (error) {
    if (!(error instanceof StoreError) || !isInDoubt) throw error;
    return reapUnder(error, deps);
  }
}

/** Renews the lock when it was last shown a sign of life too long ago; false from when it is lost. */
function holding(
  renew: (until: number) => Promise<boolean>,
  wallNow: () => number,
  startedAt: number,
): () => Promise<boolean> {
  let renewedAt = startedAt;
  let isHeld = true;
  return async () => {
    if (isHeld && wallNow() - renewedAt > RENEW_AFTER_MS) {
      renewedAt = wallNow();
      isHeld = await renew(renewedAt + LOCK_MS);
    }
    return isHeld;
  };
}

async function run(
  { meter, plan, wallNow, now }: SweepContext,
  order: SweepOrder,
  startedAt: number,
  opened: Omit<PhaseContext, "budget" | "cap">,
): Promise<SweepReport> {
  const limit = limitOf(plan, order);
  const deps = { ...opened, cap: createBlastCap(opened.store, opened.rules, now()) };
  // Only when a walk is due does settle leave it its calls.
  const forWalk = isReconcileDue(opened.memory, now()) ? WALK_FETCHES : 0;
  const phase = (name: keyof typeof LEFT_BY): PhaseContext => ({
    ...deps,
    budget: budgetOf(meter, {
      fetches: limit.fetches - LEFT_BY[name].fetches - (name === "settle" ? forWalk : 0),
      statements: limit.statements - CLOSING_STATEMENTS - LEFT_BY[name].statements,
    }),
  });
  // What nobody uses is found before machines die, so that what they used goes with a later sweep, and a dry run can foretell it.
  const ended = await orRefusal(findEnded(deps));
  const expired = await isolated("expire", () => expire(phase("expire")));
  const isInDoubt = expired.failure !== null && expired.items.length === 0;
  const reaped = await isolated("reap", () => reapAsItCan(phase("reap"), isInDoubt));
  const settled = await isolated("settle", () => settle(phase("settle")));
  const reconciled = await isolated("reconcile", () => reconcile(phase("reconcile")));
  const left = await isolated("leftovers", () => leftovers(phase("leftovers"), ended));
  const phases = [expired, reaped, settled, reconciled, left];
  const { fetches, statements } = meter;
  return { ...order, id: null, scheduledAt: now(), startedAt, finishedAt: wallNow(), phases, fetches, statements };
}

/** An error boundary around a phase (I8): whatever happens in it, the next one runs. */
async function isolated(
  phase: PhaseReport["phase"],
  act: () => Promise<Omit<PhaseReport, "phase">>,
): Promise<PhaseReport> {
  try {
    return { phase, ...(await act()) };
  } catch (error) {
    return { phase, items: [], failure: messageOf(error) };
  }
}
