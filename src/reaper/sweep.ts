/**
 * The reaper: one sweep a minute destroys what has passed its end. Its phases, each in a file of its own, are isolated from
 * one another and share the invocation's budget; what is left over the next sweep takes up, oldest first.
 *
 *   expire  rows whose end has come, found by D1
 *   reap    machines older than MAX_AGE, found at the provider: it needs no row and finds what D1 forgot
 *   settle  rows of a create or a destroy under way: followed to its end
 */
import { invalidInput } from "../driver/driver.ts";
import type { Release } from "../store/lock.ts";
import { budgetOf, PLANS } from "./budget.ts";
import { pretending } from "./dry-run.ts";
import { StoreError } from "../store/db.ts";
import { expire } from "./expire.ts";
import { messageOf, type PhaseDeps, type SweepDeps } from "./phase.ts";
import { reapBlind } from "./reap-blind.ts";
import { reap } from "./reap.ts";
import { settle } from "./settle.ts";
import { hasNews, outcomeOf, reportJson, type PhaseReport, type SweepOrder, type SweepReport } from "./report.ts";

/** How long the lock holds without a sign of life. */
const LOCK_MS = 90_000;
/** A sweep that goes on for longer than this shows one. */
const RENEW_AFTER_MS = 30_000;
const REPORT_EVERY_MS = 3_600_000;
/** What each phase leaves to those after it at least; what it does not use itself passes on too. */
const LEFT_BY = {
  expire: { fetches: 8, statements: 20 },
  reap: { fetches: 4, statements: 14 },
  settle: { fetches: 0, statements: 0 },
};
/** The report and the release still have to be paid for. */
const CLOSING_STATEMENTS = 2;

/**
 * Runs one sweep and answers its report, or null when another is running. A dry run takes no lock and writes nothing.
 * A phase that fails is told in the report; only D1 failing around the phases surfaces.
 */
export async function sweep(deps: SweepDeps, order: SweepOrder): Promise<SweepReport | null> {
  const { meter, rules, now, wallNow, openStore } = deps;
  if (Number.isNaN(new Date(now()).getTime())) throw invalidInput({ field: "now", rule: "must be a time" });
  const startedAt = wallNow();
  if (order.dryRun) {
    const store = openStore({ readOnly: true });
    return run(deps, order, startedAt, { ...pretending(deps, meter), store, rules, now, mayGoOn: async () => true });
  }

  const { lock: locks, sweeps } = openStore();
  let lock: Awaited<ReturnType<typeof locks.acquire>>;
  try {
    lock = await locks.acquire(deps.newUid(), startedAt, startedAt + LOCK_MS);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return runBlind(deps, order, startedAt, error);
  }
  if (lock === null) return null;
  const { fence, lastReportAt } = lock;
  const release: Release = { now: startedAt, error: "the sweep broke off", goodByCron: false, reported: false };
  try {
    const mayGoOn = holding((until) => locks.renew(fence, until), wallNow, startedAt);
    const report = await run(deps, order, startedAt, {
      store: openStore({ fence }),
      driver: deps.driver,
      extras: deps.extras,
      rules,
      now,
      mayGoOn,
    });
    const outcome = outcomeOf(report.phases);
    release.now = report.finishedAt;
    release.error = report.phases.find(({ failure }) => failure !== null)?.failure ?? null;
    release.goodByCron = order.startedBy === "cron" && outcome !== "failed";
    if (!hasNews(report) && report.finishedAt - lastReportAt < REPORT_EVERY_MS) return report;
    const id = await sweeps.insert({ ...report, outcome, report: reportJson(report) });
    release.reported = true;
    return { ...report, id };
  } finally {
    await locks.release(fence, release);
  }
}

/** D1 refuses: no lock, no rows, no report row. What the provider shows and its labels tell is enough to end what is overdue. */
async function runBlind(
  deps: SweepDeps,
  order: SweepOrder,
  startedAt: number,
  cause: StoreError,
): Promise<SweepReport> {
  const { meter, plan, driver, rules, now, wallNow } = deps;
  const failed: PhaseReport = { phase: "expire", items: [], failure: cause.hint };
  const reaped = await isolated("reap", () => reapBlind({ driver, rules, now, budget: budgetOf(meter, PLANS[plan]) }));
  const { fetches, statements } = meter;
  const phases = [failed, reaped];
  return { ...order, id: null, scheduledAt: now(), startedAt, finishedAt: wallNow(), phases, fetches, statements };
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
  { meter, plan, wallNow, now }: SweepDeps,
  order: SweepOrder,
  startedAt: number,
  deps: Omit<PhaseDeps, "budget">,
): Promise<SweepReport> {
  const limit = PLANS[plan];
  const phase = (name: keyof typeof LEFT_BY): PhaseDeps => ({
    ...deps,
    budget: budgetOf(meter, {
      fetches: limit.fetches - LEFT_BY[name].fetches,
      statements: limit.statements - CLOSING_STATEMENTS - LEFT_BY[name].statements,
    }),
  });
  const phases = [
    await isolated("expire", () => expire(phase("expire"))),
    await isolated("reap", () => reap(phase("reap"))),
    await isolated("settle", () => settle(phase("settle"))),
  ];
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
