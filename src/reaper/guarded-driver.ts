import { getIfThere, type Driver } from "../driver/driver.ts";
import { destroyIfDue } from "../lifecycle/destroy.ts";
import { decide, type Verdict } from "../machine/decide.ts";
import { creationTime } from "../machine/age.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import { concernsAll, type PhaseContext } from "./phase.ts";
import { Withheld } from "./reap-older-than.ts";
import type { Item } from "./report.ts";

/** To read the machine again and destroy it; to find its row, close it and tell; and what reap writes at its end. */
const COST = { fetches: 3, statements: 4 + 2 };

/** What is known of a machine that was listed, so that one that stays costs no call. */
interface Known {
  readonly machine: Machine;
  readonly row: MachineRow | null;
  /** How often it could not be destroyed before, and until when it is left alone for that; unix milliseconds. */
  readonly attempts: number;
  readonly nextTryAt: number;
}

export interface GuardedDriver extends Driver {
  /**
   * Looks up what D1 knows of machines that were listed, and answers them in the order of their turn: those that failed before
   * come last. `list` does it by itself.
   */
  know(machines: readonly Machine[]): Promise<readonly Machine[]>;
  readonly known: ReadonlyMap<string, Known>;
}

/**
 * A driver whose `destroy` decides first: over what is known from the list, and if that says that the machine may die, over
 * a fresh read of machine and row (I2, I4). Otherwise it throws {@link Withheld}. Every verdict is told to `onVerdict`.
 */
export function guard(deps: PhaseContext, onVerdict: (item: Item) => void): GuardedDriver {
  const { driver, store, budget, rules } = deps;
  const known = new Map<string, Known>();

  async function know(machines: readonly Machine[]): Promise<readonly Machine[]> {
    const oldest = deps.now() - rules.maxAgeMs;
    const old = machines.filter((machine) => (creationTime(machine) ?? oldest) < oldest);
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

  function settle(
    providerId: string,
    row: MachineRow | null,
    { act, alert, reason }: Omit<Verdict, "reason"> & { reason: string },
  ) {
    const outcome = act === "destroy" ? "destroyed" : alert ? "alert" : "kept";
    onVerdict({ uid: row?.uid ?? null, providerId, outcome, reason });
    if (act !== "destroy") throw new Withheld("kept", reason);
  }

  async function destroyNow(providerId: string, now: number): Promise<void> {
    const machine = await getIfThere(driver, providerId);
    if (machine === null) return settle(providerId, known.get(providerId)?.row ?? null, GONE);
    const row = (await store.machines.ofMachines([machine])).get(providerId) ?? null;
    settle(providerId, row, await destroyIfDue(deps, row, machine, now));
  }

  let isRefused = false;
  return {
    ...driver,
    known,
    know,
    list: async (selector, options) => know(await driver.list(selector, { ...options, enough: budget.listed })),

    async destroy(providerId) {
      const now = deps.now();
      const listed = known.get(providerId);
      const verdict = listed && decide(listed.row, listed.machine, now, rules);
      if (listed && verdict) {
        if (verdict.act !== "destroy") settle(providerId, listed.row, verdict);
        if (listed.nextTryAt > now && listed.nextTryAt <= now + LONGEST_WAIT_MS)
          settle(providerId, listed.row, BACKING_OFF);
      }
      if (isRefused || !budget.allows(COST) || !(await deps.mayGoOn()))
        throw new Withheld("budget", "this sweep must end here");
      if (listed && verdict && !(await deps.cap.allows(verdict, listed.row, listed.machine)))
        settle(providerId, listed.row, HELD);
      try {
        await destroyNow(providerId, now);
      } catch (error) {
        deps.cap.undone();
        isRefused = concernsAll(error);
        throw error;
      }
    },
  };
}

/** Longer than any back-off: a later mark is a clock's mistake. */
const LONGEST_WAIT_MS = 86_400_000;
const BACKING_OFF = { act: "keep", alert: false, reason: "backing_off" } as const;
const HELD = { act: "keep", alert: true, reason: "held" } as const;
const GONE = { act: "destroy", alert: false, reason: "gone" } as const;

const idOf = ({ providerId }: Machine): string => providerId;
