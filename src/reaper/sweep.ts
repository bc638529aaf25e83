/**
 * The reaper: one sweep a minute destroys what has passed its end. Its phases, each in a file of its own, are isolated from
 * one another and share the invocation's budget; what is left over the next sweep takes up, oldest first.
 *
 *   expire  rows whose end has come, found by D1
 *   reap    machines older than MAX_AGE, found at the provider: it needs no row and finds what D1 forgot
 */
import { invalidInput } from "../driver/driver.ts";
import type { Release } from "../store/lock.ts";
import { budgetOf, PLANS } from "./budget.ts";
import { pretending } from "./dry-run.ts";
import { expire } from "./expire.ts";
import { messageOf, type PhaseDeps, type SweepDeps } from "./phase.ts";
import { reap } from "./reap.ts";
import { hasNews, outcomeOf, reportJson, type PhaseReport, type SweepOrder, type SweepReport } from "./report.ts";

/** How long the lock holds without a sign of life. */
const LOCK_MS = 90_000;
/** A sweep that goes on for longer than this shows one. */
const RENEW_AFTER_MS = 30_000;
const REPORT_EVERY_MS = 3_600_000;
/** What reap is left with at least, when much has expired. */
const REAP_SHARE = { fetches: 8, statements: 12 };
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
    const driver = pretending(deps.driver, meter);
    const pretended = { store: openStore({ readOnly: true }), driver, rules, now, mayGoOn: async () => true };
    return run(deps, order, startedAt, pretended);
  }

  const { lock: locks, sweeps } = openStore();
  const lock = await locks.acquire(deps.newUid(), startedAt, startedAt + LOCK_MS);
  if (lock === null) return null;
  const { fence, lastReportAt } = lock;
  const release: Release = { now: startedAt, error: "the sweep broke off", goodByCron: false, reported: false };
  try {
    const mayGoOn = holding((until) => locks.renew(fence, until), wallNow, startedAt);
    const report = await run(deps, order, startedAt, {
      store: openStore({ fence }),
      driver: deps.driver,
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
  const { fetches: mostFetches, statements: mostStatements } = PLANS[plan];
  const whole = { fetches: mostFetches, statements: mostStatements - CLOSING_STATEMENTS };
  const allButReap = {
    fetches: whole.fetches - REAP_SHARE.fetches,
    statements: whole.statements - REAP_SHARE.statements,
  };
  const phases = [
    await isolated("expire", () => expire({ ...deps, budget: budgetOf(meter, allButReap) })),
    await isolated("reap", () => reap({ ...deps, budget: budgetOf(meter, whole) })),
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
