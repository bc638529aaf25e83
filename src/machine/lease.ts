import { labelTime } from "./age.ts";
import { DURATION_RULE, formatDuration, parseDuration } from "./duration.ts";
import { LABEL } from "./labels.ts";
import { isEndedForAbsence, type Labels, type Machine, type MachineRow } from "./machine.ts";
import type { Rules } from "./rules.ts";
import { invalid, valid, type Checked } from "./validation.ts";

const SHORTEST = "60s";

/** A length of life that a caller asks for in `field`, as `30m`; answers milliseconds. */
export function checkLife(field: string, text: string, maxAgeMs: number): Checked<number> {
  const length = parseDuration(text);
  if (length === null) return invalid(field, DURATION_RULE);
  if (length < (parseDuration(SHORTEST) ?? 0)) return invalid(field, `must be at least ${SHORTEST}`);
  return length <= maxAgeMs ? valid(length) : invalid(field, `must be at most ${formatDuration(maxAgeMs)} (MAX_AGE)`);
}

/**
 * When a machine with a row ends: the later of row and label, within what was promised at most. A label that this row is
 * known to have written, while it has moved on, is no promise of its own; any other is believed.
 */
export function endOf(row: MachineRow, machine: Machine | null): number {
  const label = machine && labelTime(machine.labels, LABEL.expires);
  const written = row.labelExpiresAt;
  const isBehind = written !== null && written !== row.expiresAt && (label === null || label === wholeSeconds(written));
  return isBehind ? row.expiresAt : Math.min(Math.max(row.expiresAt, label ?? 0), row.maxUntil);
}

const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

const LONGEST_LABEL_PROMISE_MS = 30 * 86_400_000;

/** The end that a machine's labels tell, within what they may promise; null where they tell none. */
export function labelEnd(machine: Machine, created: number, rules: Rules): number | null {
  const expires = labelTime(machine.labels, LABEL.expires);
  return expires === null ? null : Math.min(expires, promisedMax(machine.labels, created, rules));
}

/**
 * What a machine that has no live row was promised: its end by its label, null where that tells none, and the most that it may come to.
 * A row that was closed only because nobody saw it still counts as if it lived: its last renewal may not have come to the label.
 */
export function promiseOf(
  row: MachineRow | null,
  machine: Machine,
  created: number,
  rules: Rules,
): { readonly end: number | null; readonly most: number } {
  const told = labelTime(machine.labels, LABEL.expires);
  const isKnown = row !== null && isEndedForAbsence(row);
  const most = isKnown ? row.maxUntil : promisedMax(machine.labels, created, rules);
  return { end: told === null ? null : Math.min(Math.max(told, isKnown ? row.expiresAt : 0), most), most };
}

/** What a machine without a row was promised at most: its label, if that can be believed, else `MAX_AGE`. */
export function promisedMax(labels: Labels, created: number, rules: Pick<Rules, "maxAgeMs">): number {
  const max = labelTime(labels, LABEL.max);
  const isBelievable = max !== null && max > created && max - created <= LONGEST_LABEL_PROMISE_MS;
  return isBelievable ? max : created + rules.maxAgeMs;
}

/** Whether a create has had its time, counted from its last try. */
export const isLaunchOver = (
  row: MachineRow,
  now: number,
  { launchDeadlineMs }: Pick<Rules, "launchDeadlineMs">,
): boolean => now > (row.triedAt ?? row.requestedAt) + launchDeadlineMs;

/** So long after its launch deadline a machine that nobody has judged is left to its lease. */
const JUDGED_MS = 3_600_000;

/** Whether what a row says of a machine's beginning may be believed: it is no old story, and the row has not been set back. */
export const isAtItsBeginning = (
  row: MachineRow,
  machine: Machine,
  now: number,
  { launchDeadlineMs }: Rules,
): boolean =>
  now <= (row.triedAt ?? row.requestedAt) + launchDeadlineMs + JUDGED_MS && endOf(row, machine) <= row.expiresAt;
