import { DriverError } from "../driver/driver.ts";
import { isOurs, ourSelector } from "../machine/decide.ts";
import { LABEL, uidIn } from "../machine/labels.ts";
import type { MachineRow } from "../machine/machine.ts";
import type { Deps } from "./lifecycle.ts";

const FRESH_MS = 3000;

/**
 * Looks again at those rows whose machine is still being created, with one call for all of them and for none more often
 * than every 3 s. Answers all rows, the looked-at ones as they are now. Where the provider does not answer they stay as
 * they were last seen, which `observed_at` tells.
 */
export async function refreshCreating(deps: Deps, rows: readonly MachineRow[]): Promise<readonly MachineRow[]> {
  const { store, driver, rules } = deps;
  const now = deps.now();
  const stale = rows.filter(
    (row) =>
      (row.phase === "requested" || row.phase === "active") &&
      row.status === "creating" &&
      now - (row.observedAt ?? 0) >= FRESH_MS,
  );
  if (stale.length === 0) return rows;
  try {
    const machines = await driver.list(ourSelector(rules.installations, { [LABEL.uid]: stale.map((row) => row.uid) }));
    const sightings = machines
      .filter((machine) => isOurs(machine, rules.installations))
      .map((machine) => ({ uid: uidIn(machine.labels), machine }));
    const seen = await store.machines.observe(sightings, now);
    const unseen = stale.filter((row) => !sightings.some(({ uid }) => uid === row.uid));
    await store.machines.looked(
      unseen.map((row) => row.uid),
      now,
    );
    const fresh = new Map(seen.map((row) => [row.uid, row]));
    return rows.map((row) => fresh.get(row.uid) ?? row);
  } catch (error) {
    if (error instanceof DriverError) return rows;
    throw error;
  }
}
