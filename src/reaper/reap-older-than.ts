import { destroySeen } from "../driver/destroy-seen.ts";
import { invalidInput, type Driver } from "../driver/driver.ts";
import { creationTime } from "../machine/age.ts";
import { matches, type Selector } from "../machine/selector.ts";

/**
 * What a guarded driver's `destroy` throws when it decides against it: `kept` and `held` spare one machine, `budget` ends
 * the run, because the next one can go on.
 */
export class Withheld extends Error {
  override readonly name = "Withheld";
  readonly code: "kept" | "held" | "budget";

  constructor(code: Withheld["code"], reason: string) {
    super(reason);
    this.code = code;
  }
}

/** What is to be reaped. */
export interface ReapOrder {
  readonly selector: Selector;
  /** The label whose unix seconds tell an age where the provider gives none. */
  readonly createdLabel: string;
  readonly maxAgeMs: number;
  /** Unix milliseconds. */
  readonly now: number;
  /** Ends the run; what is left is reported. */
  readonly signal?: AbortSignal;
}

/** Provider ids, in the order in which the provider listed them. */
export interface Reaped {
  /** Gone, or on its way: destroyed now, already deleting, or vanished meanwhile (S177, S178). */
  readonly destroyed: readonly string[];
  readonly errors: readonly { readonly providerId: string; readonly error: Error }[];
  /** Old enough, but the driver had a reason to spare them. */
  readonly kept: readonly { readonly providerId: string; readonly reason: string }[];
  /** Old enough, and not tried: the deadline or the budget came first. */
  readonly remaining: readonly string[];
  /** Neither the provider nor the label tells when they were made, or it is to be in more than an hour. Not old (S162, S168). */
  readonly unknownAge: readonly string[];
}

/**
 * Destroys every machine that matches `selector` and is older than `maxAgeMs` at `now`: by the provider's creation time,
 * or where that is missing by the unix seconds in `createdLabel` (S159-S181, contract A's ReapOlderThan). One exactly that
 * old survives. One failure stops nothing; a failed list destroys nothing and surfaces. Knows the five operations only, so
 * it runs over any driver.
 */
export async function reapOlderThan(
  driver: Driver,
  { selector, createdLabel, maxAgeMs, now, signal }: ReapOrder,
): Promise<Reaped> {
  checkOrder({ selector, createdLabel, maxAgeMs, now });
  const listed = await driver.list(selector, { olderThan: now - maxAgeMs });
  const mine = listed.filter((machine) => matches(machine.labels, selector));
  const report = {
    destroyed: [] as string[],
    errors: [] as { providerId: string; error: Error }[],
    kept: [] as { providerId: string; reason: string }[],
    remaining: [] as string[],
    unknownAge: [] as string[],
  };
  let stopped = false;
  for (const machine of mine) {
    const { providerId } = machine;
    const created = creationTime(machine, now, createdLabel);
    if (created === null) report.unknownAge.push(providerId);
    else if (now - created <= maxAgeMs) continue;
    else if (machine.status === "deleting") report.destroyed.push(providerId);
    else if (stopped || signal?.aborted) report.remaining.push(providerId);
    else
      try {
        await destroySeen(driver, machine, selector);
        report.destroyed.push(providerId);
      } catch (error) {
        if (!(error instanceof Withheld))
          report.errors.push({ providerId, error: error instanceof Error ? error : new Error("failed") });
        else if (error.code !== "budget") report.kept.push({ providerId, reason: error.message });
        else {
          stopped = true;
          report.remaining.push(providerId);
        }
      }
  }
  return report;
}

/** Refuses, before anything is listed, what could mean everything (S169-S173). */
function checkOrder({ selector, maxAgeMs, now }: ReapOrder): void {
  if (!(Number.isFinite(maxAgeMs) && maxAgeMs > 0))
    throw invalidInput({ field: "max_age", rule: "must be a length of time greater than zero" });
  if (!Number.isFinite(now)) throw invalidInput({ field: "now", rule: "must be a time" });
  // An empty selector is the whole project, foreign machines included (S173).
  if (
    Object.values(selector)
      .flat()
      .every((value) => value === "")
  )
    throw invalidInput({ field: "selector", rule: "must name at least one label and its value" });
}
