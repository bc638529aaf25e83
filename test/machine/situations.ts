/** Random rows, machines and sightings, near the limits of the rules much more often than chance would have it. */
import * as fc from "fast-check";
import { LABEL } from "../../src/machine/labels.ts";
import { LIVE_STATUSES, PHASES, STATUSES, type Machine, type MachineRow } from "../../src/machine/machine.ts";
import { absent, present, UNKNOWN, type Sighting } from "../../src/machine/sighting.ts";
import {
  CREATED,
  DAY,
  HOUR,
  INSTALLATION,
  machineOf,
  MINUTE,
  OTHER_UID,
  rowOf,
  SECOND,
  seconds,
  UID,
} from "./fixtures.ts";

// Near the limits much more often than chance would have it: that is where a rule is wrong.
const offsets = fc.oneof(
  fc
    .constantFrom(0, 10 * MINUTE, 15 * MINUTE, HOUR, DAY, 30 * DAY)
    .chain((at) => fc.constantFrom(-SECOND, -1, 0, 1, SECOND).map((by) => at + by)),
  fc.integer({ min: -2 * DAY, max: 60 * DAY }),
);
export const times = offsets.map((offset) => CREATED + offset);
export const labelTexts = fc.oneof(
  { weight: 3, arbitrary: times.map(seconds) },
  { weight: 1, arbitrary: times.map(String) },
  { weight: 1, arbitrary: fc.constantFrom("", "0", "-1", "NaN", "1.5", "9".repeat(20), "2026-11-30T12:00:00Z") },
  { weight: 1, arbitrary: fc.string() },
);
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const labels = fc.record(
  {
    [LABEL.managed]: mostly("true", "false", "True", ""),
    [LABEL.installation]: mostly(INSTALLATION, "previous-installation", "sibling-installation", ""),
    [LABEL.uid]: mostly(UID, OTHER_UID, ""),
    [LABEL.expires]: labelTexts,
    [LABEL.max]: labelTexts,
    [LABEL.created]: labelTexts,
  },
  { requiredKeys: [LABEL.managed, LABEL.installation, LABEL.uid] },
);
export const machines = fc
  .record({
    providerId: mostly("1", "2"),
    status: fc.constantFrom(...LIVE_STATUSES),
    labels,
    createdAt: fc.oneof(fc.constantFrom(CREATED, null), times),
    deleteProtected: mostly(false, true),
    hasLabels: mostly(true, false),
  })
  // What cannot be read has no labels to go by.

  .map((change): Machine => machineOf({ ...change, labels: change.hasLabels ? change.labels : {} }));
const rows = fc
  .record({
    phase: mostly("active" as const, ...PHASES),
    status: fc.constantFrom(...STATUSES),
    providerId: mostly<string | null>("1", "2", null),
    requestedAt: times,
    createdAt: mostly<number | null>(CREATED, CREATED + SECOND, null),
    expiresAt: times,
    maxUntil: times,
    destroyRequestedAt: mostly<number | null>(null, CREATED),
    attachments: mostly<MachineRow["attachments"]>(
      null,
      { firewallIds: ["5"], networkIds: [] },
      { firewallIds: [], networkIds: ["6"] },
    ),
    missingSince: fc.oneof(fc.constant(null), times),
    mismatchedSince: fc.oneof(fc.constant(null), times),
    deleteAcceptedAt: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: times }),
    reason: mostly<MachineRow["reason"]>(null, "launch_failed", "attach_failed", "lost", "never_seen", "gone"),
  })
  .map((change): MachineRow => rowOf(change));
export const rowsOrNone = fc.oneof({ weight: 3, arbitrary: rows }, { weight: 2, arbitrary: fc.constant(null) });

export const sightings: fc.Arbitrary<Sighting> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.tuple(machines, fc.boolean()).map(([machine, isInventory]) => present(machine, isInventory)),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom("id" as const, "list" as const, "name" as const),
        mostly(null, "other_credential" as const, "inventory_untrusted" as const),
      )
      .map(([by, doubt]) => absent(by, doubt)),
  },
  { weight: 1, arbitrary: fc.constant(UNKNOWN) },
);
