/**
 * The reaper: one sweep a minute destroys what has passed its end. Its phases, each in a file of its own, are isolated from
 * one another and share the invocation's budget; what is left over the next sweep takes up, oldest first.
 *
 *   expire     rows whose end has come, found by D1
 *   reap       machines older than MAX_AGE, found at the provider: it needs no row and finds what D1 forgot
 *   settle     rows of a create or a destroy under way: followed to its end
 *   reconcile  every quarter of an hour the inventory against the rows, and the rows against it
 *   orphans    firewalls, networks and keys that nobody uses any more: deleted; once an hour the catalogue
 *   history    what has ended is added to the ledger; hourly what is old is forgotten
 *
 * Before the last come the phases that whoever starts the sweep adds.
 */
import { invalidInput } from "../driver/driver.ts";
import { StoreError } from "../store/db.ts";
import type { Share } from "./budget.ts";
import type { PhaseContext, SweepContext } from "./context.ts";
import { dryRunProvider } from "./dry-run.ts";
import { orRefusal, runBlind, runExpire, runPhases, type Opened } from "./phases.ts";
import { hasNews, reportJson, reportOutcome, type SweepOrder, type SweepReport } from "./report.ts";

/** How long the lock holds without a sign of life. */
const LOCK_MS = 90_000;
/** A sweep that goes on for longer than this shows one. */
const RENEW_AFTER_MS = 5_000;
const REPORT_EVERY_MS = 3_600_000;

/**
 * Runs one sweep and answers its report, or null when another is running. A dry run takes no lock and writes nothing.
 * Whatever fails is told in the report.
 */
export async function sweep(context: SweepContext, order: SweepOrder): Promise<SweepReport | null> {
  const { meter, now, wallNow, openStore } = context;
  if (Number.isNaN(new Date(now()).getTime())) throw invalidInput({ field: "now", rule: "must be a time" });
  const startedAt = wallNow();
  if (order.dryRun) {
    const store = openStore({ readOnly: true });
    const memory = await orRefusal(store.lock.recall());
    const pretended = { ...context, ...dryRunProvider(context, meter) };
    if (memory instanceof StoreError) return runBlind(pretended, order, startedAt, memory);
    const openStoreAs: PhaseContext["openStoreAs"] = (mode) => openStore({ ...mode, readOnly: true });
    return runPhases(context, order, startedAt, {
      ...pretended,
      store,
      memory,
      openStoreAs,
      holdLock: async () => true,
    });
  }
  const blind = (cause: StoreError) => runBlind(context, order, startedAt, cause);
  return underLock(context, startedAt, blind, (opened) => runPhases(context, order, startedAt, opened));
}

/**
 * Runs a sweep's expire phase alone, for a create that waits for it, and leaves that so much of the invocation's budget. Null when
 * another sweep is running. Where the database refuses the lock, that is thrown.
 */
export async function sweepExpired(context: SweepContext, leaving: Share): Promise<SweepReport | null> {
  const startedAt = context.wallNow();
  const refused = (cause: StoreError) => Promise.reject(cause);
  return underLock(context, startedAt, refused, (opened) => runExpire(context, startedAt, opened, leaving));
}

/** Holds the lock around what `run` does, and keeps its report; `blind` runs instead where the database refuses the lock. */
async function underLock(
  context: SweepContext,
  startedAt: number,
  blind: (cause: StoreError) => Promise<SweepReport>,
  run: (opened: Opened) => Promise<SweepReport>,
): Promise<SweepReport | null> {
  const { wallNow, openStore } = context;
  const { lock: locks, sweeps } = openStore();
  const lock = await orRefusal(locks.acquire(context.newUid(), startedAt, startedAt + LOCK_MS));
  if (lock instanceof StoreError) return blind(lock);
  if (lock === null) return null;
  const { fence, lastReportAt, memory } = lock;
  const holdLock = holding((until) => locks.renew(fence, until), wallNow, startedAt);
  const report = await run({
    ...context,
    store: openStore({ fence, signature: { word: { by: "sweep", id: fence }, requestId: null } }),
    memory,
    openStoreAs: (mode) => openStore({ ...mode, fence }),
    holdLock,
  });

  const outcome = reportOutcome(report.phases);
  // A time that lies ahead is a clock's mistake.
  const isDue = report.finishedAt - lastReportAt >= REPORT_EVERY_MS || lastReportAt > report.finishedAt;
  const isToKeep = isDue || hasNews(report);
  const kept = await closing(async () =>
    isToKeep ? sweeps.insert({ ...report, id: fence, outcome, report: reportJson(report) }) : null,
  );
  const released = await closing(async () =>
    locks.release(fence, {
      now: report.finishedAt,
      error: report.phases.find(({ failure }) => failure !== null)?.failure ?? null,
      goodByCron: report.startedBy === "cron" && outcome !== "failed",
      reported: kept.value !== null,
      memory,
    }),
  );
  const closingFailure = kept.failure ?? released.failure;
  const phases = report.phases.map((phase) => ({ ...phase, failure: phase.failure ?? closingFailure }));
  return { ...report, id: kept.value, phases };
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

/** Renews the lock when it was last shown a sign of life too long ago; answers false from when it is lost. */
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
