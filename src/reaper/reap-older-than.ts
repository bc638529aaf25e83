import { destroySeen } from "../driver/destroy-seen.ts";
import { invalidInput, type Driver } from "../driver/driver.ts";
import { atMostFive } from "../lifecycle/at-most-five.ts";
import { creationTime } from "../machine/age.ts";
import type { Machine } from "../machine/machine.ts";
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
  /**
   * Asked before each that is old enough, in order and for one at a time. Throws {@link Withheld} to spare it; `later` asks again when
   * another one is done.
   */
  readonly admit?: (machine: Machine) => Promise<"admitted" | "later">;
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
 * old survives. At most five are destroyed at once. One failure stops nothing; a failed list destroys nothing and surfaces. Knows
 * the five operations only, so it runs over any driver.
 */
export async function reapOlderThan(driver: Driver, order: ReapOrder): Promise<Reaped> {
  checkOrder(order);
  const { selector, maxAgeMs, now, signal, admit = async () => "admitted" } = order;
  const listed = await driver.list(selector, { olderThan: now - maxAgeMs });
  const told: Told[] = [];
  let stopped = false;
  function notDestroyed(providerId: string, error: unknown): Told {
    if (!(error instanceof Withheld))
      return { errors: [{ providerId, error: error instanceof Error ? error : new Error("failed") }] };
    if (error.code !== "budget") return { kept: [{ providerId, reason: error.message }] };
    stopped = true;
    return { remaining: [providerId] };
  }
  async function destroy(machine: Machine): Promise<Told> {
    try {
      await destroySeen(driver, machine, selector);
      return { destroyed: [machine.providerId] };
    } catch (error) {
      return notDestroyed(machine.providerId, error);
    }
  }
  const mine = listed.filter((machine) => matches(machine.labels, selector));
  await atMostFive<Machine, Told>(mine, {
    async begin(machine) {
      const { providerId } = machine;
      const known = untried(machine, order);
      if (known !== null) return async () => known;
      if (stopped || signal?.aborted) return async () => ({ remaining: [providerId] });
      try {
        return (await admit(machine)) === "later" ? "later" : () => destroy(machine);
      } catch (error) {
        return async () => notDestroyed(providerId, error);
      }
    },
    tell: (_machine, one) => void told.push(one),
  });
  return {
    destroyed: told.flatMap(({ destroyed = [] }) => destroyed),
    errors: told.flatMap(({ errors = [] }) => errors),
    kept: told.flatMap(({ kept = [] }) => kept),
    remaining: told.flatMap(({ remaining = [] }) => remaining),
    unknownAge: told.flatMap(({ unknownAge = [] }) => unknownAge),
  };
}

/** What is told of one machine. */
type Told = Partial<Reaped>;

/** What is told of one without a try; null where it is old enough for one. */
function untried(machine: Machine, { createdLabel, maxAgeMs, now }: ReapOrder): Told | null {
  const { providerId, status } = machine;
  const created = creationTime(machine, now, createdLabel);
  if (created === null) return { unknownAge: [providerId] };
  if (now - created <= maxAgeMs) return {};
  return status === "deleting" ? { destroyed: [providerId] } : null;
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
