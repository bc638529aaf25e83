import { DriverError, type Driver } from "../driver/driver.ts";
import type { FailedReap } from "../store/reap-failures.ts";
import { backOffMs } from "../lifecycle/back-off.ts";
import { LABEL } from "../machine/labels.ts";
import { ourSelector } from "../machine/ownership.ts";
import { failureOf, needsSomebody, type PhaseContext } from "./context.ts";
import { guard } from "./guarded-driver.ts";
import { isProvenGone } from "./look.ts";
import { followUnproven, tellUnrecorded, type Gone } from "./unrecorded.ts";
import { reapOlderThan, type Reaped } from "./reap-older-than.ts";
import { namesOf, type Item, type SweepReason } from "./report.ts";

/**
 * Destroys every machine of ours that is older than `MAX_AGE` and was promised no longer life, whether or not D1 knows of
 * it. When the list fails midway, what it had read is judged all the same: being present and too old is proof enough (I4).
 * What cannot be destroyed backs off, so that it cannot starve what is younger.
 */
export async function reap(context: PhaseContext): Promise<string | null> {
  const { rules, store, pace, items } = context;
  const now = context.now();
  const driver = guard(context);
  const order = {
    selector: ourSelector(rules.installations),
    createdLabel: LABEL.created,
    maxAgeMs: rules.maxAgeMs,
    now,
  };
  const run = (over: Driver) => reapOlderThan(over, order);

  let failure: string | null = null;
  let reaped: Reaped;
  try {
    reaped = await run(driver);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    failure = error.message;
    const partial = error.partial ?? [];
    reaped = await run({ ...driver, list: () => driver.know(partial) });
  }

  const knownOf = (providerId: string) => driver.known.get(providerId);
  function tell(providerId: string, outcome: Item["outcome"], reason: SweepReason, detail: string | null = null): void {
    const { row = null, machine } = knownOf(providerId) ?? {};
    items.push({ ...namesOf(row, machine?.labels), providerId, outcome, reason, detail });
  }
  const failed = reaped.errors.map(({ providerId, error }) => {
    const { reason, detail } = failureOf(error);
    const attempts = (knownOf(providerId)?.attempts ?? 0) + 1;
    tell(providerId, needsSomebody(error) ? "alert" : "error", reason, detail);
    return { providerId, error: detail, attempts, nextTryAt: now + backOffMs(attempts) };
  });
  const agreed: FailedReap[] = [];
  const proven: Gone[] = [];
  const unproven: Gone[] = [];
  for (const [providerId, reason] of driver.accepted) {
    const { machine, row } = knownOf(providerId) ?? {};
    if (await isProven(context, providerId)) {
      tell(providerId, "destroyed", reason);
      if (machine !== undefined && row !== undefined) proven.push({ machine, row, reason });
    } else {
      // It is to go by itself, and is left alone for a while; what is there all the same did not do what was agreed to.
      const attempts = (knownOf(providerId)?.attempts ?? 0) + 1;
      if (attempts <= PATIENCE) tell(providerId, "accepted", reason);
      else tell(providerId, "alert", "delete_failed");
      agreed.push({ providerId, error: "delete_failed", attempts, nextTryAt: now + backOffMs(attempts - 1) });
      if (machine !== undefined && row !== undefined) unproven.push({ machine, row, reason });
    }
  }
  for (const providerId of reaped.remaining) tell(providerId, "remaining", driver.stopped ?? "budget");
  for (const providerId of reaped.unknownAge) tell(providerId, "unknown_age", "unknown_age");
  const hasFailed = (providerId: string) => (knownOf(providerId)?.attempts ?? 0) > 0;
  const isOpen = (providerId: string) => agreed.some((one) => one.providerId === providerId);
  const gone = reaped.destroyed.filter((providerId) => hasFailed(providerId) && !isOpen(providerId));
  await tellUnrecorded(context, proven);
  await followUnproven(context, unproven);
  await store.reapFailures.record([...failed, ...agreed], gone);
  return failure ?? pace.refusal;
}

/** So many agreements may come to nothing before somebody should look. */
const PATIENCE = 3;

/** Deletes come before proofs: a look costs what others may need to die. */
async function isProven(context: PhaseContext, providerId: string): Promise<boolean> {
  return (await context.pace.stop({ fetches: 1, statements: 2 })) === null && isProvenGone(context, providerId);
}
