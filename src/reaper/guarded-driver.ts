import { getIfThere, type Driver } from "../driver/driver.ts";
import { destroyIfDue } from "../lifecycle/destroy.ts";
import { creationTime } from "../machine/age.ts";
import { decide } from "../machine/decide.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import type { Reason } from "../machine/reason.ts";
import { present } from "../machine/sighting.ts";
import { concernsAll, type PhaseContext } from "./context.ts";
import { fewOldest, listBehind } from "./few-oldest.ts";
import { BATCH } from "./look.ts";
import type { StopReason } from "./pace.ts";
import { Withheld } from "./reap-older-than.ts";
import { namesOf, type Item, type SweepReason } from "./report.ts";

/**
 * To read the machine again and destroy it; to find its row, close it and tell. The event of one without a row takes the place of its
 * closing.
 */
const COST = { fetches: 3, statements: 4 };
/** What reap writes at its end. */
const RECORDS = 2;

/** What is known of a machine that was listed, so that one that stays costs no call. */
interface Known {
  readonly machine: Machine;
  readonly row: MachineRow | null;
  /** How often it could not be destroyed before, and until when it is left alone for that; unix milliseconds. */
  readonly attempts: number;
  readonly nextTryAt: number;
}

/** What is told of one; or why the provider agreed to delete it, of which it is still to be proven that it is gone. */
export type Fate = { readonly item: Item } | { readonly accepted: Reason };

export interface GuardedDriver extends Driver {
  /**
   * Looks up what D1 knows of machines that were listed, and answers them in the order of their turn: those that failed before
   * come last. `list` does it by itself.
   */
  know(machines: readonly Machine[]): Promise<readonly Machine[]>;
  readonly known: ReadonlyMap<string, Known>;
  /**
   * To be asked for each, in order and for one at a time, before it is destroyed: whether that is paid for, and may come early. `later`:
   * once another one is destroyed. Throws {@link Withheld}.
   */
  readonly admit: (machine: Machine) => Promise<"admitted" | "later">;
  /** What came of those whose turn it was, in their order: null where it failed. */
  readonly fates: ReadonlyMap<string, Fate | null>;
  /** Why it destroyed no more; null while it did. */
  readonly stopped: StopReason | null;
}

/**
 * A driver that decides before it destroys: over what is known from the list whether one is admitted, and of one that is, over
 * a fresh read of machine and row (I2, I4). Otherwise it throws {@link Withheld}. Whatever it decides is told.
 */
export function guard(context: PhaseContext): GuardedDriver {
  const { driver, store, pace, rules } = context;
  const known = new Map<string, Known>();
  const fates = new Map<string, Fate | null>();
  const admitted = new Set<string>();
  let stopped: StopReason | null = null;

  async function know(machines: readonly Machine[]): Promise<readonly Machine[]> {
    const now = context.now();
    const oldest = now - rules.maxAgeMs;
    const old = machines.filter((machine) => (creationTime(machine, now) ?? oldest) < oldest);
    if (old.length === 0) return machines;
    const rows = await store.machines.ofMachines(old);
    const failures = new Map((await store.reapFailures.of(old.map(idOf))).map((one) => [one.providerId, one]));
    for (const machine of old) {
      const { attempts = 0, nextTryAt = 0 } = failures.get(machine.providerId) ?? {};
      known.set(machine.providerId, { machine, row: rows.get(machine.providerId) ?? null, attempts, nextTryAt });
    }
    const hasFailed = ({ providerId }: Machine) => failures.has(providerId);
    return [...machines.filter((machine) => !hasFailed(machine)), ...machines.filter(hasFailed)];
  }

  function tell(providerId: string, row: MachineRow | null, outcome: Item["outcome"], reason: SweepReason): void {
    const { machine } = known.get(providerId) ?? {};
    fates.set(providerId, {
      item: { ...namesOf(row, machine?.labels), providerId, outcome, reason, detail: null },
    });
  }

  function keep(providerId: string, row: MachineRow | null, isAlert: boolean, reason: SweepReason): never {
    tell(providerId, row, isAlert ? "alert" : "kept", reason);
    throw new Withheld("kept", reason);
  }

  /** What the list showed is enough to keep a machine, and never enough to destroy it. */
  async function admit({ providerId }: Machine): Promise<"admitted" | "later"> {
    const now = context.now();
    fates.set(providerId, null);
    const listed = known.get(providerId);
    const { row = null, nextTryAt = 0 } = listed ?? {};
    const verdict = listed && decide(row, present(listed.machine), now, rules);
    if (verdict && verdict.act !== "destroy") keep(providerId, row, verdict.alert, verdict.reason);
    if (nextTryAt > now && nextTryAt <= now + LONGEST_WAIT_MS) keep(providerId, row, false, "backing_off");
    const { fetches, statements } = COST;
    const count = admitted.size + 1;
    const stop = await pace.stop({ fetches: fetches * count, statements: statements * count + RECORDS });
    if (stop === "budget" && count > 1) return "later";
    stopped = stop;
    if (stopped !== null) throw new Withheld("budget", stopped);
    if (listed && verdict && !(await context.allowance.take(verdict, row, listed.machine)))
      keep(providerId, row, true, "held");
    admitted.add(providerId);
    return "admitted";
  }

  async function destroyNow(providerId: string, now: number): Promise<void> {
    const machine = await getIfThere(driver, providerId);
    if (machine === null) return tell(providerId, known.get(providerId)?.row ?? null, "destroyed", "gone");
    const row = (await store.machines.ofMachines([machine])).get(providerId) ?? null;
    const { act, reason, alert, isProven } = await destroyIfDue(context, row, present(machine), now);
    if (act !== "destroy") keep(providerId, row, alert, reason);
    if (isProven) return tell(providerId, row, "destroyed", reason);
    fates.set(providerId, { accepted: reason });
  }

  return {
    ...driver,
    known,
    know,
    admit,
    fates,
    get stopped() {
      return stopped;
    },
    async list(selector, options) {
      const maxPages = pace.pages;
      const paced = { ...options, maxPages, goOn: pace.mayList };
      const few = await fewOldest(driver, selector, paced);
      const oldest = await know(few.machines);
      const isInTheWay = ({ providerId }: Machine) => (known.get(providerId)?.attempts ?? 0) > 0;
      // More than a few could not be destroyed where CPU is short; but what could not be before must not hide what is younger.
      const isEnough = pace.isTight && !oldest.every(isInTheWay);
      // A list that takes long is not asked for again.
      const isLate = oldest.length > 0 && !pace.mayList();
      if (!few.areAll && (isEnough || isLate)) pace.leave(isEnough ? "budget" : "time");
      if (few.areAll || isEnough || isLate) return oldest;
      // Full pages that the budget cannot pay for are no failure: the oldest were read, and the next sweep goes on.
      const enough = Math.min(pace.listed, maxPages * BATCH);
      return know(await listBehind(few.machines, () => driver.list(selector, { ...paced, enough })));
    },

    async destroy(providerId) {
      if (!admitted.has(providerId)) throw new Withheld("kept", "it was not admitted");
      try {
        await destroyNow(providerId, context.now());
      } catch (error) {
        if (concernsAll(error)) pace.refuse(error.message);
        throw error;
      } finally {
        admitted.delete(providerId);
      }
    },
  };
}

/** Longer than any back-off: a later mark is a clock's mistake. */
const LONGEST_WAIT_MS = 86_400_000;

const idOf = ({ providerId }: Machine): string => providerId;
