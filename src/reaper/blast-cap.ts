import { endOf, labelEnd } from "../machine/lease.ts";
import type { Rules } from "../machine/rules.ts";
import type { Verdict } from "../machine/decide.ts";
import { creationTime } from "../machine/age.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import type { Store } from "../store/store.ts";

/** So many may die early in a sweep however few there are. */
const LEAST = 5;
const SHARE = 0.2;

/** Whether a sweep may still bring about a death before the promised end. */
export interface BlastCap {
  /** True where the end has come, or the owner asked; else it counts, until the cap is reached. */
  allows(verdict: Pick<Verdict, "reason">, row: MachineRow | null, machine: Machine): Promise<boolean>;
  /** The last death that was allowed did not come about, and does not count. */
  undone(): void;
}

/**
 * However sure the reasons look one by one, many early deaths at once are more likely a mistake: of a restored database, of labels
 * edited by hand, of our own. What is beyond the cap is held, in this sweep and in all that follow while there is anything to hold,
 * until an admin releases it.
 */
export function createBlastCap({ inventory, settings }: Store, rules: Rules, now: number): BlastCap {
  let early = 0;
  let most: number | null = null;
  let isNoted = false;
  let counted = false;

  async function limit(): Promise<number> {
    const { releasedUntil, heldUntil } = await settings.blastCap();
    if (releasedUntil > now) return Infinity;
    return heldUntil > now ? 0 : Math.max(LEAST, SHARE * (await inventory.countLive()));
  }

  return {
    undone() {
      if (counted) early -= 1;
      counted = false;
    },

    async allows({ reason }, row, machine) {
      counted = false;
      if (!EARLY.has(reason) || row?.destroyRequestedAt || now >= promisedEnd(row, machine, rules, now)) return true;
      most ??= await limit();
      counted = early + 1 <= most;
      if (counted) early += 1;
      if (counted) return true;
      if (!isNoted) await settings.holdBlastCap(now + HELD_MS);
      isNoted = true;
      return false;
    },
  };
}

/** A hold ends by itself when so long nothing was held: longer than from one walk of the reconcile to the next. */
const HELD_MS = 40 * 60_000;

/** The reasons for which a machine may die before its end. */
const EARLY: ReadonlySet<Verdict["reason"]> = new Set(["late_landing", "launch_failed", "attach_failed"]);

function promisedEnd(row: MachineRow | null, machine: Machine, rules: Rules, now: number): number {
  if (row !== null && isLive(row)) return endOf(row, machine);
  return labelEnd(machine, creationTime(machine) ?? now, rules) ?? now;
}
