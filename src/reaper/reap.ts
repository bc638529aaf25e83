import { DriverError, type Driver } from "../driver/driver.ts";
import { LABEL } from "../machine/labels.ts";
import { guard } from "./guarded-driver.ts";
import type { PhaseDeps } from "./phase.ts";
import { reapOlderThan } from "./reap-older-than.ts";
import type { Item, PhaseReport } from "./report.ts";

/**
 * Destroys every machine of ours that is older than `MAX_AGE` and was promised no longer life, whether or not D1 knows of
 * it. When the list fails midway, what it had read is judged all the same: being present and too old is proof enough (I4).
 */
export async function reap(deps: PhaseDeps): Promise<Omit<PhaseReport, "phase">> {
  const { rules, signal } = deps;
  const items: Item[] = [];
  const driver = guard(deps, (item) => items.push(item));
  const selector = { [LABEL.managed]: "true", [LABEL.installation]: rules.installations };
  const run = (over: Driver) => reapOlderThan(over, selector, LABEL.created, rules.maxAgeMs, deps.now(), signal);

  let failure: string | null = null;
  let reaped;
  try {
    reaped = await run(driver);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    failure = error.message;
    const partial = error.partial ?? [];
    reaped = await run({ ...driver, list: async () => partial });
  }
  const of = (providerId: string, outcome: Item["outcome"], reason: string): Item => ({
    uid: null,
    providerId,
    outcome,
    reason,
  });
  items.push(
    ...reaped.errors.map(({ providerId, error }) =>
      of(providerId, error.code === "protected" ? "alert" : "error", error.message),
    ),
    ...reaped.remaining.map((providerId) => of(providerId, "remaining", "budget")),
    ...reaped.unknownAge.map((providerId) => of(providerId, "unknown_age", "unknown_age")),
  );
  return { items, failure };
}
