/**
 * The reaper: one sweep a minute destroys what has passed its end. Its phases, each in a file of its own, are isolated from
 * one another and share the invocation's budget; what is left over the next sweep takes up, oldest first.
 *
 *   expire  rows whose end has come, found by D1
 *   reap    machines older than MAX_AGE, found at the provider: it needs no row and finds what D1 forgot
 */
import { budgetOf, PLANS } from "./budget.ts";
import { expire } from "./expire.ts";
import type { PhaseDeps, SweepDeps } from "./phase.ts";
import { reap } from "./reap.ts";
import { hasNews, outcomeOf, reportJson, type PhaseReport, type SweepOrder, type SweepReport } from "./report.ts";

/** As long as a sweep can take; its acts end well before, so that two never overlap. */
const LOCK_MS = 90_000;
const REPORT_EVERY_MS = 3_600_000;
/** What reap is left with at least, when much has expired. */
const REAP_FETCHES = 8;
/** The report and the release still have to be paid for. */
const CLOSING_STATEMENTS = 2;

/**
 * Runs one sweep and answers its report, or null when another is running. A dry run takes no lock and writes nothing.
 * A phase that fails is told in the report; only D1 failing around the phases surfaces.
 */
export async function sweep(deps: SweepDeps, order: SweepOrder): Promise<SweepReport | null> {
  const startedAt = deps.wallNow();
  if (order.dryRun) return run(deps, order, startedAt);
  const { store } = deps;
  const lock = await store.lock.acquire(deps.newUid(), startedAt, startedAt + LOCK_MS);
  if (lock === null) return null;

  const report = await run(deps, order, startedAt);
  const outcome = outcomeOf(report.phases);
  const isNews = hasNews(report) || report.finishedAt - lock.lastReportAt >= REPORT_EVERY_MS;
  const id = isNews ? await store.sweeps.insert({ ...report, outcome, report: reportJson(report) }) : null;
  await store.lock.release(lock.fence, {
    now: report.finishedAt,
    error: report.phases.find(({ failure }) => failure !== null)?.failure ?? null,
    goodByCron: order.startedBy === "cron" && outcome !== "failed",
    reported: isNews,
  });
  return { ...report, id };
}

async function run(deps: SweepDeps, order: SweepOrder, startedAt: number): Promise<SweepReport> {
  const { meter } = deps;
  const plan = PLANS[deps.plan];
  const whole = { fetches: plan.fetches, statements: plan.statements - CLOSING_STATEMENTS };
  const phase = (limit: typeof whole): PhaseDeps => ({ ...deps, dryRun: order.dryRun, budget: budgetOf(meter, limit) });
  const phases = [
    await isolated("expire", () => expire(phase({ ...whole, fetches: whole.fetches - REAP_FETCHES }))),
    await isolated("reap", () => reap(phase(whole))),
  ];
  const { fetches, statements } = meter;
  return {
    ...order,
    id: null,
    scheduledAt: deps.now(),
    startedAt,
    finishedAt: deps.wallNow(),
    phases,
    fetches,
    statements,
  };
}

/** An error boundary around a phase (I8): whatever happens in it, the next one runs. */
async function isolated(
  phase: PhaseReport["phase"],
  act: () => Promise<Omit<PhaseReport, "phase">>,
): Promise<PhaseReport> {
  try {
    return { phase, ...(await act()) };
  } catch (error) {
    return { phase, items: [], failure: error instanceof Error ? `${error.name}: ${error.message}` : "failed" };
  }
}
