import { DriverError, getIfThere } from "../driver/driver.ts";
import { doubtOf } from "../lifecycle/credential.ts";
import { isGone } from "../lifecycle/destroy.ts";
import { LABEL } from "../machine/labels.ts";
import { isLaunchOver } from "../machine/lease.ts";
import { labelUidOf, type Machine, type MachineRow } from "../machine/machine.ts";
import { isSame, ourSelector } from "../machine/ownership.ts";
import { isSecondLook } from "../machine/rules.ts";
import { absent, present, UNKNOWN, type Sighting } from "../machine/sighting.ts";
import { concernsAll, failureOf, type PhaseContext } from "./context.ts";
import type { SweepReason } from "./report.ts";

/** As many rows as one list call can answer for. */
export const BATCH = 50;
/** Twice as many as there are rows to ask for: more is an answer to another question. */
const MOST_LISTED = 100;

const UNREADABLE = { reason: "unreadable", detail: "the provider shows labels that cannot be read" } as const;

/** One list by uid, over up to {@link BATCH} rows. */
export interface Listed {
  readonly machines: readonly Machine[];
  /** Why the list is not whole; null where it is. What it shows counts all the same. */
  readonly failure: { readonly reason: SweepReason; readonly detail: string } | null;
}

/**
 * The machines of some rows, in one list. A failure is no proof of anything, and is told beside what was read before it. A machine
 * without readable labels may be any of them, so a list with one is not whole.
 */
export async function listByUid(
  { driver, rules, pace }: Pick<PhaseContext, "driver" | "rules" | "pace">,
  rows: readonly MachineRow[],
): Promise<Listed> {
  const selector = ourSelector(rules.installations, { [LABEL.uid]: rows.map(labelUidOf) });
  try {
    const machines = await driver.list(selector, { enough: MOST_LISTED, maxPages: pace.pages, goOn: pace.mayList });
    const isReadable = machines.every(({ hasLabels }) => hasLabels);
    return { machines, failure: isReadable ? null : UNREADABLE };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    return { machines: error.partial ?? [], failure: failureOf(error) };
  }
}

/** Whether a machine is proven to be gone, by one call. A refusal that every call would meet ends the phase. */
export const isProvenGone = (
  { driver, pace }: Pick<PhaseContext, "driver" | "pace">,
  providerId: string,
): Promise<boolean> =>
  isGone(driver, providerId, (error) => {
    if (concernsAll(error)) pace.refuse(error.message);
  });

/** What is at a row's own id. One call; provider failures surface. */
export async function lookById(context: PhaseContext, row: MachineRow, providerId: string): Promise<Sighting> {
  const machine = await getIfThere(context.driver, providerId);
  return machine ? present(machine) : absent("id", await doubtIn(context, row));
}

/** What a list by uid shows of a row; absence from a list that is not whole is none. */
export async function sightingIn(context: PhaseContext, row: MachineRow, listed: Listed): Promise<Sighting> {
  const shown = listed.machines.find((one) =>
    row.providerId === null ? isSame(row, one) : one.providerId === row.providerId,
  );
  if (shown) return present(shown);
  return listed.failure === null ? absent("list", await doubtIn(context, row)) : UNKNOWN;
}

/**
 * A row whose id nobody knows, and which a list does not show: once it is late and missed for the second time, its name is asked for
 * too, because whoever gives it up must have looked everywhere. One call then; provider failures surface.
 */
export async function lookByName(context: PhaseContext, row: MachineRow, sighting: Sighting): Promise<Sighting> {
  const isLast = isLaunchOver(row, context.now(), context.rules) && isSecondLook(row.missingSince, context.now());
  if (row.providerId !== null || sighting.seen !== "absent" || sighting.doubt !== null || !isLast) return sighting;
  const machine = (await context.capabilities.findByName?.(row.providerName)) ?? null;
  if (machine === null) return absent("name", null);
  if (!machine.hasLabels) return UNKNOWN;
  return isSame(row, machine) ? present(machine) : absent("name", null);
}

const doubtIn = (context: PhaseContext, row: MachineRow) =>
  doubtOf(context, row, context.memory.reconcile.doubts.inventory_untrusted);
