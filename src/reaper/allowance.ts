import { creationTime } from "../machine/age.ts";
import type { Verdict } from "../machine/decide.ts";
import { endOf, labelEnd } from "../machine/lease.ts";
import { isLive, type Machine, type MachineRow } from "../machine/machine.ts";
import { isEarlyDeath } from "../machine/reason.ts";
import type { Rules } from "../machine/rules.ts";
import type { Store } from "../store/store.ts";

/** So many may die early in a sweep however few there are. */
const LEAST = 5;
const SHARE = 0.2;
/** A hold ends by itself when so long nothing was held: longer than from one inventory pass to the next. */
const HELD_MS = 40 * 60_000;

/** How many deaths before the promised end a sweep may still bring about. */
export interface DeathAllowance {
  /**
   * Takes one death from the allowance, before it is brought about; what comes of it gives nothing back. True where the end has come,
   * its owner asked, or it was allowed before. False = it is held. Of several that ask at once each waits for those before it.
   */
  take(verdict: Pick<Verdict, "reason">, row: MachineRow | null, machine: Machine): Promise<boolean>;
}

/**
 * However sure the reasons look one by one, many early deaths at once are more likely a mistake: of a restored database, of labels
 * edited by hand, of our own. What is beyond the allowance is held, in this sweep and in all that follow while there is anything to
 * hold, until an admin releases it.
 */
export function createAllowance({ inventory, settings }: Store, rules: Rules, now: number): DeathAllowance {
  let left: number | null = null;
  let isHeld = false;

  async function limit(): Promise<number> {
    const { releasedUntil, heldUntil } = await settings.blastCap(now);
    if (releasedUntil > now) return Infinity;
    return heldUntil > now ? 0 : Math.floor(Math.max(LEAST, SHARE * (await inventory.countLive())));
  }

  async function takeOne(): Promise<boolean> {
    left ??= await limit();
    left -= 1;
    if (left >= 0) return true;
    if (!isHeld) await settings.holdBlastCap(now + HELD_MS);
    isHeld = true;
    return false;
  }

  let before: Promise<unknown> = Promise.resolve();
  return {
    async take({ reason }, row, machine) {
      if (!isEarlyDeath(reason) || isDecided(row) || now >= promisedEnd(row, machine, rules, now)) return true;
      const taken = before.then(takeOne);
      // That it failed is told to whoever asked.
      before = Promise.allSettled([taken]);
      return taken;
    },
  };
}

/** Its owner has asked, or a sweep has taken it from its allowance and claimed it. */
const isDecided = (row: MachineRow | null): boolean =>
  row !== null && (row.destroyRequestedAt !== null || row.phase === "destroying");

function promisedEnd(row: MachineRow | null, machine: Machine, rules: Rules, now: number): number {
  if (row !== null && isLive(row)) return endOf(row, machine);
  return labelEnd(machine, creationTime(machine, now) ?? now, rules) ?? now;
}
