import { isNotFound, type Driver } from "../driver/driver.ts";
import { destroyIfDue } from "../lifecycle/destroy.ts";
import { decide } from "../machine/decide.ts";
import { isUid } from "../machine/name.ts";
import { LABEL } from "../machine/labels.ts";
import type { PhaseDeps } from "./phase.ts";
import { Withheld } from "./reap-older-than.ts";
import type { Item } from "./report.ts";

/** To read the machine again and destroy it; to find its row, close it and tell. */
const COST = { fetches: 2, statements: 3 };

/**
 * A driver whose `destroy` decides first: it reads the machine again, finds its row, and destroys only what `decide` says
 * may die (I2, I4). Otherwise it throws {@link Withheld}. Every verdict is told to `onVerdict`.
 */
export function guard(deps: PhaseDeps, onVerdict: (item: Item) => void): Driver {
  const { driver, store, budget, rules, dryRun } = deps;
  return {
    ...driver,
    async destroy(providerId) {
      if (!budget.allows(COST)) throw new Withheld("budget", "the budget of this sweep is spent");
      let machine;
      try {
        machine = await driver.get(providerId);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        onVerdict({ uid: null, providerId, outcome: "destroyed", reason: "gone" });
        return;
      }
      const uid = machine.labels[LABEL.uid];
      const row = await store.machines.ofMachine(providerId, uid !== undefined && isUid(uid) ? uid : null);
      const now = deps.now();
      const verdict = dryRun ? decide(row, machine, now, rules) : await destroyIfDue(deps, row, machine, now);
      const outcome = verdict.act === "destroy" ? "destroyed" : verdict.alert ? "alert" : "kept";
      onVerdict({ uid: row?.uid ?? null, providerId, outcome, reason: verdict.reason });
      if (verdict.act === "keep") throw new Withheld("kept", verdict.reason);
    },
  };
}
