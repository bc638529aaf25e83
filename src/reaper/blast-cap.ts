import { endOf, labelEnd, type Rules, type Verdict } from "../machine/decide.ts";
import { creationTime } from "../machine/age.ts";
import type { Machine, MachineRow } from "../machine/machine.ts";
import type { Store } from "../store/store.ts";

/** So many may die early in a sweep however few there are. */
const LEAST = 5;
const SHARE = 0.2;

/** Whether a sweep may still bring about a death before the promised end. */
export interface BlastCap {
  /** True where the end has come, or the owner asked; else it counts, until the cap is reached. */
  allows(verdict: Pick<Verdict, "reason">, row: MachineRow | null, machine: Machine): Promise<boolean>;
}

/**
 * However sure the reasons look one by one, many early deaths at once are more likely a mistake: of a restored database, of labels
 * edited by hand, of our own. Above the cap they are held until an admin releases them.
 */
export function createBlastCap({ machines, settings }: Store, rules: Rules, now: number): BlastCap {
  let early = 0;
  let most: number | null = null;
  return {
    async allows({ reason }, row, machine) {
      if (!EARLY.has(reason) || row?.destroyRequestedAt || now >= promisedEnd(row, machine, rules, now)) return true;
      most ??=
        (await settings.blastCapReleasedUntil()) > now
          ? Infinity
          : Math.max(LEAST, SHARE * (await machines.countLive()));
      early += 1;
      return early <= most;
    },
  };
}

/** The reasons for which a machine may die before its end. */
const EARLY: ReadonlySet<Verdict["reason"]> = new Set(["late_landing", "launch_failed", "attach_failed"]);

function promisedEnd(row: MachineRow | null, machine: Machine, rules: Rules, now: number): number {
  if (row !== null && row.phase !== "destroyed" && row.phase !== "failed") return endOf(row, machine);
  return labelEnd(machine, creationTime(machine) ?? now, rules) ?? now;
}
