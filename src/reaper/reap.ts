import { DriverError, type Driver } from "../driver/driver.ts";
import { backOffMs } from "../lifecycle/back-off.ts";
import { LABEL } from "../machine/labels.ts";
import { guard } from "./guarded-driver.ts";
import { ourSelector } from "../machine/ownership.ts";
import { concernsAll, needsSomebody, type PhaseContext } from "./phase.ts";
import { reapOlderThan, type Reaped } from "./reap-older-than.ts";
import type { Item, PhaseReport } from "./report.ts";

/**
 * Destroys every machine of ours that is older than `MAX_AGE` and was promised no longer life, whether or not D1 knows of
 * it. When the list fails midway, what it had read is judged all the same: being present and too old is proof enough (I4).
 * What cannot be destroyed backs off, so that it cannot starve what is younger.
 */
export async function reap(deps: PhaseContext): Promise<Omit<PhaseReport, "phase">> {
  const { rules, store } = deps;
  const now = deps.now();
  const items: Item[] = [];
  const driver = guard(deps, (item) => items.push(item));
  const selector = ourSelector(rules.installations);
  const run = (over: Driver) => reapOlderThan(over, selector, LABEL.created, rules.maxAgeMs, now);

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

  const tell = (providerId: string, outcome: Item["outcome"], reason: string): void => {
    items.push({ uid: driver.known.get(providerId)?.row?.uid ?? null, providerId, outcome, reason });
  };
  const attemptsOf = (providerId: string): number => driver.known.get(providerId)?.attempts ?? 0;
  const failed = reaped.errors.map(({ providerId, error }) => {
    const attempts = attemptsOf(providerId) + 1;
    tell(providerId, needsSomebody(error) ? "alert" : "error", error.message);
    if (concernsAll(error)) failure ??= error.message;
    return { providerId, error: error.message, attempts, nextTryAt: now + backOffMs(attempts) };
  });
  for (const providerId of reaped.remaining) tell(providerId, "remaining", "budget");
  for (const providerId of reaped.unknownAge) tell(providerId, "unknown_age", "unknown_age");
  const gone = reaped.destroyed.filter((providerId) => attemptsOf(providerId) > 0);
  await store.reapFailures.record(failed, gone);
  return { items, failure };
}
